"""Code that checks tideproof: the paper reproduced, the trust ledger, and the held-out suite."""
