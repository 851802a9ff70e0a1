"""Weighted least squares on cells: arm effects, shifts, adjusted means, covariates."""
