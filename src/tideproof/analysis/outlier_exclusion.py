"""Detection and exclusion of outlying cells; a cell holds all rewards of one arm in one environment.

Users request it with `robust="cells"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.outlying_cell_search import CUT, TrustedCells, find_outlying_cells
from tideproof.stats.scales.reward_logarithms import require_logs
from tideproof.stats.scales.scale_test import ScaleDecision
from tideproof.table import Table, to_json_values

Robust = Literal["cells"]


@dataclass(frozen=True, slots=True, eq=False)
class ExcludedCells:
    """Arm-by-environment cells that were excluded as being further from the model than noise explains.

    Attributes
    ----------
    cells : the remaining cells.
    table : one row per excluded cell, the furthest first: arm, environment, n, mean, z (its distance from the
        model, in standard errors).
    environments : environments that were excluded completely, because half of their cells or more are
        outlying.
    looked : number of cells that were tested.
    torn : whether so many cells are outlying that the wrong ones cannot be identified; none is excluded then.
    """

    cells: Cells
    table: Table
    environments: tuple[Any, ...]
    looked: int
    torn: bool

    @property
    def notable(self) -> bool:
        """Whether to warn users that there are outlying arm-by-environment cells.

        They were excluded, or there are too many to exclude them.
        """
        return self.torn or len(self.table) > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the excluded arm-by-environment cells, and the number tested, as a dictionary for JSON."""
        return {
            "cells": to_json_values(self.table),
            "environments": list(self.environments),
            "looked_at": self.looked,
            "torn": self.torn,
            "cut": CUT,
        }


def check_robust(robust: Any) -> None:
    """Raise an error unless the option `robust` is None or "cells"."""
    if robust not in (None, "cells"):
        raise InputError(f"robust must be 'cells' or None, not {robust!r}")


def exclude_outlying_cells(
    cells: Cells, robust: Robust, scale: ScaleChoice | ScaleDecision, hidden: bool
) -> ExcludedCells:
    """Find and exclude arm-by-environment cells that are further from the model than noise explains.

    On the scale "log" the logarithms of rewards are tested.
    """
    check_robust(robust)
    if hidden or cells.slope is not None:
        what = "a hidden tide" if hidden else "covariates"
        raise InputError(f"robust='cells' cannot be combined with {what}; leave out robust")
    found = find_outlying_cells(require_logs(cells) if scale == "log" else cells)
    out = np.flatnonzero(~found.cells)
    whole = tuple(cells.environments[j] for j in np.flatnonzero(found.environments).tolist())
    left = cells.select(np.flatnonzero(found.cells)) if out.size else cells
    return ExcludedCells(left, _excluded_table(cells, found, out), whole, cells.n.size, found.torn)


def _excluded_table(c: Cells, found: TrustedCells, out: Any) -> Table:
    """Return the table of excluded arm-by-environment cells, the cell furthest from the model first."""
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
