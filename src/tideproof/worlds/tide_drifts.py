"""Drifts of simulated worlds: changes of the shift within an environment, pull by pull.

A new kind needs a class here, and a branch in `world_draws.drift_at` that draws it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.checks import require_finite
from tideproof.errors import InputError
from tideproof.kernels.simulate import world_draws as kernel
from tideproof.worlds.world_part import WorldPart, as_tuple, set_fields


class Drift(WorldPart):
    """Base class of drifts: an amount for each pull, added to the shift of the environment."""

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest amount that this drift can add to a shift."""
        return self._bounds()

    def _bounds(self) -> tuple[float, float]:
        """Return the bounds of the drift; they are infinite unless a subclass overrides this method."""
        return -math.inf, math.inf


@dataclass(frozen=True)
class Sinusoid(Drift):
    """Drift of the shifts as a sine wave with a period in pulls; each replication has one random phase."""

    amplitude: float
    period: float

    def __post_init__(self) -> None:
        set_fields(
            self,
            amplitude=require_finite("amplitude", self.amplitude, 0.0),
            period=_require_period(self.period),
        )

    def _numbers(self) -> dict[str, Any]:
        return {"drift": kernel.SINUSOID, "drift_a": self.amplitude, "drift_b": self.period}

    def _bounds(self) -> tuple[float, float]:
        return -self.amplitude, self.amplitude


@dataclass(frozen=True)
class Wander(Drift):
    """Drift of the shifts as a random walk: each pull adds a normal step with standard deviation `sd`."""

    sd: float

    def __post_init__(self) -> None:
        set_fields(self, sd=require_finite("sd", self.sd, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"drift": kernel.WANDER, "drift_a": self.sd}


@dataclass(frozen=True)
class Trend(Drift):
    """Drift of the shifts as a straight line: each pull adds `slope`."""

    slope: float

    def __post_init__(self) -> None:
        set_fields(self, slope=require_finite("slope", self.slope))

    def _numbers(self) -> dict[str, Any]:
        return {"drift": kernel.TREND, "drift_a": self.slope}


@dataclass(frozen=True)
class Curve(Drift):
    """Drift of the shifts as a repeating curve, such as a daily cycle: straight lines between given values.

    One cycle of the curve takes `period` pulls. The curve starts with the first value, or at a random point
    of each replication if `anywhere` is true.
    """

    values: Sequence[float]
    period: float
    anywhere: bool = False

    def __post_init__(self) -> None:
        values = tuple(
            require_finite("a value of the curve", value) for value in as_tuple("values", self.values)
        )
        set_fields(self, values=values, period=_require_period(self.period), anywhere=bool(self.anywhere))

    def _numbers(self) -> dict[str, Any]:
        numbers = {"drift_a": float(self.anywhere), "drift_b": self.period, "curve": np.array(self.values)}
        return {"drift": kernel.CURVE, **numbers}

    def _bounds(self) -> tuple[float, float]:
        return min(self.values), max(self.values)


def _require_period(value: Any) -> float:
    """Return the period as a float, or raise an error if it is not positive."""
    period = require_finite("period", value)
    if period <= 0.0:
        raise InputError(f"period must be above 0, not {value!r}")
    return period
