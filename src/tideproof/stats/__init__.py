"""Statistics of a whole log, computed from its cells with vectorised NumPy.

`cells` holds the data. `solve` fits arm effects and shifts by least squares, `variance` estimates their
covariances, `scales` fits models of ratios and odds and tests which scale fits the data, `pairs` tests pairs
of arms, and `best` finds the arms that can be the best. `tide` estimates a tide without environment labels,
and `diagnostics` checks the assumptions of the model.
"""
