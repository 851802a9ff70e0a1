"""Compilable functions of simulations: random numbers, simulated worlds, and the loop over replications."""
