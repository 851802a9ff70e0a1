"""Code that checks tideproof: it reproduces a paper, tests promises by simulation, and compares policies."""
