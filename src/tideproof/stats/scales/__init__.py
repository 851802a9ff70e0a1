"""Scales on which arms are compared (differences, ratios, odds, logarithms): fits and tests of fit."""
