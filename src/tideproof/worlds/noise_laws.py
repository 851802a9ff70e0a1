"""Noise that is not normal.

A new kind is a class here, and a branch in `kernels.world.noise` by which it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.checks import require_finite
from tideproof.errors import InputError
from tideproof.worlds.world_part import WorldPart, set_fields


class Noise(WorldPart):
    """Noise of mean 0 and variance 1; `World.sigma` scales it."""


@dataclass(frozen=True)
class StudentT(Noise):
    """Heavy-tailed noise: Student's t with more than 2 degrees of freedom, scaled to the stated sigma."""

    freedom: float

    def __post_init__(self) -> None:
        set_fields(self, freedom=require_finite("freedom", self.freedom))
        if self.freedom <= 2.0:
            raise InputError(f"freedom must be above 2, or sigma is infinite; not {self.freedom:g}")

    def _numbers(self) -> dict[str, Any]:
        return {"freedom": self.freedom}
