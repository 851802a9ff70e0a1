"""Which rows are worth a second pass, for the logarithms of their rewards."""

from __future__ import annotations

from tideproof.stats.cells import Cells
from tideproof.stats.scales.log_rewards import may_help


def wanted(cells: Cells, logs: bool | None) -> bool:
    """Tell whether to read logarithms: never where a reward is 0 or below; with None, where they may help."""
    if logs is False or cells.low is None or not cells.low.size or not cells.low.min() > 0.0:
        return False
    return logs is True or may_help(cells)
