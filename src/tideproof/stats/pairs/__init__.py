"""Tests and confidence intervals for the difference, ratio or odds ratio of two arms."""
