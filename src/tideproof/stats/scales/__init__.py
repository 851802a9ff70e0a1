"""Scales on which arms are compared: likelihoods for ratios and odds, and tests of which scale fits."""
