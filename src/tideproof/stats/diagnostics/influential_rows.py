"""Influential rows of a log: those on which the difference of two arms depends most, and their removal."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import residuals


class ExtremeRow(NamedTuple):
    """Row of a log with the lowest or the highest reward of one cell (an arm in an environment)."""

    cell: int
    highest: bool

    def reward(self, c: Cells) -> float:
        """Return the reward of this row: the lowest or the highest of its cell."""
        ends = c.high if self.highest else c.low
        assert ends is not None
        return float(ends[self.cell])


def influential_rows(c: Cells, a: int, b: int, most: int) -> list[ExtremeRow]:
    """Return up to `most` rows whose removal lowers the difference of arms a and b, most influential first.

    Removing a row moves muhat by -P g e/(1 - h), where e is its residual, g = e_arm - b_j, and h = 1/m_j +
    g'Pg is its leverage. All rows of a cell have the same g and h, so the lowest or the highest reward has
    the largest effect: two rows of each cell are tried. A row whose removal would disconnect the arms is
    skipped.
    """
    if c.low is None or c.high is None:
        raise InputError(
            "the search for influential rows needs the lowest and highest reward of each arm in each "
            "environment; aggregated rows do not have them: pass single rewards"
        )
    c.check_one_way("leaving single rows out")
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
    """Return the cells after the removal of one row, without the moments that only diagnostics need."""
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
