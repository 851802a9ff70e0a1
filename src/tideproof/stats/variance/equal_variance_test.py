"""Test of equal variances: an analysis of variance of the log variances by arm and environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.variance.variance_models import variance_inside
from tideproof.table import Table, to_json_values


@dataclass(frozen=True, slots=True)
class Spread:
    """Result of the F tests of equal variances between arms and between environments.

    Attributes
    ----------
    F_arm, df_arm, p_arm : test that all arms have equal variances, adjusted for environments.
    F_environment, df_environment, p_environment : test that all environments do, adjusted for arms.
    df : denominator degrees of freedom of both tests.
    arms, environments : tables with the standard deviation inside the cells of each, and its degrees of
        freedom.
    """

    F_arm: float
    df_arm: int
    p_arm: float
    F_environment: float
    df_environment: int
    p_environment: float
    df: int
    arms: Table
    environments: Table

    def to_dict(self) -> dict[str, Any]:
        """Return the result of the equal-variance tests as a dictionary of plain values for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


def unequal_variances(c: Cells) -> Spread:
    """Test whether all arms have equal reward variances, and whether all environments do.

    ln s^2 of each cell, without its bias under normal noise, is fitted by an arm and an environment effect
    with weights 1/trigamma(df/2). The residuals measure how much heavy tails add to the variation of the log
    variances, so heavy tails do not count as unequal variances.

    References
    ----------
    Bartlett, Kendall (1946), The statistical analysis of variance-heterogeneity and the logarithmic
    transformation; Layard (1973), Robust large-sample tests for homogeneity of variances.
    """
    logs = _log_variances(c)
    s, w, y = logs.solution, logs.weight, logs.mean
    df = w.size - s.environments - s.joins
    df_arm, df_environment = s.joins, s.environments - np.unique(logs.arm).size + s.joins
    if df <= 0 or not s.rss > 0.0:  # df > 0 implies two arms and two environments
        raise InputError(
            "unequal variances cannot be tested: the test needs two arms with three rewards each in each of "
            "two environments"
        )
    noise = s.rss / df
    F_arm = (_around(logs.environment, w, y, c.J) - s.rss) / df_arm / noise
    F_environment = (_around(logs.arm, w, y, c.K) - s.rss) / df_environment / noise
    return Spread(
        F_arm=F_arm,
        df_arm=df_arm,
        p_arm=f_tail(F_arm, df_arm, df),
        F_environment=F_environment,
        df_environment=df_environment,
        p_environment=f_tail(F_environment, df_environment, df),
        df=df,
        arms=_table("arm", c, c.arm, c.arms),
        environments=_table("environment", c, c.environment, c.environments),
    )


def _log_variances(c: Cells) -> Cells:
    """Return a data set of the log variances of rewards: one for each arm in each environment.

    The estimates are unbiased. Their weights are the inverse sampling variances of the log variances.
    """
    from scipy.special import polygamma, psi

    used = np.flatnonzero((c.n >= 3.0) & (c.squares > 0.0))
    half = 0.5 * (c.n[used] - 1.0)
    y = np.log(c.squares[used] / (2.0 * half)) - (psi(half) - np.log(half))
    one, none = np.ones(used.size), np.zeros(used.size)
    made = Cells(c.arms, c.environments, c.arm[used], c.environment[used], one, y, none)
    return made.weighted(1.0 / np.asarray(polygamma(1, half)))


def _around(label: Ints, w: Floats, y: Floats, labels: int) -> float:
    """Return the weighted sum of squared deviations of values from the means of their groups.

    `label` is the group of each value y, and `w` its weight.
    """
    centre = sum_by_index(label, w * y, labels)[label] / sum_by_index(label, w, labels)[label]
    return float(np.sum(w * (y - centre) ** 2))


def _table(name: str, c: Cells, of: Ints, labels: list[object]) -> Table:
    """Return a table of the noise's standard deviation, with one row for each arm or each environment."""
    variance, freedom = variance_inside(c, of, len(labels))
    return Table({name: labels, "sd": np.sqrt(variance), "degrees_of_freedom": freedom.astype(np.int64)})
