"""Distributions of noise in simulated worlds, other than the normal distribution.

A new kind needs a class here, and a branch in `world_draws.noise` that draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.checks import require_finite
from tideproof.errors import InputError
from tideproof.worlds.world_part import WorldPart, set_fields


class Noise(WorldPart):
    """Distribution of noise with mean 0 and variance 1; `World.sigma` scales it."""


@dataclass(frozen=True)
class StudentT(Noise):
    """Heavy-tailed noise: Student's t with more than 2 degrees of freedom, scaled to deviation sigma."""

    freedom: float

    def __post_init__(self) -> None:
        set_fields(self, freedom=require_finite("freedom", self.freedom))
        if self.freedom <= 2.0:
            raise InputError(f"freedom must be above 2, so that sigma is finite, not {self.freedom:g}")

    def _numbers(self) -> dict[str, Any]:
        return {"freedom": self.freedom}
