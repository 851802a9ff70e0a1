"""Statistics of a whole log, from its cells: vectorised NumPy, one question a file.

`cells` (what was observed) and `graph` (who met whom) are the ground; `solve`, `readout`, `averages` and
`gaps` give estimates; `weighting` and `noise` their variances; `inference` and `comparisons` intervals and
probabilities; `additivity`, `variances`, `influence` and `sample_ratio` ask whether to trust them. Where
tides multiply, `ratio` and `odds` give estimates (`multiplied` is what they share), `two_arms` exact limits;
`wrong_scale` and `scale` say which scale the data speak for.
"""
