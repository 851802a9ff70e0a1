"""Alarms that void a decision about arms, and the one row of a log without which another arm would lead.

An alarm means that the data contradict an assumption without which no winner can be named.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tideproof.analysis.scale_choice import fit_on_scale
from tideproof.analysis.scales.scale_fits import to_lift
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.share_drift import share_drift
from tideproof.stats.pairs.odds_pairs import OddsPairScale
from tideproof.stats.pairs.ratio_pairs import RatioPairScale
from tideproof.stats.solve.least_squares import cell_residuals, residuals

if TYPE_CHECKING:
    from tideproof.analysis.arm_comparisons import Decision, Doubt
    from tideproof.analysis.fit_result import Fit

ALARM = 0.001  # p-values below it cause a warning; it is small because several tests are made


def failed_additivity(fit: Fit) -> Additivity | None:
    """Return the test for equal shifts of all arms, if the data contradict this assumption.

    Return None if they do not, or for a model without this assumption.
    """
    if "interaction" in fit.variance or fit.variance == "paired" or fit.tide is not None:
        return None
    try:
        test = fit.additivity(worst=1)
    except InputError:  # too little data
        return None
    return test if test.p < ALARM else None


def voiding_alarm(fit: Fit, decision: Decision) -> Doubt | None:
    """Return why the winner of a decision cannot be named although the tests of arms name it, or None.

    A statement about environments like these allows for arms that differ more in some environments than in
    others. One about these environments only does not, unless it was requested and the arms' shares of the
    traffic do not change: then estimates are averages over the traffic.
    """
    if not decision.names_winner:
        return None
    if fit.inside is not None and fit.inside.p < ALARM:
        return "moving shift"
    if decision.standing == "winner" or fit.adaptive:
        return None
    if fit.about_requested == "these" and share_drift(fit.cells).p >= ALARM:
        return None
    return None if fit.misfit is None else "unequal differences"


_TRIED = 5  # number of rows that are tried: those that change differences most, on any scale
_FAR = 0.65  # standard errors of the lead by which an ordinary row does not move it


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
    """Return the row of a log without which the best arm would lose its lead or more than half of it.

    If the interval of the lead contains 0, small changes often change the leader. The row then counts only if
    another arm would lead and the lead changes by more than 0.65 standard errors. The interval is no measure,
    because a single huge row makes it very wide. Return None if there is no such row.
    """
    decision, c = fit.decision, fit.cells
    if decision.best is None or c.slope is not None or fit.exact or fit.tide is not None:
        return None
    now = fit.contrast(decision.best, decision.runner_up, picked=True, about=fit.narrowest_about)
    if now.low is None or now.high is None or now.se is None or not np.isfinite(now.estimate):
        return None
    row = _most_influential_row(fit, now.estimate)
    if row is None:
        return None
    if now.low <= 0.0 <= now.high:
        far = abs(row.without - row.with_it) > _FAR * now.se
        return row if row.leader != decision.best and far else None
    return row if row.leader != decision.best or abs(row.without) < 0.5 * abs(row.with_it) else None


def _most_influential_row(fit: Fit, now: float) -> SingleRow | None:
    """Return the row of a log whose removal most reduces the lead of the best arm; None if there is none.

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
    left = [(row, mu) for row in rows if (mu := _effects_without(fit, row)) is not None]
    if not left:
        return None
    row, mu = min(left, key=lambda each: sign * (each[1][best] - each[1][second]))
    lead = mu[best] - mu[second]
    return SingleRow(
        c.arms[c.arm[row.cell]],
        c.environments[c.environment[row.cell]],
        row.reward(c),
        now,
        float(to_lift(lead) if fit.lifts else lead),
        c.arms[int(np.argmax(sign * mu))],
        round(float(np.sum(c.n))),
    )


def _compared_cells(fit: Fit) -> Cells:
    """Return statistics by arm and environment of the rewards or, on the log scale, their logarithms."""
    c = fit.cells
    if fit.scale != "log" or c.logs is None or c.low is None or c.high is None:
        return c
    return replace(c.logs, low=np.log(c.low), high=np.log(c.high))


def _effects_without(fit: Fit, row: ExtremeRow) -> Floats | None:
    """Estimate the arm effects without one row of the log; return None if too few rewards remain."""
    c = fit.cells
    if fit.scale == "difference" and fit.variance in ("auto", "by-unit", "common", "sandwich", "clustered"):
        return remove_from_solution(c, row)
    left = remove_row(c, row.cell, row.reward(c))
    try:
        if fit.scale == "ratio":
            return RatioPairScale(left).theta
        if fit.scale == "odds":
            theta = np.where(np.isfinite(c.odds_fit.theta), c.odds_fit.theta, 0.0)
            return OddsPairScale(left, theta - theta.mean()).theta
        return fit_on_scale(fit.scale, left, left.solution, fit.variance, fit.adaptive).found.mu
    except InputError:
        return None


def remove_from_solution(c: Cells, row: ExtremeRow) -> Floats:
    """Return the least-squares effects of the arms without one row of the log, without solving again.

    They are muhat - P g e/(1 - h), with the symbols of `influential_rows`.
    """
    s, cell = c.solution, row.cell
    here = np.flatnonzero(c.environment == c.environment[cell])
    g = np.zeros(c.K)
    g[c.arm[here]] = -c.shares[here]
    g[c.arm[cell]] += 1.0
    move = s.P @ g
    error = row.reward(c) - c.mean[cell] + cell_residuals(s, c)[cell]
    left = 1.0 - 1.0 / c.sizes[c.environment[cell]] - float(g @ move)
    return np.asarray(s.mu - move * error / left)


class ExtremeRow(NamedTuple):
    """Row of a log that may be very influential, because its reward is extreme.

    Its reward is the highest or the lowest of one arm in one environment.
    """

    cell: int
    highest: bool

    def reward(self, c: Cells) -> float:
        """Return the reward in this row of a log."""
        ends = c.high if self.highest else c.low
        assert ends is not None
        return float(ends[self.cell])


def influential_rows(c: Cells, a: int, b: int, most: int) -> list[ExtremeRow]:
    """Return up to `most` rows of a log whose removal most lowers the difference between arms a and b.

    The most influential row is the first.

    Removing a row moves muhat by -P g e/(1 - h), where e is its residual, g = e_arm - b_j, and h = 1/m_j +
    g'Pg is its leverage. All rows of a cell have the same g and h, so the lowest or the highest reward has
    the largest effect: two rows of each cell are tried. A row whose removal would disconnect the arms is
    skipped.
    """
    if c.low is None or c.high is None:
        raise InputError(
            "the search for influential rows needs the lowest and highest reward of each arm in each "
            "environment, which aggregated rows lack: use a table with one row for each reward"
        )
    c.check_one_way("the search for influential rows")
    s = c.solution
    residual, variance = residuals(s, c)
    left = 1.0 - 1.0 / c.n + variance  # 1 - h, as variance = 1/n - h
    pull = s.P[a] - s.P[b]
    reach = pull[c.arm] - c.by_environment(c.shares * pull[c.arm])[c.environment]  # (e_a - e_b)'Pg
    rewards = np.stack([c.low, c.high])
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(left > 1e-9, -reach * (rewards - c.mean + residual) / left, 0.0)
    first = np.argsort(change, axis=None, kind="stable")[:most]
    ends, cells = np.unravel_index(first[change.ravel()[first] < 0.0], change.shape)
    return [ExtremeRow(cell, end == 1) for end, cell in zip(ends.tolist(), cells.tolist(), strict=True)]


def remove_row(c: Cells, cell: int, reward: float) -> Cells:
    """Return the statistics of rewards by arm and environment after the removal of one row of the log.

    If other rows of the cell (arm and environment) remain, third and fourth moments, the lowest and the
    highest rewards, and units are dropped.
    """
    if c.n[cell] == 1.0:
        return c.select(np.delete(np.arange(c.n.size), cell))
    n, mean, squares = c.n.copy(), c.mean.copy(), c.squares.copy()
    off = reward - mean[cell]
    n[cell] -= 1.0
    mean[cell] -= off / n[cell]
    squares[cell] = max(0.0, squares[cell] - off**2 * c.n[cell] / n[cell])
    for end in (c.low, c.high):
        # If all other rewards are equal, remove the rounding error.
        if end is not None and abs(mean[cell] - end[cell]) <= 1e-12 * abs(off):
            mean[cell], squares[cell] = end[cell], 0.0
    logs = None if c.logs is None else remove_row(c.logs, cell, math.log(reward))
    left = replace(c, n=n, mean=mean, squares=squares, logs=logs, units=None)
    return replace(left, cubes=None, fourths=None, low=None, high=None)
