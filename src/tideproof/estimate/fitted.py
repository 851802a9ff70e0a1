"""Fit: which arm is best once the shifts are estimated away, and how sure that is.

Names over numbers: estimates and variances come from `stats`, who wins from `decision`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tideproof import checks
from tideproof.checks import Direction
from tideproof.core.arrays import Floats, Ints
from tideproof.errors import InputError, NotComparable, UnknownName
from tideproof.estimate.contrast import Contrast, contrast, known
from tideproof.estimate.decision import NOT_COMPARABLE, Decision, decide
from tideproof.estimate.verdict import strangers, verdict
from tideproof.frames import cells_from_arrays
from tideproof.stats import diagnostics
from tideproof.stats import solve as least_squares
from tideproof.stats.cells import Cells
from tideproof.stats.comparisons import Comparisons, compare_with_best
from tideproof.stats.diagnostics import Additivity, SampleRatio, Spread
from tideproof.stats.gaps import gaps as gaps_of
from tideproof.stats.inference import chance_of_best, t_quantile
from tideproof.stats.noise import Variance, estimate, parts, sigma2
from tideproof.stats.solve import sums
from tideproof.table import Table
from tideproof.words import counted, rounded

_ROUNDING = 32 * float(np.finfo(np.float64).eps)  # of the largest mean; what adds up exactly leaves less
NOMINAL = "intervals are nominal: after an adaptive run a 95 % interval covers about 92-93 %"


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
        self.cells = cells
        self.direction = checks.direction(direction)
        self.adaptive = adaptive
        self.level = checks.level(level)
        self.variance = variance

        K, J = len(cells.arms), len(cells.environments)
        self._solution = least_squares.solve(
            cells.arm, cells.environment, cells.n, cells.mean, cells.squares, K, J
        )
        self._sign = 1.0 if direction == "maximize" else -1.0
        self.freedom = self._solution.freedom
        self._sigma = math.sqrt(sigma2(self._solution))
        self._estimate = estimate(cells, self._solution, variance)
        self.sigma = known(self._sigma)
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
        return self._ranking()[0]

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
        return {arm: known(p) for arm, p in zip(self.cells.arms, self._chances[0].tolist(), strict=True)}

    @property
    def p_best_error(self) -> float | None:
        """The standard error of the integration behind `p_best`, the largest over arms."""
        return known(self._chances[1])

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
        ranking, rows = self._ranking(), self.comparisons
        may = dict(zip(rows["arm"], rows["candidate"], strict=True))
        return [arm for arm in ranking if may[arm]]

    @cached_property
    def decision(self) -> Decision:
        """Who wins, whether that is sure, and if not, why: what verdicts, reports and exit codes show."""
        if len(self.groups) > 1:
            return NOT_COMPARABLE
        return decide(self._ranking(), self.candidates, self.freedom, self.exact)

    @property
    def verdict(self) -> str:
        """One sentence: the winner, by how much, and how sure."""
        return verdict(self)

    def rival(self, arm: Any) -> Any:
        """Return the best of the other arms that `arm` can be compared with; None if there is none."""
        i = self._position(arm)
        group = next(group for group in self._groups if i in group)
        return next((self.cells.arms[k] for k in self._ranked(group) if k != i), None)

    @cached_property
    def shifts(self) -> Table:
        """One row an environment.

        Columns: environment, n, arms (how many were seen), shift (relative to the average over the
        traffic of its group of arms), se, low, high.
        """
        c, read = self.cells, self._estimate.readout
        se = np.sqrt(read.shift_variance)
        reach = t_quantile(self.level, self._estimate.overall) * se
        return Table(
            {
                "environment": c.environments,
                "n": sums(c.environment, c.n, len(c.environments)).astype(np.int64),
                "arms": self._arms_seen,
                "shift": read.shift,
                "se": se,
                "low": read.shift - reach,
                "high": read.shift + reach,
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
            raise NotComparable(f"{a} and {b} cannot be compared: {strangers(self)}")
        mu, C = self._estimate.mu, self._estimate.covariance
        variance = float(C[i, i] + C[k, k] - 2.0 * C[i, k])
        freedom = float(self._estimate.freedom[i, k])
        return contrast(a, b, float(mu[i] - mu[k]), variance, freedom, self.level, self.adaptive)

    def gaps(self, a: Any, b: Any) -> Table:
        """Compare two arms in each environment that saw both: mean of `a` minus mean of `b` there.

        If one shift for all arms describes the data, all estimate the contrast. Columns: environment,
        estimate, se, low, high, in the order of the environments. The variances are those of `variance`;
        if that is "clustered", intervals are for the difference in that environment, and allow for the
        noise inside cells only.
        """
        i, k = self._position(a), self._position(b)
        if i == k:
            raise InputError(f"gaps need two different arms, not {a!r} twice")
        found = gaps_of(self.cells, self._solution, self.variance, i, k)
        se = np.sqrt(found.variance)
        reach = np.array([t_quantile(self.level, freedom) for freedom in found.freedom.tolist()]) * se
        return Table(
            {
                "environment": [self.cells.environments[j] for j in found.environment],
                "estimate": found.estimate,
                "se": se,
                "low": found.estimate - reach,
                "high": found.estimate + reach,
            }
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
        self._check_comparable()
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

    def __repr__(self) -> str:
        s = self._solution
        noise = f"sigma {rounded(self._sigma)} on {counted(self.freedom, 'degree')} of freedom"
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

    def _ranking(self) -> list[Any]:
        """Return all arms, the best first."""
        self._check_comparable()
        return [self.cells.arms[i] for i in self._ranked(self._groups[0])]

    def _check_comparable(self) -> None:
        if len(self.groups) > 1:
            raise NotComparable(strangers(self))

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
