"""Fit: which arm is best once the shifts are estimated away, and how sure that is.

Names over numbers: estimates come from `kernels.solve`, their variances from `noise`, intervals and
probabilities from `inference` and `comparisons`, tests of the assumptions from `diagnostics`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tideproof.checks import finite
from tideproof.core.arrays import Floats, Ints
from tideproof.errors import InputError, NotComparable, UnknownName
from tideproof.frames import Missing, cells, cells_from_arrays
from tideproof.stats import diagnostics
from tideproof.stats import solve as least_squares
from tideproof.stats.cells import Cells
from tideproof.stats.comparisons import Comparisons, compare_with_best
from tideproof.stats.diagnostics import Additivity, SampleRatio, Spread
from tideproof.stats.inference import chance_of_best, t_quantile, two_sided_p
from tideproof.stats.noise import Variance, estimate, parts, sigma2
from tideproof.stats.solve import sums
from tideproof.table import Table
from tideproof.words import counted

Direction = Literal["maximize", "minimize"]

_ROUNDING = 32 * float(np.finfo(np.float64).eps)  # of the largest mean; what adds up exactly leaves less
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
    freedom : degrees of freedom behind `se`, a fraction where variances are unequal; with 0, all of the
        above but the estimate are None.
    adaptive : whether an adaptive policy chose the pulls, which makes the interval a little too short.
    """

    a: Any
    b: Any
    estimate: float
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    freedom: float
    adaptive: bool


def fit(
    data: Any,
    *,
    arm: str,
    environment: str,
    reward: str,
    direction: Direction = "maximize",
    level: float = 0.95,
    variance: Variance = "common",
    n: str | None = None,
    sample_variance: str | None = None,
    sd: str | None = None,
    table: str | None = None,
    missing: Missing = "refuse",
) -> Fit:
    """Estimate the arms of a log, the shift of each environment taken out.

    Use it when you have all the data: which variant, on which day, earned how much.

    Parameters
    ----------
    data
        One row an observation: a mapping of columns; any frame that narwhals knows (pandas, polars,
        pyarrow, PySpark, ...), eager or lazy; a DuckDB relation; the path of a CSV, TSV, Parquet or JSON
        lines file, compressed or not, or a glob of them; the URL of a PostgreSQL database or of a
        DuckDB file. Rows are grouped where they are.
    arm, environment, reward
        The names of its columns. The environment may be `hour(ts)`, `day(ts)` or `week(ts)` of a
        timestamp column `ts`; times with a zone count in UTC.
    direction
        Whether a high reward is good ("maximize") or bad ("minimize").
    level
        Coverage of the intervals.
    variance
        What is known of the noise: the same for all ("common"), "by-arm", "by-environment", nothing
        ("robust"), or not even that shifts are the same for all arms ("clustered").
    n, sample_variance, sd
        For rows that are aggregated already: the columns of their count and of their variance (divisor
        n - 1) or standard deviation; `reward` then holds means.
    table
        In a database: a table's name, or a query that begins with `select` or `with`.
    missing
        "refuse" rows that lack a value, or "drop" and count them.

    Examples
    --------
    B looks worse on average, because it ran on the bad day. Side by side it wins:

    >>> log = {
    ...     "variant": ["A", "A", "A", "B", "A", "B", "B", "B"],
    ...     "day": ["sun", "sun", "sun", "sun", "rain", "rain", "rain", "rain"],
    ...     "sales": [9.1, 9.0, 8.8, 10.1, 2.0, 2.9, 3.2, 3.1],
    ... }
    >>> fit(log, arm="variant", environment="day", reward="sales")
    B is best (95 %): +1.1 over A, the runner-up; best with probability > 0.99
    arm  n  raw_mean   mean       se    low   high  p_best
    A    4     7.225  5.475  0.07444  5.284  5.666  0.0001
    B    4     4.825  6.575  0.07444  6.384  6.766  0.9999
    8 rewards in 2 environments; sigma 0.138 on 5 degrees of freedom
    """
    found = cells(
        data, arm, environment, reward, n=n, variance=sample_variance, sd=sd, table=table, missing=missing
    )
    return Fit(found, direction=direction, level=level, variance=variance)


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
    variance
        What is known of the noise, as in `fit`.

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
        variance: Variance = "common",
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise InputError(f"direction must be 'maximize' or 'minimize', not {direction!r}")
        if not 0.0 < finite("level", level) < 1.0:
            raise InputError(f"level must lie between 0 and 1, such as 0.95, not {level!r}")
        self.cells = cells
        self.direction = direction
        self.adaptive = adaptive
        self.level = level
        self.variance = variance

        K, J = len(cells.arms), len(cells.environments)
        self._solution = least_squares.solve(
            cells.arm, cells.environment, cells.n, cells.mean, cells.squares, K, J
        )
        self._sign = 1.0 if direction == "maximize" else -1.0
        self.freedom = self._solution.freedom
        self._sigma = math.sqrt(sigma2(self._solution))
        self._estimate = estimate(cells, self._solution, variance)
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
        variance: Variance = "common",
    ) -> Fit:
        """Fit three sequences of equal length, one entry an observation."""
        found = cells_from_arrays(arm, environment, reward)
        return cls(found, direction=direction, adaptive=adaptive, level=level, variance=variance)

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
    def exact(self) -> bool:
        """Whether arms and environments explain all rewards to within rounding, as no real rewards do."""
        largest = float(np.abs(self.cells.mean).max())
        return bool(self.freedom) and self._sigma <= _ROUNDING * largest

    @property
    def p_best(self) -> dict[Any, float | None]:
        """The probability of each arm of being the best of its group.

        Under the posterior of the contrasts with a flat prior, a multivariate Student-t, integrated
        numerically with the standard error `p_best_error`. None for an arm that met no other, and
        without a degree of freedom.
        """
        return {arm: _known(p) for arm, p in zip(self.cells.arms, self._chances[0].tolist(), strict=True)}

    @property
    def p_best_error(self) -> float | None:
        """The standard error of the integration behind `p_best`, the largest over arms."""
        return _known(self._chances[1])

    @cached_property
    def _chances(self) -> tuple[Floats, float]:
        mu, C, freedom = self._sign * self._estimate.mu, self._estimate.covariance, self._estimate.freedom
        chance, error = np.full(mu.size, np.nan), math.nan
        for group in self._groups:
            if self.freedom and group.size > 1:
                block = np.ix_(group, group)
                nu = _fewest(freedom[block]).min()
                chance[group], worst = chance_of_best(mu[group], 1.0, C[block], float(nu))
                error = worst if math.isnan(error) else max(error, worst)
        return chance, error

    @cached_property
    def arms(self) -> Table:
        """One row an arm.

        Columns: arm, n, raw_mean (of its rewards as they are), mean (adjusted: had it run in every
        environment in proportion to traffic), se, low, high, p_best.
        """
        c, read = self.cells, self._estimate.readout
        se = np.sqrt(read.mean_variance)
        reach = t_quantile(self.level, self._estimate.overall) * se
        return Table(
            {
                "arm": c.arms,
                "n": sums(c.arm, c.n, len(c.arms)).astype(np.int64),
                "raw_mean": self._raw,
                "mean": read.mean,
                "se": se,
                "low": read.mean - reach,
                "high": read.mean + reach,
                "p_best": self._chances[0],
            }
        )

    @cached_property
    def _raw(self) -> Floats:
        """The mean reward of each arm as it is."""
        c = self.cells
        with np.errstate(invalid="ignore"):
            return sums(c.arm, c.n * c.mean, len(c.arms)) / sums(c.arm, c.n, len(c.arms))

    @cached_property
    def averages(self) -> Table:
        """What averages that do not know of shifts say, and by how much shifts move them.

        Columns: arm; mean (adjusted); raw_mean and raw_bias, which is the average shift that the arm
        met; period_mean (the mean over environments in proportion to their traffic, where the arm was
        seen: what experiment platforms report) and period_bias. A bias is that mean minus the adjusted
        one.
        """
        c, mean = self.cells, self._estimate.readout.mean
        size = sums(c.environment, c.n, len(c.environments))[c.environment]
        with np.errstate(invalid="ignore"):
            period = sums(c.arm, size * c.mean, len(c.arms)) / sums(c.arm, size, len(c.arms))
        return Table(
            {
                "arm": c.arms,
                "mean": mean,
                "raw_mean": self._raw,
                "raw_bias": self._raw - mean,
                "period_mean": period,
                "period_bias": period - mean,
            }
        )

    @cached_property
    def comparisons(self) -> Table:
        """Each arm against the best of the others, with intervals that all hold at once.

        Multiple comparisons with the best (Hsu 1984, 1996): with probability `level` all intervals are
        true, and the best arm is among the candidates. Inside each group of arms that can be compared.

        Columns: arm, estimate (its mean minus that of the best other arm), low, high, candidate (whether
        it may be the best).
        """
        K = len(self.cells.arms)
        columns = {name: np.full(K, np.nan) for name in ("estimate", "low", "high")}
        candidate = np.ones(K, bool)
        for group in self._groups:
            if group.size > 1:
                found = self._compared(group)
                limits = (found.low, found.high) if self._sign > 0.0 else (-found.high, -found.low)
                columns["estimate"][group] = self._sign * found.estimate
                columns["low"][group], columns["high"][group] = limits
                candidate[group] = found.candidate
        return Table({"arm": self.cells.arms, **columns, "candidate": candidate})

    def _compared(self, group: Ints) -> Comparisons:
        found, block = self._estimate, np.ix_(group, group)
        nu = _fewest(found.freedom[block]).min(axis=1)
        return compare_with_best(self._sign * found.mu[group], found.covariance[block], nu, self.level)

    @property
    def candidates(self) -> list[Any]:
        """The arms that may be the best: it is among them with probability `level` at least."""
        if len(self.groups) > 1:
            raise NotComparable(self._apart())
        ranked = self._ranked(self._groups[0])
        may = self.comparisons["candidate"]
        return [self.cells.arms[i] for i in ranked if may[i]]

    @cached_property
    def shifts(self) -> Table:
        """One row an environment.

        Columns: environment, n, arms (how many were seen), shift (relative to the average over the
        traffic of its group of arms), se.
        """
        c, read = self.cells, self._estimate.readout
        return Table(
            {
                "environment": c.environments,
                "n": sums(c.environment, c.n, len(c.environments)).astype(np.int64),
                "arms": self._arms_seen,
                "shift": read.shift,
                "se": np.sqrt(read.shift_variance),
            }
        )

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
        if math.isnan(least_squares.contrast(self._solution, i, k)[0]):
            raise NotComparable(f"{a} and {b} cannot be compared: {self._apart()}")
        mu, C = self._estimate.mu, self._estimate.covariance
        estimate, freedom = float(mu[i] - mu[k]), _plain(float(self._estimate.freedom[i, k]))
        variance = float(C[i, i] + C[k, k] - 2.0 * C[i, k])
        se = math.nan if math.isnan(variance) else math.sqrt(max(variance, 0.0))
        reach = t_quantile(self.level, freedom) * se
        return Contrast(
            a=a,
            b=b,
            estimate=estimate,
            se=_known(se),
            low=_known(estimate - reach),
            high=_known(estimate + reach),
            p=_known(two_sided_p(estimate, se, freedom)),
            freedom=freedom,
            adaptive=self.adaptive,
        )

    def additivity(self, worst: int = 5) -> Additivity:
        """Test whether one shift for all arms describes the data, and name the `worst` cells.

        The sum of squares of the cells around the model against that inside the cells, which needs
        an arm seen twice in one environment, and environments that check each other. Exact for
        common noise; with `variance` "by-arm" or "by-environment" it is Welch and James's test.
        """
        if self.variance in ("by-arm", "by-environment"):
            return diagnostics.weighted_additivity(self.cells, *parts(self.cells, self.variance), worst)
        return diagnostics.additivity(self.cells, self._solution, worst)

    def spread(self) -> Spread:
        """Test whether all arms, and all environments, vary alike; if not, choose another `variance`."""
        return diagnostics.spread(self.cells)

    def influence(self) -> Table:
        """Say what leaving each environment out in turn would change: the winner, and its lead.

        By least squares, all environments with two arms or more, the most influential first. Columns:
        environment, n, best (the winner without it), lead (of today's winner over the best other arm
        without it, negative if it loses), change (of that lead). Where leaving it out would disconnect
        the arms the last three are None.

        Raises
        ------
        NotComparable
            If no chain of shared environments connects all arms.
        """
        if len(self.groups) > 1:
            raise NotComparable(self._apart())
        c, mu = self.cells, self._sign * self._solution.mu
        best = int(np.argmax(mu))
        without = self._sign * diagnostics.without_each(c, self._solution)
        lead, now = (x[..., best] - np.delete(x, best, axis=-1).max(axis=-1) for x in (without, mu))
        change = lead - now
        winner = [None if math.isnan(x[0]) else c.arms[int(np.argmax(x))] for x in without]
        rank = np.where(np.isnan(change), -np.inf, -np.abs(change))
        rows = [int(j) for j in np.argsort(rank, kind="stable") if self._arms_seen[j] > 1]
        return Table(
            {
                "environment": [c.environments[j] for j in rows],
                "n": sums(c.environment, c.n, len(c.environments))[rows].astype(np.int64),
                "best": [winner[j] for j in rows],
                "lead": lead[rows],
                "change": change[rows],
            }
        )

    def sample_ratio(self, expected: Mapping[Any, float] | None = None) -> SampleRatio:
        """Test whether the arms got the shares of traffic they should, equal ones unless `expected` says."""
        return diagnostics.sample_ratio(self.cells, expected)

    @property
    def verdict(self) -> str:
        """One sentence: the winner, by how much, and how sure."""
        if len(self.groups) > 1:
            return f"no best arm: {self._apart()}"
        first, then = self._ranked(self._groups[0])[:2]
        best, second = self.cells.arms[first], self.cells.arms[then]
        gap = self._estimate.mu[first] - self._estimate.mu[then]
        if self._sign > 0.0:
            lead = f"+{_short(abs(gap))} over {second}, the runner-up"
        else:
            lead = f"{_short(abs(gap))} below {second}, the runner-up"
        if not self.freedom:
            return f"{best} leads: {lead}; no degree of freedom is left to say how sure that is"
        if self.exact:
            return f"{best} leads: {lead}; the fit is exact, so that nothing says how sure that is"
        chance, sure = self.p_best[best] or 0.0, f"{100 * self.level:g} %"
        p_best = f"best with probability {'> 0.99' if chance > 0.995 else f'{chance:.2f}'}"
        others = [arm for arm in self.candidates if arm != best]
        if not others:
            return f"{best} is best ({sure}): {lead}; {p_best}"
        return f"{best} leads: {lead}, but {_listed(others)} cannot be excluded ({sure}); {p_best}"

    def __repr__(self) -> str:
        s = self._solution
        noise = f"sigma {_short(self._sigma)} on {counted(self.freedom, 'degree')} of freedom"
        lines = [
            self.verdict,
            repr(self.arms),
            f"{counted(s.told, 'reward')} in {counted(s.environments, 'environment')}; "
            + (noise if self.freedom else "no degree of freedom"),
        ]
        if self.variance != "common":
            lines.append(f"standard errors: {self.variance}")
        if self.cells.dropped:
            lines.append(f"rows left out because a value was missing: {self.cells.dropped}")
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
        order = np.argsort(-self._sign * self._estimate.mu[group], kind="stable")
        return [int(i) for i in group[order]]

    def _apart(self) -> str:
        """Say which arms do not meet, and which pulls would change that."""
        groups = " | ".join(", ".join(map(str, group)) for group in self.groups)
        return (
            f"{len(self.groups)} groups of arms share no environment: {groups}; "
            f"pull {_listed(self.bridge)} in one environment"
        )

    @property
    def bridge(self) -> list[Any]:
        """Arms which, run together in one environment, would make all comparable; empty if they are."""
        if len(self.groups) == 1:
            return []
        return [self.cells.arms[self._ranked(group)[0]] for group in self._groups]


def _members(label: Ints) -> list[Ints]:
    """Return the arms of each group, by its first arm; label 0 stands for an arm alone."""
    groups: dict[tuple[int, int], list[int]] = {}
    for i, group in enumerate(label.tolist()):
        groups.setdefault((group, 0 if group else i), []).append(i)
    return [np.array(group) for group in groups.values()]


def _fewest(freedom: Floats) -> Floats:
    """Return the degrees of freedom of contrasts, the diagonal out of the way of a minimum."""
    found = freedom.copy()
    np.fill_diagonal(found, np.inf)
    return found


def _plain(freedom: float) -> float:
    return int(freedom) if freedom.is_integer() else freedom


def _listed(names: Iterable[Any], most: int = 6) -> str:
    """Join names in words.

    >>> _listed("AB"), _listed("A"), _listed(range(20))
    ('A and B', 'A', '0, 1, 2, 3, 4, 5 and 14 more')
    """
    *few, last = map(str, names)
    if len(few) >= most:
        return f"{', '.join([*few, last][:most])} and {len(few) + 1 - most} more"
    return f"{', '.join(few)} and {last}" if few else last


def _known(x: float) -> float | None:
    return None if math.isnan(x) else x


def _short(x: float) -> str:
    return f"{x:.0f}" if abs(x) >= 1000.0 else f"{x:.3g}"
