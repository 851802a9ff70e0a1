"""Least squares from cells to estimates: arm effects, shifts, adjusted means, covariates."""
