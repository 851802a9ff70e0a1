"""Search for a single row without which the best arm would lose its lead or half of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.scale_options import fit_on_scale
from tideproof.analysis.scales.scale_protocol import ScaleFit
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.influential_rows import ExtremeRow, influential_rows, remove_row

_TRIED = 5  # number of rows that are tried: those that change differences most, on any scale
_FAR = 1.0 / 6.0  # share of the width of the interval by which an ordinary row does not move the lead


class SingleRow(NamedTuple):
    """A row of a log that has a large influence on the lead of the best arm over the runner-up.

    Attributes
    ----------
    arm, environment, reward : contents of the row.
    with_it, without : lead of the best arm with all rows and without this row, a difference or a lift.
    leader : the best arm without the row.
    rows : number of rows of the log.
    """

    arm: Any
    environment: Any
    reward: float
    with_it: float
    without: float
    leader: Any
    rows: int


def decisive_row(fit: Fit) -> SingleRow | None:
    """Return the row without which another arm would lead, or less than half of the lead would remain.

    If the interval of the lead contains 0, small changes often change the leader. The row then counts only if
    another arm would lead and the lead changes by more than a sixth of the width of the interval. Return None
    if there is no such row.
    """
    decision, c = fit.decision, fit.cells
    if decision.best is None or c.slope is not None or fit.exact or fit.tide is not None:
        return None
    now = fit.contrast(decision.best, decision.runner_up, picked=True)
    if now.low is None or now.high is None or not np.isfinite(now.estimate):
        return None
    row = _most_influential_row(fit, now.estimate)
    if row is None:
        return None
    if now.low <= 0.0 <= now.high:
        far = abs(row.without - row.with_it) > _FAR * (now.high - now.low)
        return row if row.leader != decision.best and far else None
    return row if row.leader != decision.best or abs(row.without) < 0.5 * abs(row.with_it) else None


def _most_influential_row(fit: Fit, now: float) -> SingleRow | None:
    """Return the row whose removal makes the lead smallest, or None if no row can be removed.

    Only the few rows that change differences most are tried.
    """
    c, decision = fit.cells, fit.decision
    best, second = (c.arms.index(arm) for arm in (decision.best, decision.runner_up))
    pair = (best, second) if fit.direction == "maximize" else (second, best)
    try:
        rows = influential_rows(_compared_cells(fit), *pair, _TRIED)
    except InputError:  # not possible for aggregated rows and two factors
        return None
    sign = 1.0 if fit.direction == "maximize" else -1.0
    left = [(row, on) for row in rows if (on := _refit(fit, row)) is not None]
    if not left:
        return None
    row, on = min(left, key=lambda each: sign * (each[1].found.mu[best] - each[1].found.mu[second]))
    return SingleRow(
        c.arms[c.arm[row.cell]],
        c.environments[c.environment[row.cell]],
        row.reward(c),
        now,
        float(on.shown(on.found.mu[best] - on.found.mu[second])),
        c.arms[int(np.argmax(sign * on.found.mu))],
        round(float(np.sum(c.n))),
    )


def _compared_cells(fit: Fit) -> Cells:
    """Return the cells whose differences are compared: those of logarithms on the scale "log"."""
    c = fit.cells
    if fit.scale != "log" or c.logs is None or c.low is None or c.high is None:
        return c
    return replace(c.logs, low=np.log(c.low), high=np.log(c.high))


def _refit(fit: Fit, row: ExtremeRow) -> ScaleFit | None:
    """Return the fit on the scale of comparison without a row; None if too few rewards remain."""
    left = remove_row(fit.cells, row.cell, row.reward(fit.cells))
    variance = "common" if fit.cells.units is not None else fit.variance  # gives the same estimates
    try:
        return fit_on_scale(fit.scale, left, left.solution, variance, fit.adaptive)
    except InputError:
        return None
