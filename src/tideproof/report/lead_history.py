"""History of a log, environment by environment: the lead of the best arm, and the arms' shares of traffic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.analysis import Fit
from tideproof.analysis.words.fit_text import mean_format
from tideproof.core.kernel_state_arrays import Floats
from tideproof.draw.lead_over_time import LeadInfo
from tideproof.draw.svg_elements import Axis, shorten
from tideproof.stats.cells import Cells

POINTS = 120  # largest number of points in a chart; of more environments, evenly spaced ones are shown


class LeadHistory(NamedTuple):
    """Lead of one arm over another after each environment of a log."""

    best: str
    rival: str
    leads: list[LeadInfo]


class ShareHistory(NamedTuple):
    """Share of each arm in the rewards of each environment.

    If there are many environments, the shares are those in groups of consecutive environments.
    """

    environments: list[str]
    arms: list[str]
    shares: list[list[float]]


def best_raw_arm(fit: Fit) -> str:
    """Return the arm with the best raw mean, without an adjustment for shifts."""
    pick = max if fit.direction == "maximize" else min
    seen = [row for row in fit.averages if row["raw_mean"] is not None]
    return str(pick(seen, key=lambda row: row["raw_mean"])["arm"])


def lead_info(fit: Fit) -> LeadHistory | None:
    """Return how the lead of the best arm developed from environment to environment.

    The lead is that over the arm with the best raw mean or, if the best arm has the best raw mean, too, over
    the runner-up.

    The lead is a difference of means on every scale, so that raw means can be compared. Return None if there
    are fewer than two environments or no lead can be computed.
    """
    c, best = fit.cells, fit.decision.best
    if best is None or len(c.environments) < 2 or len(c.arms) < 2:
        return None
    raw = best_raw_arm(fit)
    rival = fit.decision.runner_up if str(best) == raw else next(arm for arm in c.arms if str(arm) == raw)
    if rival is None:
        return None
    a, b = c.arms.index(best), c.arms.index(rival)
    sign = 1.0 if fit.direction == "maximize" else -1.0
    J = len(c.environments)
    shown = sorted({round(j) for j in np.linspace(0, J - 1, min(J, POINTS))})
    n, total = _dense_arrays(c)
    leads = [
        LeadInfo(str(c.environments[j]), _times_sign(raw, sign), _times_sign(adjusted, sign))
        for j, raw, adjusted in _lead_series(n, total, a, b, shown)
    ]
    if not any(each.adjusted is not None for each in leads):
        return None
    return LeadHistory(str(best), str(rival), leads)


def lead_axis(fit: Fit, lead: LeadHistory) -> Axis:
    """Return the axis of a chart for the lead of one arm over another."""
    low = " (lower is better)" if fit.direction == "minimize" else ""
    return Axis(f"lead of {shorten(lead.best, 14)} over {shorten(lead.rival, 14)}{low}", mean_format(fit))


def shares_info(cells: Cells) -> ShareHistory | None:
    """Return the share of each arm in the rewards of each environment.

    The result is None if there is only one environment.
    """
    if len(cells.environments) < 2:
        return None
    n, _ = _dense_arrays(cells)
    each = -(-len(n) // POINTS)
    groups = [range(j, min(j + each, len(n))) for j in range(0, len(n), each)]
    rows = [n[list(group)].sum(axis=0) for group in groups]
    return ShareHistory(
        [str(cells.environments[group[0]]) for group in groups],
        [str(arm) for arm in cells.arms],
        [(row / row.sum()).tolist() for row in rows],
    )


def _dense_arrays(c: Cells) -> tuple[Floats, Floats]:
    """Return counts and sums of rewards as arrays of shape (environments, arms)."""
    n, total = np.zeros((2, len(c.environments), len(c.arms)))
    n[c.environment, c.arm] = c.n
    total[c.environment, c.arm] = c.n * c.mean
    return n, total


def _lead_series(
    n: Floats, total: Floats, a: int, b: int, shown: list[int]
) -> list[tuple[int, float | None, float | None]]:
    """Return the lead of one arm over another after each of several environments, raw and adjusted.

    The adjusted lead solves the normal equations of least squares with a shift for each environment.
    """
    found: list[tuple[int, float | None, float | None]] = []
    K, wanted = n.shape[1], set(shown)
    equations, right = np.zeros((K, K)), np.zeros(K)
    pulls, sums = np.zeros(K), np.zeros(K)
    contrast = np.zeros(K)
    contrast[a], contrast[b] = 1.0, -1.0
    for j, (m, s) in enumerate(zip(n, total, strict=True)):
        size = m.sum()
        if size:
            equations += np.diag(m) - np.outer(m, m) / size
            right += s - m * (s.sum() / size)
            pulls += m
            sums += s
        if j not in wanted:
            continue
        raw = sums[a] / pulls[a] - sums[b] / pulls[b] if pulls[a] and pulls[b] else None
        solved = np.linalg.pinv(equations, hermitian=True)
        met = np.allclose(equations @ (solved @ contrast), contrast, atol=1e-6)
        found.append((j, raw, float(contrast @ solved @ right) if met else None))
    return found


def _times_sign(x: float | None, sign: float) -> float | None:
    """Multiply a number by `sign` (1 or -1); None stays None."""
    return None if x is None else sign * float(x)
