"""Distributions of rewards other than mean plus noise: conversions, counts and amounts of money.

The mean of a reward, with the shift added or multiplied, determines its distribution. A new kind needs a
class or a line of `KERNEL_PARAMETERS` here, and a branch in `world_draws.reward_at` that draws it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from tideproof.checks import require_finite
from tideproof.errors import InputError
from tideproof.kernels.simulate import world_draws as kernel
from tideproof.worlds.world_part import WorldPart, set_fields

Kind = Literal["normal", "conversions", "counts", "money"]


class Rewards(WorldPart):
    """Base class of distributions of rewards whose mean is at least 0."""


@dataclass(frozen=True)
class Money(Rewards):
    """Amounts of money with a long tail: zero with probability `zeros`, otherwise lognormal.

    The mean of an arm is that of all rewards, zeros included. `variation` is the standard deviation of the
    amounts above 0, divided by their mean.
    """

    variation: float = 1.0
    zeros: float = 0.0

    def __post_init__(self) -> None:
        set_fields(
            self,
            variation=require_finite("variation", self.variation, 0.0),
            zeros=require_finite("zeros", self.zeros, 0.0),
        )
        if self.zeros >= 1.0:
            raise InputError(f"zeros, the share of rewards that are 0, must be below 1, not {self.zeros:g}")

    def _numbers(self) -> dict[str, Any]:
        log_sd = math.sqrt(math.log1p(self.variation**2))
        return {"rewards": kernel.MONEY, "most": math.inf, "log_sd": log_sd, "zeros": self.zeros}


# Kernel parameters of the distributions without parameters. Counts with larger means are nearly normal, and
# slow to draw.
KERNEL_PARAMETERS: dict[str, dict[str, Any]] = {
    "normal": {"rewards": kernel.NOISY, "most": math.inf},
    "conversions": {"rewards": kernel.CONVERSIONS, "most": 1.0},
    "counts": {"rewards": kernel.COUNTS, "most": 500.0},
}
