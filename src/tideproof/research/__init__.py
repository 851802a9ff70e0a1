"""Code that checks tideproof: the paper reproduced, promises counted in simulations, and held-out worlds."""
