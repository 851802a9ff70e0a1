"""Kernels of simulations: random numbers, worlds, and the loop over replications."""
