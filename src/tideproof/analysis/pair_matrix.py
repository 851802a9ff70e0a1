"""Comparison of every pair of arms, with intervals that hold for all pairs at once."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from tideproof.analysis.fit_result import Fit
from tideproof.table import Table

_COLUMNS = ("arm", "other", "estimate", "low", "high", "p")


def pair_matrix(fit: Fit, *, simultaneous: bool = True) -> Table:
    """Compare each arm with every arm ranked below it.

    Use it for a leaderboard: which places are certain. `fit.candidates` asks instead which arm is the best.

    Parameters
    ----------
    fit
        The fit that contains the arms.
    simultaneous
        Whether all intervals hold at once with probability `fit.confidence` (Bonferroni), or each one
        separately.

    Returns
    -------
    Table
        One row for each pair of comparable arms. Columns: arm (the better one), other, estimate (the mean of
        `arm` minus that of `other`, or its lift), low, high, p (two-sided; with `simultaneous`, multiplied
        by the number of pairs).

    Examples
    --------
    >>> import tideproof as tp
    >>> log = {"model": "abc" * 6, "item": [i // 3 for i in range(18)], "score": [0, 1, 1, 1, 1, 1] * 3}
    >>> tp.pair_matrix(tp.fit(tp.EvaluationLog(log)))["other"]
    ['c', 'a', 'a']
    """
    pairs = [pair for group in fit.ranking for pair in combinations(group, 2)]
    count = max(1, len(pairs)) if simultaneous else 1
    confidence = 1.0 - (1.0 - fit.confidence) / count
    rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for arm, other in pairs:
        found = fit.contrast(arm, other, confidence=confidence)
        p = None if found.p is None else min(1.0, count * found.p)
        values = (arm, other, found.estimate, found.low, found.high, p)
        for name, value in zip(_COLUMNS, values, strict=True):
            rows[name].append(value)
    return Table(rows)
