"""Identification of the best arm: multiple comparisons, probabilities, anytime-valid bounds."""
