"""Variance models of the noise: sandwich estimators, clustered units, REML, degrees of freedom."""
