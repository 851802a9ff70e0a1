"""Code that checks tideproof: the reproduction of the paper, the trust ledger, and the held-out suite."""
