"""Spending functions: how much of the error probability a test has spent at a given share of its plan.

References
----------
Lan, DeMets (1983), Discrete sequential boundaries for clinical trials;
Lan, DeMets (1989), Changing frequency of interim analysis in sequential monitoring (calendar time).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError

SpendingName = Literal["pocock", "obrien-fleming"]


def _spend_pocock(alpha: Floats, share: Floats) -> Floats:
    """Return the error spent by Pocock's function, which gives similar critical values at all looks."""
    return np.asarray(alpha * np.log1p((np.e - 1.0) * share))


def _spend_obrien_fleming(alpha: Floats, share: Floats) -> Floats:
    """Return the error spent by the O'Brien-Fleming function, which spends very little early."""
    from scipy.special import ndtr, ndtri

    with np.errstate(divide="ignore"):
        return np.asarray(4.0 * ndtr(ndtri(0.25 * alpha) / np.sqrt(share)))


_FUNCTIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "pocock": _spend_pocock,
    "obrien-fleming": _spend_obrien_fleming,
}


def spent_alpha(spending: SpendingName, alpha: Floats, share: Floats) -> Floats:
    """Return the two-sided error probability that is spent once a given share of a test is reached.

    `alpha` is the total; the two arrays are broadcast.

    >>> spent_alpha("pocock", np.array(0.05), np.array([0.5, 1.0])).round(4)
    array([0.031, 0.05 ])
    >>> spent_alpha("obrien-fleming", np.array(0.05), np.array([0.5, 1.0])).round(4)
    array([0.0031, 0.05  ])
    """
    return _FUNCTIONS[spending](alpha, np.minimum(share, 1.0))


def require_spending(spending: str) -> SpendingName:
    """Return the name of a spending function, or raise an error that lists the known ones."""
    for name in get_args(SpendingName):
        if spending == name:
            found: SpendingName = name
            return found
    raise InputError(f"spending must be 'pocock' or 'obrien-fleming', not {spending!r}")
