"""Text on how arms compare with a control."""

from __future__ import annotations

from typing import Any, NamedTuple

from tideproof.analysis import Fit
from tideproof.analysis.number_formats import contrast_format
from tideproof.table import Table
from tideproof.text import PERCENT

_MOST = 6  # largest number of arms in the sentence


class ControlComparison(NamedTuple):
    """A control, and the table that compares each other arm with it.

    Columns: arm; estimate, low and high (a difference, or a lift where arms are compared by lifts); reading
    ("better", "worse", "unclear" or "not comparable"); lift on the scale of differences.
    """

    control: Any
    table: Table


def control_sentence(fit: Fit, against: ControlComparison) -> str:
    """Return a sentence on how each arm compares with the control, the best first."""
    rows = {row["arm"]: row for row in against.table}
    order = [arm for group in fit.ranking for arm in group if arm in rows]
    said = [f"{arm} {comparison_text(fit, rows[arm])}" for arm in order[:_MOST]]
    more = [f"{len(order) - _MOST:,} more in the table"] if len(order) > _MOST else []
    return f"Against {against.control}, the control: {'; '.join([*said, *more])}."


def comparison_text(fit: Fit, row: dict[str, Any]) -> str:
    """Return the comparison of one arm with the control as text: estimate, interval, lift and reading."""
    if row["estimate"] is None:
        return "cannot be compared"
    figures, low, high = contrast_format(fit), row["low"], row["high"]
    beside = [figures.format_interval(low, high, "+")]
    if not fit.lifts and row.get("lift") is not None:
        lift = PERCENT.format_estimate(row["lift"], row.get("lift_low"), row.get("lift_high"), "+")
        beside.append(f"lift {lift}")
    inside = "; ".join(filter(None, beside))
    number = figures.format_estimate(row["estimate"], low, high, "+")
    return f"{number}{f' ({inside})' if inside else ''}, {row['reading']}"
