"""Comparison of arms by ratios of means, estimated from the logarithms of rewards above 0.

Shift and noise multiply the reward.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from tideproof.analysis.scales.ratio_odds_scales import to_lift
from tideproof.analysis.scales.scale_protocol import LeaveOneOut
from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity, additivity
from tideproof.stats.scales.reward_logarithms import estimate_log, log_means, require_logs
from tideproof.stats.solve.adjusted_means import log_scale_intervals
from tideproof.stats.solve.environment_contrasts import (
    EnvironmentGaps,
    environment_gaps,
    leave_one_out_effects,
)
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.equal_variance_test import Spread, unequal_variances
from tideproof.stats.variance.variance_models import MODELS, Variance, estimate
from tideproof.table import Table


class LogScale:
    """Least-squares fit of arms and environments to the logarithms of rewards."""

    name: Literal["log"] = "log"
    exact = False

    def __init__(self, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> None:
        self._logs = require_logs(cells)
        self._solution = self._logs.solution
        self.found = estimate_log(cells, self._solution)
        self._half = log_means(self._logs, self._solution).half

    def shown(self, values: Floats) -> Floats:
        """Return logarithms of ratios as lifts, the form that users read: log(1.12) becomes 0.12."""
        return to_lift(values)

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means, which stay above 0."""
        return log_scale_intervals(self.found, confidence)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the log ratio of the means of arms `i` and `k` in each environment that contains both.

        Ratios of geometric means are corrected to ratios of means, as those of the arms are.
        """
        of_logs = estimate(self._logs, self._solution, "auto")
        found = environment_gaps(
            self._logs, MODELS["auto"].cell_noise(self._logs, self._solution, of_logs), i, k
        )
        return found._replace(estimate=found.estimate + self._half[i] - self._half[k])

    def additivity(self, worst: int) -> Additivity:
        """Test whether environments shift the logarithms of rewards equally for all arms.

        The means of the cells furthest from the model are given as geometric means.
        """
        found = additivity(self._logs, self._solution, worst)
        columns = {name: found.worst[name] for name in found.worst.columns}
        columns |= {name: [math.exp(x) for x in columns[name]] for name in ("mean", "expected")}
        return replace(found, worst=Table(columns))

    def spread(self) -> Spread:
        """Test whether logarithms of rewards have the same variance in all arms and in all environments."""
        return unequal_variances(self._logs)

    def left_out(self) -> LeaveOneOut:
        """Return logarithms of arm means, from all environments and with each one left out in turn."""
        return LeaveOneOut(self.found.mu, leave_one_out_effects(self._logs, self._solution) + self._half)
