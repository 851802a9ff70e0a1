"""Kernels that update estimates after a reward: fixed effects, unequal noise, hidden tide, e-process."""
