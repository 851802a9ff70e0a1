"""Fit: which arm is best once the shifts are estimated away, and how sure that is.

Names over numbers: estimates and their variances come from `kernels.solve`; the small functions at
the end turn them into intervals and probabilities. scipy is loaded when one of those first runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tideproof.errors import InputError, NotComparable, UnknownName
from tideproof.frames import Cells, cells, cells_from_arrays
from tideproof.kernels._arrays import Floats, Ints
from tideproof.kernels.solve import adjusted, contrast, residuals, shifts, solve, sums
from tideproof.table import Table

Direction = Literal["maximize", "minimize"]

NOMINAL = "intervals are nominal: after an adaptive run a 95 % interval covers about 92-93 %"


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much higher the mean reward of arm `a` is than that of arm `b`.

    Attributes
    ----------
    a, b : the two arms.
    estimate : mean of `a` minus mean of `b`, in units of the reward.
    se : its standard error.
    low, high : its Student-t interval, at the level of the fit.
    p : two-sided p-value of no difference.
    freedom : degrees of freedom behind `se`; with 0, all of the above but the estimate are None.
    adaptive : whether an adaptive policy chose the pulls, which makes the interval a little too short.
    """

    a: Any
    b: Any
    estimate: float
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    freedom: int
    adaptive: bool


@dataclass(frozen=True, slots=True)
class Additivity:
    """Does one shift for all arms describe the data? The F test of arm x environment interaction.

    Attributes
    ----------
    F : mean square of the cells around the model over the mean square inside the cells.
    df1, df2 : their degrees of freedom.
    p : probability of so large an F if shifts are the same for all arms.
    worst : cells furthest from the model, in standard errors `z`; those that nothing else can check
        are left out.
    """

    F: float
    df1: int
    df2: int
    p: float
    worst: Table


def fit(
    data: Any,
    *,
    arm: str,
    environment: str,
    reward: str,
    direction: Direction = "maximize",
    level: float = 0.95,
) -> Fit:
    """Estimate the arms of a log, the shift of each environment taken out.

    Use it when you have all the data: which variant, on which day, earned how much.

    Parameters
    ----------
    data
        One row an observation: a mapping of columns, or any frame that narwhals knows (pandas, polars,
        pyarrow, ...), eager or lazy.
    arm, environment, reward
        The names of its columns.
    direction
        Whether a high reward is good ("maximize") or bad ("minimize").
    level
        Coverage of the intervals.

    Examples
    --------
    B looks worse on average, because it ran on the bad day. Side by side it wins:

    >>> log = {
    ...     "variant": ["A", "A", "A", "B", "A", "B", "B", "B"],
    ...     "day": ["sun", "sun", "sun", "sun", "rain", "rain", "rain", "rain"],
    ...     "sales": [9.1, 9.0, 8.8, 10.1, 2.0, 2.9, 3.2, 3.1],
    ... }
    >>> fit(log, arm="variant", environment="day", reward="sales")
    B is best: +1.1 over A, the runner-up (95 % interval 0.811 to 1.39), p_best 1.00
    arm  n  raw_mean   mean       se    low   high  p_best
    A    4     7.225  5.475  0.07444  5.284  5.666  0.0001
    B    4     4.825  6.575  0.07444  6.384  6.766  0.9999
    8 rewards in 2 environments; sigma 0.138 on 5 degrees of freedom
    """
    return Fit(cells(data, arm, environment, reward), direction=direction, level=level)


class Fit:
    """Arms and shifts estimated from cells; nothing is ever compared that the data do not connect.

    Parameters
    ----------
    cells
        What was observed, from `tideproof.frames`.
    direction
        Whether a high reward is good ("maximize") or bad ("minimize").
    adaptive
        Whether an adaptive policy chose the pulls; only the wording changes.
    level
        Coverage of the intervals.

    Attributes
    ----------
    freedom : degrees of freedom of the noise, N - K - J + groups; with 0, whatever needs the size of
        the noise is None.
    sigma : standard deviation of the noise.
    groups : lists of arms; only inside a list can arms be compared.
    uninformative : number of environments with a single arm. They are legal and say nothing.
    """

    def __init__(
        self,
        cells: Cells,
        *,
        direction: Direction = "maximize",
        adaptive: bool = False,
        level: float = 0.95,
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise InputError(f"direction must be 'maximize' or 'minimize', not {direction!r}")
        if not 0.0 < level < 1.0:
            raise InputError(f"level must lie between 0 and 1, such as 0.95, not {level!r}")
        self.cells = cells
        self.direction = direction
        self.adaptive = adaptive
        self.level = level

        K, J = len(cells.arms), len(cells.environments)
        self._solution = solve(cells.arm, cells.environment, cells.n, cells.mean, cells.squares, K, J)
        self._sign = 1.0 if direction == "maximize" else -1.0
        self.freedom = self._solution.freedom
        self._sigma = math.sqrt(self._solution.rss / self.freedom) if self.freedom else math.nan
        self.sigma = _known(self._sigma)
        self._groups = _members(self._solution.group)
        self.groups = [[cells.arms[i] for i in group] for group in self._groups]
        self._arms_seen = np.bincount(cells.environment, minlength=J)
        self.uninformative = int(np.count_nonzero(self._arms_seen == 1))

    @classmethod
    def from_arrays(
        cls,
        arm: Iterable[Any],
        environment: Iterable[Any],
        reward: Iterable[Any],
        *,
        direction: Direction = "maximize",
        adaptive: bool = False,
        level: float = 0.95,
    ) -> Fit:
        """Fit three sequences of equal length, one entry an observation."""
        found = cells_from_arrays(arm, environment, reward)
        return cls(found, direction=direction, adaptive=adaptive, level=level)

    # ------------------------------------------------------------------ the winner

    @property
    def best(self) -> Any:
        """The arm with the best adjusted mean.

        Raises
        ------
        NotComparable
            If no chain of shared environments connects all arms.
        """
        if len(self.groups) > 1:
            raise NotComparable(self._apart())
        return self.cells.arms[self._ranked(self._groups[0])[0]]

    @property
    def p_best(self) -> dict[Any, float | None]:
        """The probability of each arm of being the best of its group, `p_best_error` accurate.

        Under the posterior of the contrasts with a flat prior, a multivariate Student-t. None for an
        arm that met no other, and without a degree of freedom.
        """
        return {arm: _known(p) for arm, p in zip(self.cells.arms, self._chances[0].tolist(), strict=True)}

    @property
    def p_best_error(self) -> float | None:
        """The standard error of the integration behind `p_best`, the largest over arms."""
        return _known(self._chances[1])

    @cached_property
    def _chances(self) -> tuple[Floats, float]:
        mu, P = self._sign * self._solution.mu, self._solution.P
        chance, error = np.full(mu.size, np.nan), math.nan
        for group in self._groups:
            if self.freedom and group.size > 1:
                block = P[np.ix_(group, group)]
                chance[group], worst = chance_of_best(mu[group], self._sigma, block, self.freedom)
                error = worst if math.isnan(error) else max(error, worst)
        return chance, error

    # -------------------------------------------------------------------- tables

    @cached_property
    def arms(self) -> Table:
        """One row an arm.

        Columns: arm, n, raw_mean (of its rewards as they are), mean (adjusted: had it run in every
        environment in proportion to traffic), se, low, high, p_best.
        """
        c = self.cells
        n = sums(c.arm, c.n, len(c.arms))
        with np.errstate(invalid="ignore"):
            raw = sums(c.arm, c.n * c.mean, n.size) / n
        mean, variance = adjusted(self._solution, c.arm, c.n, c.mean)
        se = self._sigma * np.sqrt(variance)
        reach = t_quantile(self.level, self.freedom) * se
        return Table(
            {
                "arm": c.arms,
                "n": n.astype(np.int64),
                "raw_mean": raw,
                "mean": mean,
                "se": se,
                "low": mean - reach,
                "high": mean + reach,
                "p_best": self._chances[0],
            }
        )

    @cached_property
    def shifts(self) -> Table:
        """One row an environment.

        Columns: environment, n, arms (how many were seen), shift (relative to the average over the
        traffic of its group of arms), se.
        """
        c = self.cells
        J = len(c.environments)
        shift, variance = shifts(self._solution, c.arm, c.environment, c.n, c.mean, J)
        return Table(
            {
                "environment": c.environments,
                "n": sums(c.environment, c.n, J).astype(np.int64),
                "arms": self._arms_seen,
                "shift": shift,
                "se": self._sigma * np.sqrt(variance),
            }
        )

    # ----------------------------------------------------------------- questions

    def contrast(self, a: Any, b: Any) -> Contrast:
        """Compare two arms: the mean of `a` minus the mean of `b`, whatever the direction.

        Raises
        ------
        NotComparable
            If no chain of shared environments connects them.
        """
        i, k = self._position(a), self._position(b)
        if i == k:
            raise InputError(f"a contrast needs two different arms, not {a!r} twice")
        estimate, variance = contrast(self._solution, i, k)
        if math.isnan(estimate):
            raise NotComparable(f"{a} and {b} cannot be compared: {self._apart()}")
        se = self._sigma * math.sqrt(variance)
        reach = t_quantile(self.level, self.freedom) * se
        return Contrast(
            a=a,
            b=b,
            estimate=estimate,
            se=_known(se),
            low=_known(estimate - reach),
            high=_known(estimate + reach),
            p=_known(two_sided_p(estimate, se, self.freedom)),
            freedom=self.freedom,
            adaptive=self.adaptive,
        )

    def additivity(self, worst: int = 5) -> Additivity:
        """Test whether one shift for all arms describes the data, and name the `worst` cells.

        The sum of squares of the cells around the model against that inside the cells, which needs
        an arm seen twice in one environment, and environments that check each other.
        """
        c, s = self.cells, self._solution
        df1, df2 = c.n.size - s.environments - s.joins, s.told - c.n.size
        inside = float(np.sum(c.squares))
        if df2 == 0:
            raise InputError("additivity needs noise to compare with: some arm seen twice in one environment")
        if df1 == 0:
            raise InputError(
                f"additivity cannot be tested: {c.n.size} cells of arm and environment are no more than "
                f"the model has parameters; two arms together in two environments would be"
            )
        if inside == 0.0:
            raise InputError("additivity needs noise to compare with: rewards never vary inside a cell")
        residual, variance = residuals(s, c.arm, c.environment, c.n, c.mean, len(c.environments))
        F = float(np.sum(c.n * residual**2)) / df1 / (inside / df2)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(variance * c.n > 1e-9, residual / np.sqrt(inside / df2 * variance), np.nan)
        rows = np.argsort(-np.abs(z), kind="stable")[: min(worst, np.count_nonzero(~np.isnan(z)))]
        return Additivity(
            F=F,
            df1=df1,
            df2=df2,
            p=f_tail(F, df1, df2),
            worst=Table(
                {
                    "arm": [c.arms[i] for i in c.arm[rows]],
                    "environment": [c.environments[j] for j in c.environment[rows]],
                    "n": c.n[rows].astype(np.int64),
                    "mean": c.mean[rows],
                    "expected": (c.mean - residual)[rows],
                    "z": z[rows],
                }
            ),
        )

    # --------------------------------------------------------------------- words

    @property
    def verdict(self) -> str:
        """One sentence: the winner, by how much, and how sure."""
        if len(self.groups) > 1:
            return f"no best arm: {self._apart()}"
        best, second = (self.cells.arms[i] for i in self._ranked(self._groups[0])[:2])
        over, gap = f"+{{}} over {second}", self.contrast(best, second)
        if self.direction == "minimize":
            over, gap = f"{{}} below {second}", self.contrast(second, best)
        lead = f"{over.format(_short(gap.estimate))}, the runner-up"
        if gap.low is None or gap.high is None:
            return f"{best} leads: {lead}; no degree of freedom is left to say how sure that is"
        return (
            f"{best} {'is best' if gap.low > 0.0 else 'leads'}: {lead} ({100 * self.level:g} % interval "
            f"{_short(gap.low)} to {_short(gap.high)}), p_best {self.p_best[best]:.2f}"
        )

    def __repr__(self) -> str:
        s = self._solution
        noise = f"sigma {_short(self._sigma)} on {self.freedom} degrees of freedom"
        lines = [
            self.verdict,
            repr(self.arms),
            f"{s.told} rewards in {s.environments} environments; "
            + (noise if self.freedom else "no degree of freedom"),
        ]
        if self.uninformative:
            lines.append(f"environments with a single arm, which say nothing: {self.uninformative}")
        if self.adaptive:
            lines.append(NOMINAL)
        return "\n".join(lines)

    def _position(self, arm: Any) -> int:
        if arm not in self.cells.arms:
            raise UnknownName.among("arm", arm, self.cells.arms)
        return self.cells.arms.index(arm)

    def _ranked(self, group: Ints) -> list[int]:
        """Return the arms of a group, the best first."""
        order = np.argsort(-self._sign * self._solution.mu[group], kind="stable")
        return [int(i) for i in group[order]]

    def _apart(self) -> str:
        """Say which arms do not meet, and which pulls would change that."""
        groups = " | ".join(", ".join(map(str, group)) for group in self.groups)
        *leaders, last = (str(self.cells.arms[self._ranked(group)[0]]) for group in self._groups)
        return (
            f"{len(self.groups)} groups of arms share no environment: {groups}; "
            f"pull {', '.join(leaders)} and {last} in one environment"
        )


def _members(label: Ints) -> list[Ints]:
    """Return the arms of each group, by its first arm; label 0 stands for an arm alone."""
    groups: dict[tuple[int, int], list[int]] = {}
    for i, group in enumerate(label.tolist()):
        groups.setdefault((group, 0 if group else i), []).append(i)
    return [np.array(group) for group in groups.values()]


def _known(x: float) -> float | None:
    return None if math.isnan(x) else x


def _short(x: float) -> str:
    return f"{x:.0f}" if abs(x) >= 1000.0 else f"{x:.3g}"


def t_quantile(level: float, freedom: int) -> float:
    """Return t such that a Student-t number lies in (-t, t) with probability `level`; NaN without freedom.

    >>> round(t_quantile(0.95, 10), 3)
    2.228
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * level)) if freedom else math.nan


def two_sided_p(estimate: float, se: float, freedom: int) -> float:
    """Return the p-value of estimate = 0; NaN without freedom.

    >>> round(two_sided_p(2.228, 1.0, 10), 3)
    0.05
    """
    from scipy.special import stdtr

    if se == 0.0:
        return 1.0 if estimate == 0.0 else 0.0
    return float(2.0 * stdtr(freedom, -abs(estimate) / se)) if freedom else math.nan


def f_tail(F: float, df1: int, df2: int) -> float:
    """Return the probability that an F-distributed number exceeds `F`.

    >>> round(f_tail(4.96, 1, 10), 3)
    0.05
    """
    from scipy.special import fdtrc

    return float(fdtrc(df1, df2, F))


def chance_of_best(mu: Floats, sigma: float, P: Floats, freedom: int) -> tuple[Floats, float]:
    """Return the probability of each arm of having the highest mean, and its standard error.

    The contrasts are multivariate Student-t around those of `mu`, with scale sigma^2 P. Along a line
    mu + r v, r real, each arm is highest on one interval of r, whose probability is known: so only
    the direction v is integrated numerically, over a Kronecker lattice spread on the sphere, under 16
    random shifts with a fixed seed. The error, the largest over arms, is 0 for two arms, a few 1e-4
    for ten and about 1e-3 for fifty.

    References
    ----------
    Monahan, Genz (1997), Spherical-radial integration rules for Bayesian computation.

    Examples
    --------
    >>> chance, error = chance_of_best(np.zeros(3), 1.0, np.eye(3), freedom=9)
    >>> chance.round(2)
    array([0.33, 0.33, 0.33])
    >>> error < 1e-3
    True
    """
    from scipy.special import ndtri

    if sigma == 0.0:
        best = mu == mu.max()
        return best / best.sum(), 0.0
    K = mu.size
    P = P - P.mean(axis=0) - P.mean(axis=1, keepdims=True) + P.mean()
    variance, axes = np.linalg.eigh(P)  # the first axis is a common level, which does not matter
    root = sigma * axes[:, 1:] * np.sqrt(np.maximum(variance[1:], 0.0))
    points = np.arange(max(64, min(4096, 2**16 // K)))
    lattice = np.outer(points, 2.0 ** (np.arange(1, K) / K))
    random = np.random.default_rng(20240919)
    chances = []
    for _ in range(16):
        uniform = np.abs(2.0 * ((lattice + random.random(K - 1)) % 1.0) - 1.0)
        z = ndtri(np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53))
        v = z / np.linalg.norm(z, axis=1, keepdims=True) @ root.T
        chances.append(_chance_along(mu, v, freedom))
    return np.mean(chances, axis=0), float(np.max(np.std(chances, axis=0, ddof=1)) / 4.0)


def _chance_along(mu: Floats, v: Floats, freedom: int) -> Floats:
    """Average, over the lines mu + r v, the probability of each arm of being the highest.

    From r = -inf, where the arm that rises least is the highest, each line is walked up from one
    crossing to the next: a handful of steps, however many arms there are.
    """
    chance, line = np.zeros(mu.size), np.arange(len(v))
    arm, low = v.argmin(axis=1), np.zeros(len(v))
    while True:
        rise = v - v[line, arm, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = np.where(rise > 0.0, (mu[arm, None] - mu) / rise, np.inf)
        following = crossing.argmin(axis=1)
        r = crossing[line, following]
        high = _radial_cdf(r, mu.size - 1, freedom)
        chance += sums(arm, high - low, mu.size)
        if np.all(r == np.inf):
            return chance / len(v)
        arm, low = np.where(r == np.inf, arm, following), high


def _radial_cdf(r: Floats, dimension: int, freedom: int) -> Floats:
    """Return the distribution of the signed length of a standard Student-t vector along its line."""
    from scipy.special import fdtr

    with np.errstate(over="ignore"):
        return np.asarray(0.5 + 0.5 * np.sign(r) * fdtr(dimension, freedom, r**2 / dimension))
