"""What leaving out one environment would change."""

from __future__ import annotations

import math

import numpy as np

from tideproof.core.arrays import Floats
from tideproof.stats.cells import Cells, members
from tideproof.stats.solve import Solution, residuals
from tideproof.table import Table


def influence(c: Cells, mu: Floats, without: Floats, sign: float, lifts: bool = False) -> Table:
    """Return the winner and its lead without each environment; a low reward is good if `sign` is -1.

    `without` has the values of the arms, `mu` with all environments, with each left out in turn: (J, K).
    With `lifts` they are logarithms, and leads are shown as lifts.

    All environments with two arms or more, the most influential first: None where leaving it out would
    disconnect the arms.
    """
    mu, without = sign * mu, sign * without
    best = int(np.argmax(mu))
    lead, now = (x[..., best] - np.delete(x, best, axis=-1).max(axis=-1) for x in (without, mu))
    if lifts:
        lead, now = np.expm1(lead), np.expm1(now)
    change = lead - now
    winner = [None if math.isnan(x[0]) else c.arms[int(np.argmax(x))] for x in without]
    rank = np.where(np.isnan(change), -np.inf, -np.abs(change))
    rows = [int(j) for j in np.argsort(rank, kind="stable") if c.compares[j]]
    return Table(
        {
            "environment": [c.environments[j] for j in rows],
            "n": c.sizes[rows].astype(np.int64),
            "best": [winner[j] for j in rows],
            "lead": lead[rows],
            "change": change[rows],
        }
    )


def without_each(c: Cells, s: Solution) -> Floats:
    """Return muhat with each environment left out in turn, (J, K); NaN where that disconnects arms.

    Leaving environment j out takes D = diag(n_j) - n_j n_j'/m_j out of L and, with e the sum of its
    residuals by arm, moves muhat by P(Dx - e), where (I - PD)x = -Pe on the environment's own arms.
    O(K^2 + k^3) for an environment with k arms, instead of a fit.
    """
    c.check_one_way("leaving environments out")
    residual, _ = residuals(s, c)
    found = np.tile(s.mu, (c.J, 1))
    for j, here in members(c.environment):
        if here.size < 2:
            continue
        arm, n = c.arm[here], c.n[here]
        e = n * residual[here]
        D = np.diag(n) - np.outer(n, n) / n.sum()
        block = s.P[np.ix_(arm, arm)]
        system = np.eye(arm.size) - block @ D
        if np.linalg.svd(system, compute_uv=False)[-1] < 1e-9:
            found[j] = np.nan
            continue
        x = np.linalg.solve(system, -block @ e)
        found[j] += s.P[:, arm] @ (D @ x - e)
    return found
