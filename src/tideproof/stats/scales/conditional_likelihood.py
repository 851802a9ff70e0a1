"""What the scales that multiply share: which arms have a finite ratio, and the climb to their likelihood.

On the scale of ratios and on that of odds the likelihood given the totals of the environments depends on
theta alone, is concave, and its information is a Laplacian on the arms. Its maximum may lie at infinity: an
arm without a single event. Then arms fall into classes. Inside a class every ratio is finite; between two
classes it is infinite or not known at all. In the limit the classes of an environment no longer compete,
so that they may be treated as if they had met in different environments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.cells import Cells, sums
from tideproof.stats.solve.laplacian import Through, inverse

_FAR = 1.0  # the longest step of theta: the likelihood is not quadratic further out
_CLOSE = 1e-7  # the last step
_STEPS = 200  # never reached: as many as theta may be far away, and a few

Moments = Callable[[Floats], tuple[Floats, Floats | Through]]


class Peak(NamedTuple):
    """The maximum of a likelihood: theta, (K,), P, (K, K), and what is expected of each cell, (C,).

    `short` is the way from many arms to P through few environments.
    """

    theta: Floats
    P: Floats
    expected: Floats
    short: Through | None = None


class ConditionalFit(NamedTuple):
    """Arms compared on a scale where the tide multiplies, the totals of the environments given.

    Attributes
    ----------
    theta : (K,) logarithm of the arm's factor (of rates or of odds) relative to the reference of its class;
        -inf without an event, +inf where only events were seen (odds), NaN for an arm unseen.
    rate : (J,) what the factors multiply in each environment, a rate or odds; NaN where no reward was seen.
    fitted : (C,) expected mean of each cell, the total of its environment given.
    P : (K, K) generalised inverse of the information on theta; the row of one arm a class is 0.
    component : (K,) the class of the arm, 0, 1, ... by their first arm; ratios inside a class are finite.
    beats : (K, K) whether an event of the first arm was seen where the second might have had one instead.
    short : the way from many arms to P through few environments; None otherwise.
    """

    theta: Floats
    rate: Floats
    fitted: Floats
    P: Floats
    component: Ints
    beats: NDArray[np.bool_]
    short: Through | None = None

    def gap(self, i: int, k: int) -> float:
        """Return theta_i - theta_k: infinite where only one of them had its chances, NaN if nothing tells."""
        if self.component[i] == self.component[k]:
            return 0.0 if i == k else float(self.theta[i] - self.theta[k])
        above, below = reached(self.beats, i)[k], reached(self.beats, k)[i]
        return np.inf if above else -np.inf if below else np.nan


def endless(cells: Cells, wins: Floats, losses: Floats, theta: Floats) -> Floats:
    """Return theta with what is infinite: arms that never won, arms that never lost."""
    never = [cells.by_arm(part) == 0.0 for part in (wins, losses)]
    return np.where(
        cells.counts == 0.0, np.nan, np.where(never[0], -np.inf, np.where(never[1], np.inf, theta))
    )


def classes(cells: Cells, wins: Floats, losses: Floats) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the class of each arm, (K,), and who beats whom, (K, K).

    Arm a beats arm b where a has a win and b a loss in the same environment. Swapping the two would be as
    possible an outcome: that bounds theta_a - theta_b from above. A ratio is finite if it is bounded on both
    sides, through others if need be: if the arms are strongly connected.

    References
    ----------
    Albert, Anderson (1984), On the existence of maximum likelihood estimates in logistic regression models;
    Ford (1957), Solution of a ranking problem from binary comparisons.
    """
    beats = np.zeros((cells.K, cells.K))
    for _, _, (won, lost) in cells.blocks(*(np.asarray(x > 0.0, np.float64) for x in (wins, losses))):
        beats += won.T @ lost
    met = beats > 0.0
    label = np.full(cells.K, -1)
    for i in range(cells.K):
        if label[i] < 0:
            both = reached(met, i)
            if np.count_nonzero(both) > 1:
                both &= reached(met.T, i)
            label[both] = label.max() + 1
    return label, met


def reached(edges: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    """Return which nodes can be reached from one, itself among them."""
    found = np.arange(len(edges)) == start
    new = found
    while new.any():
        new = np.any(edges[new], axis=0) & ~found
        found = found | new
    return np.asarray(found)


def split(cells: Cells, component: Ints, wins: Floats, losses: Floats) -> tuple[Cells, Ints]:
    """Return the cells that compete, each class of an environment being an environment of its own.

    Left out are those without a competitor of their class, and those where all have won or all have lost.
    Also returned: which cells are kept.
    """
    stratum = cells.environment * (int(component.max()) + 1) + component[cells.arm]
    own, label = np.unique(stratum, return_inverse=True)
    competing = np.bincount(label) > 1
    for part in wins, losses:
        competing &= sums(label, part, own.size) > 0.0
    kept = np.flatnonzero(competing[label])
    label = np.cumsum(competing)[label[kept]] - 1
    return replace(
        subset(cells, kept), environments=list(range(int(competing.sum()))), environment=label
    ), kept


def subset(cells: Cells, kept: Ints) -> Cells:
    """Return some of the cells, among the same arms and environments."""
    values = {field.name: getattr(cells, field.name) for field in fields(cells)}
    some: dict[str, Any] = {name: x[kept] for name, x in values.items() if isinstance(x, np.ndarray)}
    return replace(cells, **some)


def climb(part: Cells, own: Floats, theta: Floats, component: Ints, moments: Moments) -> Peak:
    """Find the maximum of a concave likelihood by Newton's method.

    `own` is the sum of each cell; `moments(theta)` returns what is expected of it and, off the diagonal,
    minus the information on theta, or the way to its inverse. The error of a step is about the square of its
    size.
    """
    last = np.inf
    for _ in range(_STEPS):
        expected, between = moments(theta)
        step, size = newton_step(between, component, part.by_arm(own - expected))
        theta = theta + step
        if size < _CLOSE or (size < 1e-6 and size > 0.5 * last):  # the next is rounding, or this one was
            break
        last = size
    expected, between = moments(theta)
    short, P = None, np.empty(0)
    if isinstance(between, Through):
        short, P = between, between.inverse()
    else:
        P = inverse(between, component)
    reference = np.flatnonzero(np.diag(P) == 0.0)
    zero = np.zeros(int(component.max()) + 1)
    zero[component[reference]] = theta[reference]
    return Peak(theta - zero[component], P, expected, short)


def newton_step(between: Floats | Through, component: Ints, score: Floats) -> tuple[Floats, float]:
    """Return x with L x = score, at most 1 in size, and its size before; 0 for one arm of each class.

    L is the Laplacian with the weights `between`. A seventh of the work of inverting it.
    """
    if isinstance(between, Through):
        x: Floats = between.solve(score)
    else:
        laplacian = np.diag(between.sum(axis=1)) - between
        reference = np.unique(component, return_index=True)[1]
        laplacian[reference, :] = laplacian[:, reference] = 0.0
        laplacian[reference, reference] = 1.0
        score = score.copy()
        score[reference] = 0.0
        x = np.asarray(np.linalg.solve(laplacian, score), np.float64)
    size = float(np.abs(x).max(initial=0.0))
    return np.asarray(x * min(1.0, _FAR / size if size else 1.0)), size
