"""Sums of third and fourth powers of deviations, and their conversion between two reference points.

About a point that is `off` below the mean, the deviations of n rewards are d + off, where d are those
from their mean. The sums of their powers are

    sum (d + off)^3 = cubes + 3 off squares + n off^3
    sum (d + off)^4 = fourths + 4 off cubes + 6 off^2 squares + n off^4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints

# Rounding errors of a fourth power, in squared variances:
WORTH_ANOTHER_LOOK = 1e-8
USELESS = 1e-3
_BLUR = 1e-11  # acceptable rounding error of the squared deviations of an arm, relative to them
_UNIT = 8.0 * float(np.finfo(np.float64).eps)  # relative rounding error of a few products and sums


class MomentSums(NamedTuple):
    """Sums of third and fourth powers of deviations from the mean of each group: (G,)."""

    cubes: Floats
    fourths: Floats


def has_lost_digits(arm: Ints, n: Floats, mean: Floats, squares: Floats) -> bool:
    """Return whether rounding has made the squared deviations of some arm too inaccurate.

    That happens if they are computed as the difference of two large sums.

    >>> has_lost_digits(np.array([0, 1]), np.array([5.0, 5.0]), np.array([1.0, 1e4]), np.array([5.0, 5.0]))
    True
    """
    lost = np.bincount(arm, np.where(squares > 0.0, n * mean**2, 0.0))
    return bool(np.any(_UNIT * lost > _BLUR * np.bincount(arm, squares)))


def shift_reference(n: Floats, squares: Floats, tails: MomentSums, off: Floats) -> MomentSums:
    """Return the sums of powers about a point that is `off` below the mean, from those about the mean."""
    cubes, fourths = tails
    return MomentSums(
        cubes + off * (3.0 * squares + n * off**2),
        fourths + off * (4.0 * cubes + off * (6.0 * squares + n * off**2)),
    )


def from_power_sums(
    n: Floats, squares: Floats, powers: MomentSums, off: Floats, most: float = USELESS
) -> MomentSums | None:
    """Return the sums of powers about the mean, from those about a point that is `off` below it.

    Return None if that point is too far away: if rounding adds more than `most` to the fourth power, relative
    to the squared variance of all groups that vary. For groups with a smaller variance, or none, the sums are
    clipped to values that are mathematically possible.

    >>> one = np.array([1.0, 2.0, 6.0])
    >>> about_zero = MomentSums(np.array([sum(one**3)]), np.array([sum(one**4)]))
    >>> from_power_sums(np.array([3.0]), np.array([14.0]), about_zero, np.array([3.0]))
    MomentSums(cubes=array([18.]), fourths=array([98.]))
    """
    with np.errstate(over="ignore", invalid="ignore"):
        cubes = powers.cubes - off * (3.0 * squares + n * off**2)
        fourths = powers.fourths - off * (4.0 * cubes + off * (6.0 * squares + n * off**2))
        varies = squares > 0.0
        rounding = _UNIT * np.max(off[varies] ** 4, initial=0.0)
        variance = np.sum(squares) / max(float(np.sum(n[varies])), 1.0)
        if not np.all(np.isfinite(fourths)) or 0.0 < most * variance**2 < rounding:
            return None
        fourths = np.clip(fourths, squares**2 / n, squares**2)
    limit = np.sqrt(squares * fourths)  # by the Cauchy-Schwarz inequality
    return MomentSums(np.clip(cubes, -limit, limit), fourths)
