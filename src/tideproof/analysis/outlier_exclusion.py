"""`robust="cells"`: which cells are simply wrong, by name, and the cells that are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tideproof.analysis.scale_selection import ScaleChoice
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.outlying_cell_search import CUT, TrustedCells, keep
from tideproof.stats.scales.log_rewards import logs_of
from tideproof.stats.scales.scale_choice import Choice
from tideproof.table import Table, to_json_values

Robust = Literal["cells"]


@dataclass(frozen=True, slots=True, eq=False)
class ExcludedCells:
    """What was left out because it is further off than noise explains.

    Attributes
    ----------
    cells : those that are left.
    table : one row a cell that was left out, the furthest first: arm, environment, n, mean, z (how far off it
        is, in standard errors).
    environments : those of which nothing is left, half of their cells or more being off.
    looked : how many cells were looked at.
    torn : whether so many cells are off that nobody can say which are wrong; then none was left out.
    """

    cells: Cells
    table: Table
    environments: tuple[Any, ...]
    looked: int
    torn: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        return {
            "cells": to_json_values(self.table),
            "environments": list(self.environments),
            "looked_at": self.looked,
            "torn": self.torn,
            "cut": CUT,
        }


def checked_robust(robust: Any) -> Robust | None:
    """Return it if it is known."""
    if robust not in (None, "cells"):
        raise InputError(f"robust must be 'cells' or None, not {robust!r}")
    return robust  # type: ignore[no-any-return]


def left_out(
    cells: Cells, robust: Robust | None, scale: ScaleChoice | Choice, hidden: bool
) -> ExcludedCells | None:
    """Find what is wrong; None if that was not asked for. On the scale of logarithms, by these."""
    if robust is None:
        return None
    if hidden or cells.slope is not None:
        what = "a hidden tide" if hidden else "covariates"
        raise InputError(f"robust='cells' needs environments with labels and rewards as they are, not {what}")
    found = keep(logs_of(cells) if scale == "log" else cells)
    out = np.flatnonzero(~found.cells)
    whole = tuple(cells.environments[j] for j in np.flatnonzero(found.environments).tolist())
    left = cells.select(np.flatnonzero(found.cells)) if out.size else cells
    return ExcludedCells(left, _table(cells, found, out), whole, cells.n.size, found.torn)


def _table(c: Cells, found: TrustedCells, out: Any) -> Table:
    order = out[np.argsort(-np.abs(np.nan_to_num(found.z[out])), kind="stable")]
    return Table(
        {
            "arm": [c.arms[i] for i in c.arm[order].tolist()],
            "environment": [c.environments[j] for j in c.environment[order].tolist()],
            "n": c.n[order].astype(np.int64),
            "mean": c.mean[order],
            "z": found.z[order],
        }
    )
