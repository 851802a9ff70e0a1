"""Tests and confidence intervals for pairs of arms, one file for each scale or method."""
