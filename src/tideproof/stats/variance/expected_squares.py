"""Expected squared residuals of a least-squares fit, given a noise variance for each arm.

A residual contains noise of other rewards, too. The squared residuals of the rewards of a cell add up to

    sum over arms b of share_b variance_b,    share_b = sum of M_rs^2 over rewards r of the cell, s of arm b,

with M the projection onto residuals, M = I - H. H_rs is 1/W for rewards of the same level plus g_r'Ag_s, in
the symbols of `arm_estimators`. In small blocks a quiet arm would otherwise look as noisy as the arm it
meets.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.solve.arm_estimators import Design
from tideproof.stats.solve.least_squares import Solution, residuals

_MOST_STEPS = 2e9  # Multiplications that the exact shares may take.
_MOST_NUMBERS = 2**23  # Numbers in the matrices of all arms.


def residual_shares(cells: Cells, solution: Solution, design: Design) -> Floats:
    """Return the share of each arm's noise variance in the squared residuals of each cell: (C, K).

    Where that would take too long, the noise of a residual is taken for that of its own arm. Degrees of
    freedom of covariates are charged to all cells in proportion.
    """
    c, K, D = cells, cells.K, len(design.inverse)
    if float(c.n.size) * K * D**2 <= _MOST_STEPS and K * D**2 <= _MOST_NUMBERS:
        shares = _exact_shares(c, design)
    else:
        shares = np.zeros((c.n.size, K))
        shares[np.arange(c.n.size), c.arm] = c.n - 1.0 + c.n * residuals(solution, c)[1]
    total = float(shares.sum())
    return shares * (solution.freedom / total) if total > 0.0 else shares


def _exact_shares(c: Cells, design: Design) -> Floats:
    """Return the sums of squared elements of the projection onto residuals, by cell and arm: (C, K)."""
    A = design.inverse
    middle = np.zeros((c.K, *A.shape))
    for here, g in design.blocks():
        for b in np.unique(c.arm[here]).tolist():
            mine = c.arm[here] == b
            middle[b] += (g[mine].T * c.n[here][mine]) @ g[mine]
    along = [A @ each @ A for each in middle]
    met = np.zeros((design.total.size, c.K))
    np.add.at(met, (design.level, c.arm), c.n)
    found = met[design.level] / design.total[design.level][:, None] ** 2
    for here, g in design.blocks():
        level = design.level[here]
        first = int(level.min())
        moved = g @ A
        for b in range(c.K):
            mine = c.arm[here] == b
            sums = np.zeros((int(level.max()) - first + 1, len(A)))
            np.add.at(sums, level[mine] - first, c.n[here][mine, None] * g[mine])
            both = np.sum(moved * sums[level - first], axis=1) / design.total[level]
            found[here, b] += 2.0 * both + np.sum(g @ along[b] * g, axis=1)
        leverage = 1.0 / design.total[level] + np.sum(moved * g, axis=1)
        found[here, c.arm[here]] += 1.0 - 2.0 * leverage
    return np.maximum(found, 0.0) * c.n[:, None]
