"""Formulas of a simulation: random numbers, worlds, and the loop over replications."""
