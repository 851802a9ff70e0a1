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
    """Base class of distributions of noise with mean 0 and variance 1, which `World.sigma` scales."""


@dataclass(frozen=True)
class StudentT(Noise):
    """Heavy-tailed noise: Student's t with more than 2 degrees of freedom and standard deviation sigma."""

    degrees_of_freedom: float

    def __post_init__(self) -> None:
        set_fields(self, degrees_of_freedom=require_finite("degrees_of_freedom", self.degrees_of_freedom))
        if self.degrees_of_freedom <= 2.0:
            raise InputError(
                "degrees_of_freedom must be above 2, so that sigma is finite, not "
                f"{self.degrees_of_freedom:g}"
            )

    def _numbers(self) -> dict[str, Any]:
        return {"freedom": self.degrees_of_freedom}
