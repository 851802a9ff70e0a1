"""Comparison of arms by differences, ratios, odds or logarithms: model fits, and tests of which one fits."""
