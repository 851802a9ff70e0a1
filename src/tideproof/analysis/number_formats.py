"""How the numbers of a fit are written: rates in percent, lifts in percent, differences as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideproof.text import PERCENT, PLAIN, POINTS, NumberFormat

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit


def of_means(fit: Fit) -> NumberFormat:
    """Return how means are written: in percent where rewards are 0 or 1."""
    return PERCENT if fit.cells.binary else PLAIN


def of_changes(fit: Fit) -> NumberFormat:
    """Return how differences of means are written in a column that says what they are."""
    return NumberFormat(of_means(fit).factor)


def of_gaps(fit: Fit) -> NumberFormat:
    """Return how one arm compared with another is written."""
    if fit.lifts:
        return PERCENT
    return POINTS if fit.cells.binary else PLAIN
