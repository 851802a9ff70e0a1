"""How environments shift.

A new kind is a class here, and a branch in `kernels.world.environment` by which it is drawn.
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
    """A process of shifts: one amount for each environment."""

    def _bounds(self) -> tuple[float, float]:
        """Return the least and the largest shift there can be."""
        return -math.inf, math.inf


@dataclass(frozen=True)
class Uniform(Shift):
    """Shifts drawn anew for each environment, uniformly between `low` and `high`."""

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
    """Shifts drawn anew for each environment, normal with that mean and standard deviation."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        set_fields(self, mean=require_finite("mean", self.mean), sd=require_finite("sd", self.sd, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.NORMAL, "shift_a": self.mean, "shift_b": self.sd}


@dataclass(frozen=True)
class RandomWalk(Shift):
    """Shifts that wander: each is the one before plus a normal step with standard deviation `sd`.

    `start` is the level before the first environment, which already makes a step from it.
    """

    sd: float
    start: float = 0.0

    def __post_init__(self) -> None:
        set_fields(self, sd=require_finite("sd", self.sd, 0.0), start=require_finite("start", self.start))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.WALK, "shift_a": self.start, "shift_b": self.sd}


@dataclass(frozen=True)
class Weekly(Shift):
    """Shifts that repeat: environment j has `pattern[j % len(pattern)]`, plus normal noise of `sd`.

    Seven values and environments of one day make a week; any other period does as well.
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
    """No shift at all: the stationary world of classical bandits."""

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kernel.NONE}

    def _bounds(self) -> tuple[float, float]:
        return 0.0, 0.0
