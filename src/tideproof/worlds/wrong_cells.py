"""Outlying cells in simulated worlds: all rewards of one arm in one environment are wrong.

A new kind needs a class here, and a branch in `world_draws.cell` that draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.checks import require_finite
from tideproof.errors import InputError
from tideproof.worlds.world_part import WorldPart, set_fields


class Outlier(WorldPart):
    """Base class of outlying cells: all rewards of one arm in one environment are wrong."""


@dataclass(frozen=True)
class Outliers(Outlier):
    """Outlying cells: in a random `share` of (arm, environment) pairs, rewards are `size` sigmas off."""

    share: float
    size: float

    def __post_init__(self) -> None:
        set_fields(
            self, share=require_finite("share", self.share, 0.0), size=require_finite("size", self.size, 0.0)
        )
        if self.share > 1.0:
            raise InputError(f"share, the share of outlying cells, must be at most 1, not {self.share:g}")

    def _numbers(self) -> dict[str, Any]:
        return {"wrong": self.share, "off": self.size}
