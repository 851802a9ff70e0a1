"""Ratios of means by the logarithms of rewards, all above 0: every environment is heard alike."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from tideproof.core.arrays import Floats
from tideproof.estimate.scales.lifted import lifted
from tideproof.estimate.scales.means import factor_limits
from tideproof.estimate.scales.on_scale import LeftOut
from tideproof.stats.additivity import Additivity, additivity
from tideproof.stats.cells import Cells
from tideproof.stats.gaps import Gaps, gaps
from tideproof.stats.influence import without_each
from tideproof.stats.logarithms import estimate_log, log_means, logs_of
from tideproof.stats.noise import MODELS, Variance, estimate
from tideproof.stats.solve import Solution, solve
from tideproof.stats.variances import Spread, unequal_variances
from tideproof.table import Table


class Log:
    """Least squares on the logarithms."""

    name: Literal["log"] = "log"
    lifts = True
    exact = False

    def __init__(self, cells: Cells, solution: Solution, variance: Variance) -> None:
        self._logs = logs_of(cells)
        self._solution = solve(self._logs)
        self.found = estimate_log(cells, self._solution)
        self._half = log_means(self._logs, self._solution).half

    def shown(self, values: Floats) -> Floats:
        """Return lifts."""
        return lifted(values)

    def means(self, level: float) -> dict[str, Floats]:
        """Return limits of adjusted means, above 0."""
        return factor_limits(self.found, level)

    def gaps(self, i: int, k: int) -> Gaps:
        """Return logarithms of the ratios of two cells' geometric means, moved as those of the arms are."""
        of_logs = estimate(self._logs, self._solution, "auto")
        found = gaps(self._logs, MODELS["auto"].cell_noise(self._logs, self._solution, of_logs), i, k)
        return found._replace(estimate=found.estimate + self._half[i] - self._half[k])

    def additivity(self, worst: int) -> Additivity:
        """Test the logarithms of the cells around the model; the worst cells show geometric means."""
        found = additivity(self._logs, self._solution, worst)
        columns = {name: found.worst[name] for name in found.worst.columns}
        columns |= {name: [math.exp(x) for x in columns[name]] for name in ("mean", "expected")}
        return replace(found, worst=Table(columns))

    def spread(self) -> Spread:
        """Test the variances of the logarithms inside cells."""
        return unequal_variances(self._logs)

    def left_out(self) -> LeftOut:
        """Return what least squares on the logarithms say."""
        return LeftOut(self.found.mu, without_each(self._logs, self._solution) + self._half)
