"""Arms that differ from day to day: reward = arm + shift + interaction(arm, environment) + noise.

Interactions are normal with variance omega^2, shifts are any. A cell's mean then varies by
v_c = omega^2 + sigma^2/n, independently of all others, so that this is least squares with weights 1/v_c, and
no more has to be known of a log than its cells. omega^2 and sigma^2 come from restricted maximum likelihood
(REML), standard errors and degrees of freedom from `kenward_roger`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import Solution, residuals, solve
from tideproof.stats.variance.kenward_roger import freedom_of, information, spent, spent_by_pools, sums_of
from tideproof.stats.variance.sandwich import Pools

_MANY = 40  # arms, beyond which each has no omega of its own
_STEPS = 100  # of scoring
_LEAST, _MOST = 1e-101, 1e101  # of a variance whose cube is a number


class Mixed(NamedTuple):
    """What a log says of interactions, and the fit that allows for them.

    Attributes
    ----------
    omega2 : (1,) variance of interactions, or (K,) of each arm's.
    sigma2 : (1,) variance of a reward in its cell, or (pools,).
    noise_of : (C,) which of these is that of a cell.
    told : whether the data can tell interactions from noise: a cell with two rewards, and cells that check
        each other.
    cells : with the weights, 1/v.
    solution : muhat and P for these weights.
    covariance, freedom : (K, K) of muhat, and degrees of freedom of each contrast.
    scales : (2, 2) covariance of the relative errors of all omega^2 and of all sigma^2; NaN at omega = 0.
    """

    omega2: Floats
    sigma2: Floats
    noise_of: Ints
    told: bool
    cells: Cells
    solution: Solution
    covariance: Floats
    freedom: Floats
    scales: Floats

    @property
    def none(self) -> bool:
        """Whether no interaction was found: the fit is then that without."""
        return not self.omega2.any()

    @property
    def between(self) -> Floats:
        """(C,) variance of the interaction in each cell."""
        one = self.omega2.size == 1
        return np.full(self.cells.n.size, self.omega2[0]) if one else np.asarray(self.omega2[self.cells.arm])

    @property
    def noise(self) -> Floats:
        """(C,) variance of each cell's mean around its own truth."""
        return np.asarray(self.sigma2[self.noise_of] / self.cells.n)

    def typical(self) -> tuple[float, float]:
        """Return omega and sigma of a reward as it comes: roots of the averages over rewards."""
        n = self.cells.n
        between, noise = (float(n @ x / n.sum()) for x in (self.between, self.sigma2[self.noise_of]))
        return math.sqrt(between), math.sqrt(noise)


class Level(NamedTuple):
    """Restricted likelihood at one variance of interactions.

    Attributes
    ----------
    cells, solution : weighted by 1/v.
    residual, variance : (C,) of the cells around the fit, and what is expected of their squares, over `one`.
    one : variance that multiplies v: sigma^2 where v is relative, else 1.
    """

    cells: Cells
    solution: Solution
    residual: Floats
    variance: Floats
    one: float

    @property
    def slope(self) -> float:
        """0 where likelihood is highest, below 0 to the left: expected over found squares, less 1.

        Almost a straight line in omega^2, which is soon solved.
        """
        w2 = self.cells.weight**2
        found, expected = float(np.sum(w2 * self.residual**2)), self.one * float(np.sum(w2 * self.variance))
        return expected / found - 1.0 if found > 0.0 else math.inf


def reml(
    c: Cells, s: Solution, pools: Pools | None = None, *, own: bool = False, none: bool = False
) -> Mixed:
    """Fit by REML; `s` is the solution of least squares. O(C K + K^3) a step, a dozen of them.

    Without `pools` noise is the same everywhere, and sigma^2 is estimated with omega^2. With them it is what
    varies inside their cells. Every arm has its `own` omega if asked; there is `none` if that is known.
    """
    c.check_one_way("a model of interactions")
    if own and c.K > _MANY:
        raise InputError(f"an omega of its own for each arm is for {_MANY} arms at most; there are {c.K:,}")
    df = float(np.sum(c.n - 1.0))
    told = df > 0.0 and visible(c, s) > 0
    if told and not np.any(c.squares > 0.0):
        raise InputError(
            "interactions cannot be told from noise: rewards never vary inside a cell; use "
            "variance='clustered'"
        )
    if told:
        _check_unit(float(np.sum(c.squares)) / df)
    omega2, one = _best(c, s, pools) if told and not none else (0.0, 1.0)
    if not omega2 > 0.0 and not (own and told and not none):
        return _without(c, s, pools, own, told)
    start = Theta(np.array([omega2]), np.array([one]) if pools is None else pools.variance)
    if own:
        start = _each(c, s, pools, start)
        if not start.omega2.any():
            return _without(c, s, pools, own, told)
    return _at(c, s, pools, start)


def _check_unit(variance: float) -> None:
    if not _LEAST <= variance <= _MOST:
        raise InputError(
            f"interactions cannot be told from noise where rewards vary by {math.sqrt(variance):g}: "
            f"give them in another unit"
        )


def visible(c: Cells, s: Solution) -> int:
    """Return how many interactions can be seen: cells minus parameters."""
    return c.n.size - s.environments - s.joins


class Theta(NamedTuple):
    """Variances: (1,) or (K,) of interactions, (1,) or (pools,) of a reward in its cell."""

    omega2: Floats
    sigma2: Floats


def _level(c: Cells, s: Solution, pools: Pools | None, omega2: float) -> Level:
    """Look at restricted likelihood; without pools `omega2` and v are in units of sigma^2."""
    noise = 1.0 / c.n if pools is None else pools.variance[pools.of] / c.n
    cells = c.weighted(1.0 / (omega2 + noise))
    found = solve(cells)
    residual, variance = residuals(found, cells)
    one = (found.rss + float(np.sum(c.squares))) / s.freedom if pools is None else 1.0
    return Level(cells, found, residual, variance, one)


def _best(c: Cells, s: Solution, pools: Pools | None) -> tuple[float, float]:
    """Return the omega^2 of highest restricted likelihood, and its sigma^2 (1 with pools)."""

    def slope(x: float) -> float:
        return _level(c, s, pools, x).slope

    none = _level(c, s, pools, 0.0)
    one = float(np.sum(c.squares) / np.sum(c.n - 1.0)) if pools is None else 1.0
    expected = float(np.sum(none.cells.weight**2 * none.variance))  # squares rise with omega^2 by this
    guess = (none.solution.rss / one - visible(c, s)) / expected  # by moments
    if none.slope < 0.0:
        low = 0.0, none.slope
    elif guess > 0.0 and (rising := [x for x in (0.1 * guess, guess, 10.0 * guess) if slope(x) < 0.0]):
        low = rising[0], slope(rising[0])  # likelihood has a hollow before its peak
    else:
        return 0.0, none.one
    x = straight_root(low, max(guess, 2.0 * low[0], 1e-3 * visible(c, s) / expected), slope)
    found = _level(c, s, pools, x)
    if none.slope >= 0.0 and _misfit(s, found, pools) > _misfit(s, none, pools):
        return 0.0, none.one
    return x * found.one, found.one


def straight_root(low: tuple[float, float], guess: float, f: Callable[[float], float]) -> float:
    """Find the zero above `low` (where, and the value there, below 0) of a function that is almost straight.

    By secants through the last two points, which never leave what is known to hold the zero.
    """
    high, before, x = math.inf, low, guess
    for _ in range(60):
        y = f(x)
        if abs(y) < 1e-10:
            break
        if y < 0.0:
            low = x, y
        else:
            high = x
        rise = (y - before[1]) / (x - before[0])
        following = x - y / rise if rise > 0.0 else math.inf
        before = x, y
        if not low[0] < following < high:
            following = 4.0 * x if math.isinf(high) else 0.5 * (low[0] + high)
        if following == x:
            break
        x = min(following, 16.0 * x)
    return x


def _misfit(s: Solution, at: Level, pools: Pools | None) -> float:
    """Return -2 log restricted likelihood, up to a constant."""
    W = at.cells.totals[at.cells.totals > 0.0]
    loose = np.flatnonzero(np.diag(at.solution.P) > 0.0)
    total = float(np.sum(np.log(W)) - np.sum(np.log(at.cells.weight)))
    total -= float(np.linalg.slogdet(at.solution.P[np.ix_(loose, loose)])[1])
    return total + (s.freedom * math.log(at.one) if pools is None else at.solution.rss)


def _without(c: Cells, s: Solution, pools: Pools | None, own: bool, told: bool) -> Mixed:
    """Return what is known without interactions; covariance and freedom are those of the model without."""
    sigma2 = np.array([s.rss / s.freedom if s.freedom else np.nan]) if pools is None else pools.variance
    nothing = np.full((c.K, c.K), np.nan)
    omega2 = np.zeros(c.K if own else 1)
    return Mixed(omega2, sigma2, _noise_of(c, pools), told, c, s, nothing, nothing, np.full((2, 2), np.nan))


def _noise_of(c: Cells, pools: Pools | None) -> Ints:
    return np.zeros(c.n.size, np.int64) if pools is None else pools.of


def _each(c: Cells, s: Solution, pools: Pools | None, start: Theta) -> Theta:
    """Return an omega^2 for each arm (and sigma^2 without pools) by Fisher's scoring, none below 0."""
    joint, df, inside = pools is None, float(np.sum(c.n - 1.0)), float(np.sum(c.squares))
    D = np.array([(c.arm == i).astype(float) for i in range(c.K)] + ([1.0 / c.n] if joint else []))
    fixed = 0.0 if pools is None else pools.variance[pools.of] / c.n
    theta = np.append(np.full(c.K, start.omega2[0]), start.sigma2 if joint else [])
    for _ in range(_STEPS):
        cells = c.weighted(1.0 / (theta @ D + fixed))
        found = solve(cells)
        r, variance = residuals(found, cells)
        score = 0.5 * D @ (cells.weight**2 * (r**2 - variance))
        known = information(cells, found, variance, sums_of(cells, D))
        if joint:
            score[-1] += 0.5 * (inside / theta[-1] - df) / theta[-1]
            known[-1, -1] += 0.5 * df / theta[-1] ** 2
        free = np.flatnonzero((theta > 0.0) | (score > 0.0))
        step = np.zeros(theta.size)
        step[free] = np.linalg.pinv(known[np.ix_(free, free)], hermitian=True) @ score[free]
        after = np.maximum(theta + step, 0.0)
        if joint:
            after[-1] = max(after[-1], 0.1 * theta[-1])
        done = np.max(np.abs(after - theta)) <= 1e-10 * np.max(after)
        theta = after
        if done:
            break
    return Theta(theta[: c.K], theta[c.K :] if pools is None else pools.variance)


def _at(c: Cells, s: Solution, pools: Pools | None, theta: Theta) -> Mixed:
    """Return the fit with these variances, its errors allowing for them being estimates."""
    omega2, sigma2 = theta
    of, df = _noise_of(c, pools), float(np.sum(c.n - 1.0))
    between = np.broadcast_to(omega2 if omega2.size == 1 else omega2[c.arm], c.n.shape)
    noise = sigma2[of] / c.n
    cells = c.weighted(1.0 / (between + noise))
    found = solve(cells)
    _, variance = residuals(found, cells)
    free = np.flatnonzero(omega2 > 0.0).tolist()
    D = [np.ones(c.n.size)] if omega2.size == 1 else [(c.arm == i).astype(float) for i in free]
    sums = sums_of(cells, np.array([*D, 1.0 / c.n] if pools is None else D))
    known = information(cells, found, variance, sums)
    if pools is None:
        known[-1, -1] += 0.5 * df / sigma2[0] ** 2
    cost = spent(cells, found, sums, np.asarray(np.linalg.pinv(known, hermitian=True), np.float64))
    if pools is not None:
        cost += spent_by_pools(cells, found, pools)
    scales = information(cells, found, variance, sums_of(cells, np.array([between, noise])))
    scales[1, 1] += 0.5 * df
    return Mixed(
        omega2=omega2,
        sigma2=sigma2,
        noise_of=of,
        told=True,
        cells=cells,
        solution=found,
        covariance=found.P + cost.extra,
        freedom=freedom_of(found.P, cost.doubt),
        scales=np.asarray(np.linalg.pinv(scales, hermitian=True), np.float64),
    )
