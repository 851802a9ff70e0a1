"""Heterogeneity test: an F test of whether differences between arms vary between segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import Solution, laplacian_matrix
from tideproof.stats.variance.welch_f import welch_f
from tideproof.table import to_json_values


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Result of the F test of heterogeneity: whether differences between arms vary between segments.

    Attributes
    ----------
    F : weighted squares of the segments' differences around the common ones, over their expectation.
    df1, df2 : numerator and denominator degrees of freedom.
    p : p-value; a small one means that arms differ by different amounts in different segments.
    segments : number of segments that contribute.
    """

    F: float
    df1: int
    df2: float
    p: float
    segments: int

    def to_dict(self) -> dict[str, Any]:
        """Return the result of the heterogeneity test as a dictionary of plain values for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


class SegmentPart(NamedTuple):
    """Arm effects of one segment of the data, with information matrix, its rank, and degrees of freedom."""

    mu: Floats
    W: Floats
    rank: int
    freedom: float


def heterogeneity(segments: Sequence[Cells]) -> Heterogeneity:
    """Test whether differences between arms are equal in all segments, each with its own noise variance.

    All segments must list the same arms. With muhat_s, its information W_s = L_s/sigma_s^2, and muhat the
    weighted mean, T = sum_s (muhat_s - muhat)' W_s (muhat_s - muhat) is compared with the F distribution of
    `welch_f`, which allows for each sigma_s being an estimate.
    """
    parts = [part for cells in segments if (part := _part(cells)) is not None]
    total = np.sum([part.W for part in parts], axis=0) if parts else np.zeros((1, 1))
    P = np.linalg.pinv(total, rcond=1e-10, hermitian=True)
    df1 = sum(part.rank for part in parts) - int(
        np.linalg.matrix_rank(total, tol=1e-10 * total.max(), hermitian=True)
    )
    if df1 <= 0:
        raise InputError(
            "segments cannot be compared: the test needs two segments that share two connected arms, each "
            "with at least 1 residual degree of freedom"
        )
    common = P @ np.sum([part.W @ part.mu for part in parts], axis=0)
    T, mean, spread = 0.0, 0.0, 0.0
    for mu, W, rank, freedom in parts:
        T += float((mu - common) @ W @ (mu - common))
        H = P @ W
        own = rank - float(np.trace(H))
        mean += 2.0 / freedom * (rank - 2.0 * float(np.trace(H)) + float(np.sum(H * H.T)))
        spread += 2.0 / freedom * own**2
    F, df2 = welch_f(T, df1, mean, spread)
    return Heterogeneity(F, df1, df2, f_tail(F, df1, df2), len(parts))


def _part(cells: Cells) -> SegmentPart | None:
    """Return a segment's arm effects and Fisher information; None if its noise cannot be estimated."""
    s = cells.solution
    if not s.joins or s.freedom <= 0 or not s.rss > 0.0:
        return None
    return SegmentPart(s.mu, _information(cells, s) * (s.freedom / s.rss), s.joins, float(s.freedom))


def _information(cells: Cells, s: Solution) -> Floats:
    """Return the information matrix of the arm effects, for noise with variance 1.

    It is the Laplacian, or the inverse covariance on contrasts if environments are sums of two factors.
    """
    if cells.factors is None:
        return laplacian_matrix(cells)
    centre = np.eye(cells.K) - 1.0 / cells.K
    return np.asarray(np.linalg.pinv(centre @ s.P @ centre, rcond=1e-10, hermitian=True))
