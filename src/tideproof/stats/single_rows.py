"""What one row does: the difference of two arms without it, exactly, from the extreme rows of the cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.solve import residuals, solve


class SingleRow(NamedTuple):
    """The row without which a difference changes most.

    Attributes
    ----------
    arm, environment, reward : of the row.
    with_it, without : the difference of the two arms, by least squares.
    rows : how many there are.
    """

    arm: Any
    environment: Any
    reward: float
    with_it: float
    without: float
    rows: int


def single_row(c: Cells, a: int, b: int) -> SingleRow:
    """Find the row without which muhat_a - muhat_b changes most.

    Leaving a row out moves muhat by -P g e/(1 - h), e its residual, g = e_arm - b_j, h = 1/m_j + g'Pg its
    leverage. In a cell all have one g and one h, so that the lowest or the highest moves most: two rows a
    cell are tried, and what is said of them is exact. A row whose leaving would part the arms is passed over.
    """
    if c.low is None or c.high is None:
        raise InputError(
            "single rows need the lowest and highest reward of each cell, which aggregated rows lack"
        )
    c.check_one_way("leaving single rows out")
    s = solve(c)
    residual, variance = residuals(s, c)
    left = 1.0 - 1.0 / c.n + variance  # 1 - h, as variance = 1/n - h
    pull = s.P[a] - s.P[b]
    reach = pull[c.arm] - c.by_environment(c.shares * pull[c.arm])[c.environment]  # (e_a - e_b)'Pg
    expected = c.mean - residual
    rewards = np.stack([c.low, c.high])
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(left > 1e-9, -reach * (rewards - expected) / left, 0.0)
    end, cell = np.unravel_index(int(np.argmax(np.abs(change))), change.shape)
    now = float(s.mu[a] - s.mu[b])
    return SingleRow(
        c.arms[c.arm[cell]],
        c.environments[c.environment[cell]],
        float(rewards[end, cell]),
        now,
        now + float(change[end, cell]),
        round(float(np.sum(c.n))),
    )
