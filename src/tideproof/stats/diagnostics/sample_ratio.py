"""Sample ratio mismatch: chi-squared tests of whether arms received their shares of the traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError, UnknownName
from tideproof.stats.best.student_inference import chi2_tail
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.table import Table, to_json_values


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Result of the sample ratio tests: whether the arms received their expected shares of the traffic.

    Attributes
    ----------
    chi2, df, p : test against the expected shares among the arms seen in each environment.
    drift_chi2, drift_df, drift_p : test against shares that are equal in all environments, whatever they are.
        If shares should be fixed, a small p means that raw means compare different environments.
    arms : table of arms with n, expected count and z-score.
    worst : the environments that are furthest from the expected shares.
    """

    chi2: float
    df: int
    p: float
    drift_chi2: float
    drift_df: int
    drift_p: float
    arms: Table
    worst: Table

    def to_dict(self) -> dict[str, Any]:
        """Return the result of the sample ratio tests as a dictionary of plain values for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


def sample_ratio(c: Cells, expected: Mapping[Any, float] | None, worst: int) -> SampleRatio:
    """Test whether arms received their expected shares of the traffic: equal shares if none are given."""
    share = _expected_shares(c.arms, expected)[c.arm]
    share /= c.by_environment(share)[c.environment]  # Shares among the arms seen in each environment.
    want = c.sizes[c.environment] * share
    terms = (c.n - want) ** 2 / want
    chi2, df = float(np.sum(terms)), int(c.n.size - np.count_nonzero(c.sizes))
    drift, drift_df = _drift(c)
    target, variance = c.by_arm(want), c.by_arm(want * (1.0 - share))
    with np.errstate(invalid="ignore"):  # 0/0 for an arm that was alone everywhere
        z = (c.counts - target) / np.sqrt(variance)
    by_environment = c.by_environment(terms)
    rows = np.argsort(-by_environment, kind="stable")[: require_whole_number("worst", worst, 1)]
    return SampleRatio(
        chi2=chi2,
        df=df,
        p=chi2_tail(chi2, df),
        drift_chi2=drift,
        drift_df=drift_df,
        drift_p=chi2_tail(drift, drift_df),
        arms=Table({"arm": c.arms, "n": c.counts.astype(np.int64), "expected": target, "z": z}),
        worst=Table(
            {
                "environment": [c.environments[j] for j in rows],
                "n": c.sizes[rows].astype(np.int64),
                "chi2": by_environment[rows],
            }
        ),
    )


def _drift(c: Cells) -> tuple[float, int]:
    """Return the chi-squared statistic for testing that traffic shares do not vary between environments.

    The second result is the number of degrees of freedom.

    Environments are grouped by the set of arms seen there, and each group has shares of its own: leaving an
    arm out of an environment does not count as a change of the shares.
    """
    order = np.lexsort((c.arm, c.environment))
    start = np.searchsorted(c.environment[order], np.arange(c.J))
    set_of, sets = np.zeros(c.J, np.int64), 0
    for k in np.unique(c.arms_seen[c.arms_seen > 0]).tolist():
        alike = np.flatnonzero(c.arms_seen == k)
        seen = c.arm[order[start[alike][:, None] + np.arange(k)]]
        distinct, which = np.unique(seen, axis=0, return_inverse=True)
        set_of[alike] = sets + which.ravel()
        sets += len(distinct)
    arm_set = set_of[c.environment]
    pairs, of_pair = np.unique(arm_set * c.K + c.arm, return_inverse=True)
    in_pair, in_set = sum_by_index(of_pair, c.n, pairs.size), sum_by_index(arm_set, c.n, sets)
    want = c.sizes[c.environment] * in_pair[of_pair] / in_set[arm_set]
    free = pairs.size - sets  # Number of estimated shares.
    df = c.n.size - np.count_nonzero(c.sizes) - free
    return float(np.sum((c.n - want) ** 2 / want)), int(df)


def _expected_shares(arms: list[Any], expected: Mapping[Any, float] | None) -> Floats:
    """Return each arm's expected traffic share, up to a constant factor.

    Raise an error for invalid shares.
    """
    if expected is None:
        return np.full(len(arms), 1.0)
    for arm in expected:
        if arm not in arms:
            raise UnknownName.with_suggestion("arm", arm, arms)
    if lacking := [arm for arm in arms if arm not in expected]:
        raise InputError(f"expected shares are needed for all arms; there is none for {lacking[0]!r}")
    share = np.array([require_finite(f"the share of {arm}", expected[arm]) for arm in arms])
    if np.any(share <= 0.0):
        raise InputError(f"expected shares must be positive, not {min(share.tolist())!r}")
    return share
