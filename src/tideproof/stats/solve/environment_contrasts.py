"""Difference of two arms in each environment, and estimates with each environment left out in turn.

The difference of two cell means does not depend on the shift. Its variance follows the model of the noise.
Under the "clustered" model, where shifts may differ between arms, it is the variance of the difference in
this environment alone: only the noise inside cells counts, so the differences vary by more than their
intervals suggest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import Solution, residuals
from tideproof.stats.variance.variance_models import CellNoise
from tideproof.table import Table


class EnvironmentGaps(NamedTuple):
    """Differences between two arms in each environment that has rewards of both.

    Attributes
    ----------
    environment : (G,) index of the environment, ascending.
    estimate : (G,) difference of the two cell means.
    variance : (G,) its variance; NaN if it cannot be estimated.
    freedom : (G,) degrees of freedom of the variance; a fraction where two variance estimates are added.
    """

    environment: Ints
    estimate: Floats
    variance: Floats
    freedom: Floats


def environment_gaps(c: Cells, noise: CellNoise, a: int, b: int) -> EnvironmentGaps:
    """Return the difference between two arms in each environment with rewards of both, with its variance.

    Where two independent estimates of the noise are added, degrees of freedom follow Welch and Satterthwaite.
    """
    x, y = paired_cells(c, a, b)
    own, other = noise.variance[x], noise.variance[y]
    total = own + other
    with np.errstate(divide="ignore", invalid="ignore"):  # Welch (1947), Satterthwaite (1946)
        welch = 1.0 / ((own / total) ** 2 / noise.freedom[x] + (other / total) ** 2 / noise.freedom[y])
    nu = np.where(noise.source[x] == noise.source[y], noise.freedom[x], welch)
    return EnvironmentGaps(c.environment[x], c.mean[x] - c.mean[y], total, nu)


def paired_cells(c: Cells, a: int, b: int) -> tuple[Ints, Ints]:
    """Return the indices of the data of two arms in the environments that have rewards of both arms.

    They are ordered by environment.
    """
    first, second = (np.flatnonzero(c.arm == arm) for arm in (a, b))
    _, at, also = np.intersect1d(c.environment[first], c.environment[second], return_indices=True)
    return first[at], second[also]


_AT_ONCE = 4_000_000  # Numbers in the matrices that are solved together.
_WORK = 2e10  # Most arithmetic operations for leaving environments out.


def influence_table(c: Cells, mu: Floats, without: Floats, sign: float, lifts: bool = False) -> Table:
    """Return a table of how leaving out each environment changes the leading arm and its lead.

    The largest change comes first. `mu` holds the arm values from all environments, and `without` (J, K)
    those with each environment left out. `sign` is -1 if a low reward is good. With `lifts` the values are
    logarithms, and leads are shown as relative lifts.

    The table lists all environments with two arms or more. The leader is None where leaving the environment
    out would disconnect the arms.
    """
    mu, without = sign * mu, sign * without
    best = int(np.argmax(mu))
    lead, now = (x[..., best] - np.delete(x, best, axis=-1).max(axis=-1) for x in (without, mu))
    if lifts:
        lead, now = np.expm1(lead), np.expm1(now)
    change = lead - now
    winner = np.where(np.isnan(without[:, 0]), -1, without.argmax(axis=1)).tolist()  # -1: unknown.
    rank = np.where(np.isnan(change), -np.inf, -np.abs(change))
    rows = np.argsort(rank, kind="stable")
    rows = rows[c.compares[rows]]
    return Table(
        {
            "environment": [c.environments[j] for j in rows.tolist()],
            "n": c.sizes[rows].astype(np.int64),
            "best": [None if winner[j] < 0 else c.arms[winner[j]] for j in rows.tolist()],
            "lead": lead[rows],
            "change": change[rows],
        }
    )


def leave_one_out_effects(c: Cells, s: Solution) -> Floats:
    """Return the arm effects estimated without each environment in turn.

    They are NaN if arms become incomparable.

    The result is (J, K). Leaving environment j out subtracts D = diag(n_j) - n_j n_j'/m_j from the
    Laplacian L. With e the sums of its residuals by arm, muhat moves by P(Dx - e), where (I - PD)x = -Pe on
    the environment's own arms. This takes O(K^2 + k^3) for an environment with k arms, without a new fit.
    Environments with the same k are solved together.
    """
    c.check_one_way("influence()")
    residual, _ = residuals(s, c)
    found = np.tile(s.mu, (c.J, 1))
    order = np.argsort(c.environment, kind="stable")
    start = np.searchsorted(c.environment[order], np.arange(c.J))
    for k in np.unique(c.arms_seen[c.compares]).tolist():
        alike = np.flatnonzero(c.arms_seen == k)
        for js in np.array_split(alike, -(-alike.size * k * c.K // _AT_ONCE)):
            here = order[start[js][:, None] + np.arange(k)]  # Cells of each environment.
            arm, n = c.arm[here], c.weight[here]
            e = (n * residual[here])[..., None]
            D = n[:, :, None] * (np.eye(k) - (n / n.sum(axis=1, keepdims=True))[:, None, :])
            block = s.P[arm[:, :, None], arm[:, None, :]]
            system = np.eye(k) - block @ D
            apart = np.linalg.svd(system, compute_uv=False)[:, -1] < 1e-9
            system[apart] = np.eye(k)
            x = np.linalg.solve(system, -block @ e)
            moved = (s.P[:, arm].transpose(1, 0, 2) @ (D @ x - e))[..., 0]
            found[js] += np.where(apart[:, None], np.nan, moved)
    return found


def can_leave_one_out(c: Cells) -> bool:
    """Return True if leaving out each environment in turn takes seconds rather than minutes."""
    return float(np.sum(c.arms_seen.astype(np.float64) ** 3)) <= _WORK
