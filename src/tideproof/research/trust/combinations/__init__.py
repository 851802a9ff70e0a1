"""Simulations that check error rates where options of an analysis are combined."""
