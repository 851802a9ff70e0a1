"""Formulas that update estimates after one reward: fixed effects, unequal noise, hidden tide, e-process."""
