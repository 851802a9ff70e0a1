"""Group-sequential boundaries for z-scores tested at several looks, by recursive numerical integration.

At look l the score has the information I_l and is normal with variance I_l, and its increments are
independent. Its z-score is the score over sqrt(I_l). The density of the z-scores of paths that have not
crossed a boundary yet follows from the one at the look before (Armitage, McPherson, Rowe). It is integrated
on the nodes of Gauss and Legendre between the boundaries, where it is smooth, so few nodes are exact.

References
----------
Armitage, McPherson, Rowe (1969), Repeated significance tests on accumulating data;
Jennison, Turnbull (2000), Group sequential methods with applications to clinical trials, chapters 2, 7, 19.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from tideproof.core.kernel_state_arrays import Floats

_FEWEST_NODES, _MOST_NODES = 32, 320
_NODES_PER_WIDTH = 1.6  # nodes per standard deviation of the step between two looks
_LEAST_STEP = 4e-4  # share of new information; less counts as this much, which makes boundaries wider
_FARTHEST = 8.5  # z-scores beyond are not integrated over: they have a probability below 1e-16
_BISECTIONS = 40
_UNREACHABLE = 38.0  # z-score whose tail probability is the smallest positive number


class _Paths:
    """Probability density of the z-scores of tests that have not crossed their boundary at any earlier look.

    Attributes
    ----------
    nodes, mass : (A, n) z-scores and probabilities at the last look, for each of A boundaries.
    information : information at that look; None before the first.
    drift : mean of the score per unit of information.
    """

    def __init__(self, drift: float = 0.0) -> None:
        self.drift = drift
        self.information: float | None = None
        self.nodes = self.mass = np.zeros((1, 1))

    def _centre_and_width(self, information: float) -> tuple[Floats, float]:
        """Return mean and standard deviation of the z-score in the next analysis, given the present one."""
        if self.information is None:
            return np.full((1, 1), self.drift * math.sqrt(information)), 1.0
        before = min(self.information / information, 1.0 - _LEAST_STEP)
        moved = self.drift * math.sqrt(information) * (1.0 - before)
        return self.nodes * math.sqrt(before) + moved, math.sqrt(1.0 - before)

    def crossing_function(self, information: float) -> Callable[[Floats, float], Floats]:
        """Return a function that computes the probability to cross given bounds at the next look.

        The sign is 1 upwards, and -1 downwards, below minus the bounds.
        """
        from scipy.special import ndtr

        centre, width = self._centre_and_width(information)
        mass = np.ones((1, 1)) if self.information is None else self.mass

        def crossing(bound: Floats, sign: float) -> Floats:
            return np.asarray(np.sum(mass * ndtr((sign * centre - bound[:, None]) / width), axis=1))

        return crossing

    def move(self, bound: Floats, information: float) -> None:
        """Move on to the next look with the tests whose z-score does not cross `bound` there."""
        centre, width = self._centre_and_width(information)
        mass = np.ones((1, 1)) if self.information is None else self.mass
        middle = self.drift * math.sqrt(information)
        top = np.minimum(bound, middle + _FARTHEST)
        bottom = np.maximum(-bound, middle - _FARTHEST)
        half = 0.5 * np.maximum(top - bottom, 0.0)
        count = int(np.clip(_NODES_PER_WIDTH * 2.0 * half.max() / width, _FEWEST_NODES, _MOST_NODES))
        x, w = _legendre(count)
        nodes = 0.5 * (top + bottom)[:, None] + half[:, None] * x
        apart = (nodes[:, :, None] - centre[:, None, :]) / width
        density = np.exp(-0.5 * apart * apart) @ np.broadcast_to(mass, centre.shape)[:, :, None]
        there = density[:, :, 0] / (width * math.sqrt(2.0 * math.pi))
        self.nodes, self.mass, self.information = nodes, there * half[:, None] * w, information


@cache
def _legendre(count: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Gauss-Legendre integration on [-1, 1]."""
    x, w = np.polynomial.legendre.leggauss(count)
    return np.asarray(x), np.asarray(w)


def spending_boundaries(spent: Floats, information: Floats) -> Floats:
    """Return the critical z-scores at each look for a given error probability spent by each look: (A, L).

    Parameters
    ----------
    spent : (A, L) error probability spent up to each look; each row is another test.
    information : (L,) information at each look, up to a factor, in ascending order.

    Examples
    --------
    The spending function of O'Brien and Fleming with five equal looks, in Table 7.4 of Jennison and Turnbull:

    >>> from tideproof.stats.looks.spending_functions import spent_alpha
    >>> share = np.arange(1, 6) / 5
    >>> spending_boundaries(spent_alpha("obrien-fleming", np.array([[0.05]]), share), share).round(2)
    array([[4.88, 3.36, 2.68, 2.29, 2.03]])
    """
    paths, found = _Paths(), np.empty_like(spent)
    before = np.zeros(len(spent))
    for look, amount in enumerate(information.tolist()):
        found[:, look] = _bound(paths, np.maximum(spent[:, look] - before, 0.0), amount)
        paths.move(found[:, look], amount)
        before = spent[:, look]
    return found


def _bound(paths: _Paths, error: Floats, information: float) -> Floats:
    """Find, by bisection, the critical z-scores exceeded at the next look with given probabilities."""
    low, high = np.zeros(len(error)), np.full(len(error), _UNREACHABLE)
    crossing = paths.crossing_function(information)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        beyond = 2.0 * crossing(middle, 1.0) > error  # without a drift both sides are equal
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return high


def crossing_probabilities(bounds: Floats, information: Floats, drift: float = 0.0) -> tuple[Floats, Floats]:
    """Return the probabilities that a z-score first crosses its boundary at each look, up and down.

    Parameters
    ----------
    bounds : (L,) critical z-scores.
    information : (L,) information at each look, in ascending order.
    drift : mean of the score per unit of information, as with a true effect of this size.

    Examples
    --------
    Two looks at the same two-sided 5 % level have an error of 8.3 %.

    >>> up, down = crossing_probabilities(np.array([1.96, 1.96]), np.array([1.0, 2.0]))
    >>> round(float(up.sum() + down.sum()), 3)
    0.083
    """
    paths, up, down = _Paths(drift), np.empty(bounds.size), np.empty(bounds.size)
    for look, amount in enumerate(information.tolist()):
        bound = bounds[look : look + 1]
        crossing = paths.crossing_function(amount)
        (up[look],), (down[look],) = crossing(bound, 1.0), crossing(bound, -1.0)
        paths.move(bound, amount)
    return up, down
