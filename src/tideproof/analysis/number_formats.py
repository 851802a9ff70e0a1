"""Number formats of a fit: percent for rates and lifts, plain numbers for other means and differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideproof.text import PERCENT, PLAIN, POINTS, NumberFormat

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit


def mean_format(fit: Fit) -> NumberFormat:
    """Return the number format of means: percent if rewards are 0 or 1."""
    return PERCENT if fit.cells.binary else PLAIN


def change_format(fit: Fit) -> NumberFormat:
    """Return the number format of differences of means in a column whose header names the unit."""
    return NumberFormat(mean_format(fit).factor)


def contrast_format(fit: Fit) -> NumberFormat:
    """Return the number format of contrasts between two arms."""
    if fit.lifts:
        return PERCENT
    return POINTS if fit.cells.binary else PLAIN
