"""Weighted least squares on arm-by-environment cells: arm effects, shifts, adjusted means, covariates."""
