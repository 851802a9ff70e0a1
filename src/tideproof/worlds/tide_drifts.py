"""How the tide moves inside environments, pull by pull.

A new kind is a class here, and a branch in `kernels.world.drifted` by which it is drawn.
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
    """A tide inside environments: what is added to their shift, anew for each pull."""

    def _bounds(self) -> tuple[float, float]:
        """Return the least and the largest there can be."""
        return -math.inf, math.inf


@dataclass(frozen=True)
class Sinusoid(Drift):
    """A wave of that amplitude, `period` pulls long; where it begins is drawn once for each replication."""

    amplitude: float
    period: float

    def __post_init__(self) -> None:
        set_fields(
            self, amplitude=require_finite("amplitude", self.amplitude, 0.0), period=_period(self.period)
        )

    def _numbers(self) -> dict[str, Any]:
        return {"drift": kernel.SINUSOID, "drift_a": self.amplitude, "drift_b": self.period}

    def _bounds(self) -> tuple[float, float]:
        return -self.amplitude, self.amplitude


@dataclass(frozen=True)
class Wander(Drift):
    """A random walk: before each pull a normal step with standard deviation `sd`."""

    sd: float

    def __post_init__(self) -> None:
        set_fields(self, sd=require_finite("sd", self.sd, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"drift": kernel.WANDER, "drift_a": self.sd}


@dataclass(frozen=True)
class Trend(Drift):
    """A straight line: `slope` more with every pull."""

    slope: float

    def __post_init__(self) -> None:
        set_fields(self, slope=require_finite("slope", self.slope))

    def _numbers(self) -> dict[str, Any]:
        return {"drift": kernel.TREND, "drift_a": self.slope}


@dataclass(frozen=True)
class Curve(Drift):
    """A curve that repeats, such as a day's: straight lines between `values`, all within `period` pulls.

    It begins with the first value, or, with `anywhere`, where a draw for each replication says.
    """

    values: Sequence[float]
    period: float
    anywhere: bool = False

    def __post_init__(self) -> None:
        values = tuple(
            require_finite("a value of the curve", value) for value in as_tuple("values", self.values)
        )
        set_fields(self, values=values, period=_period(self.period), anywhere=bool(self.anywhere))

    def _numbers(self) -> dict[str, Any]:
        numbers = {"drift_a": float(self.anywhere), "drift_b": self.period, "curve": np.array(self.values)}
        return {"drift": kernel.CURVE, **numbers}

    def _bounds(self) -> tuple[float, float]:
        return min(self.values), max(self.values)


def _period(given: Any) -> float:
    period = require_finite("period", given)
    if period <= 0.0:
        raise InputError(f"period must be above 0, not {given!r}")
    return period
