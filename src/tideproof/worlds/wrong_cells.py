"""Cells that are wrong: one arm in one environment, far from where it belongs.

A new kind is a class here, and a branch in `kernels.world.cell` by which it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.checks import require_finite
from tideproof.errors import InputError
from tideproof.worlds.world_part import WorldPart, set_fields


class Outlier(WorldPart):
    """Cells that say nothing of their arm: a logging bug, a competitor's sale."""


@dataclass(frozen=True)
class Outliers(Outlier):
    """A `share` of cells, arm and environment, in which all rewards are `size` sigmas too high or too low."""

    share: float
    size: float

    def __post_init__(self) -> None:
        set_fields(
            self, share=require_finite("share", self.share, 0.0), size=require_finite("size", self.size, 0.0)
        )
        if self.share > 1.0:
            raise InputError(f"share, of cells that are wrong, must be at most 1, not {self.share:g}")

    def _numbers(self) -> dict[str, Any]:
        return {"wrong": self.share, "off": self.size}
