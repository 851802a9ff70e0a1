"""Shift processes of simulated worlds: the shifts of successive environments.

A new kind needs a class here, and a branch in `world_draws.environment` that draws it.
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


class Shift(WorldPart):
    """Base class of shift processes, which determine the shift of each environment."""

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest shift that this process can produce."""
        return self._bounds()

    def _bounds(self) -> tuple[float, float]:
        """Return the bounds of the shifts; they are infinite unless a subclass overrides this method."""
        return -math.inf, math.inf


@dataclass(frozen=True)
class Uniform(Shift):
    """Independent shifts, uniformly distributed between `low` and `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        set_fields(self, low=require_finite("low", self.low), high=require_finite("high", self.high))
        if self.low > self.high:
            raise InputError(f"low must not be above high: {self.low:g} > {self.high:g}")

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.UNIFORM, "shift_a": self.low, "shift_b": self.high}

    def _bounds(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class Normal(Shift):
    """Independent shifts, normally distributed with the given mean and standard deviation."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        set_fields(self, mean=require_finite("mean", self.mean), sd=require_finite("sd", self.sd, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.NORMAL, "shift_a": self.mean, "shift_b": self.sd}


@dataclass(frozen=True)
class RandomWalk(Shift):
    """Shifts that follow a random walk: each adds a normal step with standard deviation `sd`.

    `start` is the value before the first environment, which already adds a step.
    """

    sd: float
    start: float = 0.0

    def __post_init__(self) -> None:
        set_fields(self, sd=require_finite("sd", self.sd, 0.0), start=require_finite("start", self.start))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.WALK, "shift_a": self.start, "shift_b": self.sd}


@dataclass(frozen=True)
class Weekly(Shift):
    """Shifts that repeat a pattern, such as the days of a week, plus normal noise.

    Environment j has the shift `pattern[j % len(pattern)]`; the noise has the standard deviation `sd`. Seven
    values and environments of one day give a week; other periods are possible.
    """

    pattern: Sequence[float]
    sd: float = 0.0

    def __post_init__(self) -> None:
        pattern = tuple(
            require_finite("a shift of the pattern", shift) for shift in as_tuple("pattern", self.pattern)
        )
        set_fields(self, pattern=pattern, sd=require_finite("sd", self.sd, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.WEEKLY, "shift_b": self.sd, "pattern": np.array(self.pattern)}

    def _bounds(self) -> tuple[float, float]:
        return (min(self.pattern), max(self.pattern)) if self.sd == 0.0 else super()._bounds()


@dataclass(frozen=True)
class NoShift(Shift):
    """No shifts: the stationary world of classical bandits."""

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.NONE}

    def _bounds(self) -> tuple[float, float]:
        return 0.0, 0.0
