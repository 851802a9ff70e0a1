"""Lengths of environments in simulated worlds.

A new kind needs a class here, and a branch in `world_draws.environment` that draws it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.checks import require_finite, require_whole_number
from tideproof.kernels.simulate import world_draws as kernel
from tideproof.worlds.world_part import WorldPart, as_tuple, set_fields


class Length(WorldPart):
    """Base class for the lengths of environments in simulated worlds, in steps (pulls)."""


@dataclass(frozen=True)
class Geometric(Length):
    """Random lengths of environments that end with a constant probability per step after `minimum` steps."""

    mean: float
    minimum: int = 1

    def __post_init__(self) -> None:
        minimum = require_whole_number("minimum", self.minimum, 1)
        set_fields(self, mean=require_finite("mean length", self.mean, minimum), minimum=minimum)

    def _numbers(self) -> dict[str, Any]:
        """Return the parameters of the random lengths for the compiled function that simulates environments.

        The length is minimum + floor(ln u / ln q), with q the probability to continue. Its mean is
        minimum + q/(1 - q), so ln q = -ln(1 + 1/(mean - minimum)).
        """
        more = self.mean - self.minimum
        log_q = -math.log1p(1.0 / more) if more > 0.0 else -math.inf
        return {"length": kernel.GEOMETRIC, "length_a": float(self.minimum), "length_b": log_q}


@dataclass(frozen=True)
class Lengths(Length):
    """Listed lengths: environments have exactly these lengths, in order, and the list repeats at its end."""

    values: Sequence[int]

    def __post_init__(self) -> None:
        set_fields(
            self,
            values=tuple(
                require_whole_number("a length", value, 1) for value in as_tuple("lengths", self.values)
            ),
        )

    def _numbers(self) -> dict[str, Any]:
        return {"length": kernel.LISTED, "lengths": np.array(self.values, np.int64)}
