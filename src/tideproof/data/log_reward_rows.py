"""Decision whether to read the rows a second time, for the logarithms of their rewards."""

from __future__ import annotations

from tideproof.stats.cells import Cells
from tideproof.stats.scales.log_rewards import logs_may_help


def should_read_logs(cells: Cells, logs: bool | None) -> bool:
    """Return whether to read logarithms of rewards.

    The answer is no if a reward is 0 or below; if `logs` is None, it is yes only if logarithms may help.
    """
    if logs is False or cells.low is None or not cells.low.size or not cells.low.min() > 0.0:
        return False
    return logs is True or logs_may_help(cells)
