"""Variance models of the noise, looked up by name, and the standard errors that follow from them.

A model is an entry of `MODELS`, in which estimates look up all that depends on the model; some models have
another entry in `AFTER_A_POLICY` for adaptive runs. The formulas are in `sandwich`, `clustered_units` and
`interaction_reml`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.pairs.adjusted_pairs import adjusted_pairs
from tideproof.stats.pairs.difference_pairs import WaldPairs, additive_pairs, posterior_covariance
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.pairs.unit_pairs import MOST_ARMS_BY_UNIT, additive_unit_pairs
from tideproof.stats.solve.adjusted_means import (
    MeansAndShifts,
    adjusted_means,
    environment_shifts,
    means_and_shifts,
)
from tideproof.stats.solve.least_squares import Solution, environment_components, meat
from tideproof.stats.solve.two_factor_means import adjusted_means_and_shifts
from tideproof.stats.variance import sandwich
from tideproof.stats.variance.cell_variances import variance_inside
from tideproof.stats.variance.interaction_reml import MixedModelFit, reml
from tideproof.stats.variance.sandwich import Pools
from tideproof.text import join_labels

Variance = Literal[
    "auto",
    "common",
    "by-arm",
    "by-environment",
    "sandwich",
    "clustered",
    "paired",
    "by-unit",
    "interaction",
    "interaction+by-arm",
    "interaction+by-environment",
    "own-interaction",
    "own-interaction+by-arm",
]

# Models with which all results are about environments like those observed.
ABOUT_SIMILAR: frozenset[Variance] = frozenset(
    name for name in get_args(Variance) if "interaction" in name or name in ("clustered", "paired")
)

FEWEST_DEGREES_OF_FREEDOM = 5  # Degrees of freedom that a variance needs to become a weight.


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated arm effects and shifts with covariances, degrees of freedom and tests of pairs of arms.

    Attributes
    ----------
    mu : (K,) arm effects muhat, up to a constant for each group of arms.
    covariance : (K, K) covariance of muhat.
    freedom : (K, K) degrees of freedom of each contrast.
    compute_means_and_shifts : function that returns `means_and_shifts`, the adjusted means and shifts with
        their variances; it is called once, and only if they are read.
    mean_freedom, shift_freedom : (K,) and (J,) degrees of freedom of each adjusted mean and shift.
    pairs : tests and confidence bounds for each pair of arms.
    component : (K,) connected group of each arm.
    mixed : fit of the interactions, under a model that has them; None otherwise.
    posterior : (K, K) covariance for the posterior distribution of the arm effects, where it is not
        `covariance`.
    """

    mu: Floats
    covariance: Floats
    freedom: Floats
    compute_means_and_shifts: Callable[[], MeansAndShifts]
    mean_freedom: Floats
    shift_freedom: Floats
    pairs: Pairs
    component: Ints
    mixed: MixedModelFit | None = None
    posterior: Floats | None = None

    def of_group(self, group: Ints) -> tuple[Floats, Floats]:
        """Return the covariance and the degrees of freedom of a group of arms."""
        return self.covariance[np.ix_(group, group)], self.freedom[np.ix_(group, group)]

    def error_of(self, i: int, k: int) -> tuple[float, float]:
        """Return the standard error of the difference of two arms, and its degrees of freedom."""
        C = self.covariance
        variance = float(C[i, i] + C[k, k] - 2.0 * C[i, k])
        return float(np.sqrt(np.maximum(variance, 0.0))), float(self.freedom[i, k])

    @cached_property
    def means_and_shifts(self) -> MeansAndShifts:
        """Adjusted arm means and environment shifts, with their variances."""
        return self.compute_means_and_shifts()


@dataclass(frozen=True, eq=False)
class PairedEstimate(Estimate):
    """Estimated arm effects, with lower limits for the standard errors of their differences."""

    least: Floats | None = None

    def error_of(self, i: int, k: int) -> tuple[float, float]:
        """Return the standard error of the difference of two arms, and its degrees of freedom."""
        se, freedom = super().error_of(i, k)
        return (se if self.least is None else max(se, float(self.least[i, k]))), freedom


class CellNoise(NamedTuple):
    """Noise variance of the mean reward of each cell (one arm in one environment), with degrees of freedom.

    All arrays are (C,).

    Attributes
    ----------
    variance : variance of the mean; NaN if it cannot be estimated.
    freedom : its degrees of freedom.
    source : index of the variance estimate it is based on; errors of two cells with one source are dependent.
    """

    variance: Floats
    freedom: Floats
    source: Ints


class VarianceModel(NamedTuple):
    """Variance model: an assumption about the noise, given by the functions that estimate under it.

    Attributes
    ----------
    estimate : (cells, least squares) -> arm effects and shifts with their covariances.
    cell_noise : (cells, least squares, estimate) -> variance of the mean of each cell, given its shift.
    pools : (cells) -> variances that serve as weights; None if all rewards have the same weight.
    """

    estimate: Callable[[Cells, Solution], Estimate]
    cell_noise: Callable[[Cells, Solution, Estimate], CellNoise]
    pools: Callable[[Cells], Pools] | None = None


class ComparisonCounts(NamedTuple):
    """Numbers of arms, environments and rewards that allow comparisons, in each group of comparable arms.

    All arrays are (groups,). Environments with a single arm are not counted, because they compare nothing.
    """

    arms: Ints
    environments: Ints
    rewards: Floats


def model_of(variance: Variance, adaptive: bool = False) -> VarianceModel:
    """Return the variance model called `variance`, or its variant for data from an adaptive policy.

    An adaptive policy may have stopped playing an arm early, so that the arm has too few rewards for its own
    variance.
    """
    if not isinstance(variance, str) or variance not in MODELS:
        allowed = ", ".join(map(repr, MODELS))
        raise InputError(f"variance must be one of {allowed}, not {variance!r}")
    return (AFTER_A_POLICY if adaptive else MODELS).get(variance, MODELS[variance])


def estimate(cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> Estimate:
    """Estimate arm effects and shifts under the named variance model, given the least-squares fit."""
    model = model_of(variance, adaptive)
    if not solution.freedom and variance not in ("auto", "common"):
        raise InputError(f"variance={variance!r} needs at least 1 residual degree of freedom; there are 0")
    return model.estimate(cells, solution)


def uniform_estimate(
    mu: Floats, covariance: Floats, adjusted: MeansAndShifts, freedom: float, pairs: Pairs, component: Ints
) -> Estimate:
    """Return an `Estimate` of arm effects and shifts that all have the same degrees of freedom."""
    K, J = mu.size, adjusted.shift.size
    both, of_arm, of_environment = np.full((K, K), freedom), np.full(K, freedom), np.full(J, freedom)
    return Estimate(mu, covariance, both, lambda: adjusted, of_arm, of_environment, pairs, component)


def sigma2(solution: Solution) -> float:
    """Return the estimated noise variance, assumed equal for all rewards; NaN for 0 degrees of freedom."""
    return solution.rss / solution.freedom if solution.freedom else np.nan


def comparison_counts(cells: Cells, solution: Solution) -> ComparisonCounts:
    """Count the arms, environments and rewards that allow comparisons, in each group of comparable arms."""
    component = solution.component[cells.arm]
    groups = int(solution.component.max()) + 1
    used = cells.compares[cells.environment]
    return ComparisonCounts(
        arms=np.bincount(solution.component, minlength=groups),
        environments=np.bincount(environment_components(solution, cells)[cells.compares], minlength=groups),
        rewards=sum_by_index(component[used], cells.n[used], groups),
    )


def _common(c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects with one noise variance for all rewards."""
    one = sigma2(s)
    if c.slope is not None:  # The slope of covariates is an estimate, too.
        s = s._replace(P=s.P + c.slope.loose)
    return _estimate(
        c, s, one * s.P, partial(_common_means_and_shifts, c, s), _residual_degrees_of_freedom(c, s)
    )


def _common_means_and_shifts(c: Cells, s: Solution) -> MeansAndShifts:
    """Return adjusted means and shifts with their variances, assuming one noise variance for all rewards."""
    one = sigma2(s)
    mean, mean_variance = adjusted_means(s, c)
    shift, shift_variance = environment_shifts(s, c)
    return MeansAndShifts(mean, one * mean_variance, shift, one * shift_variance)


def _common_cells(c: Cells, s: Solution, _: Estimate) -> CellNoise:
    """Return the variances of arm-by-environment means, assuming one noise variance for all rewards."""
    return _one_source(sigma2(s) / c.n, np.full(c.n.size, float(s.freedom)))


def _sandwich(c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects with the HC3 sandwich estimator: every reward may have its own variance.

    It costs a few degrees of freedom. Environments with a single arm do not count.
    """
    q = sandwich.hc3(s, c)
    unchecked = np.flatnonzero(np.isnan(q) & c.compares[c.environment])
    if unchecked.size:
        i, j = c.arm[unchecked[0]], c.environment[unchecked[0]]
        raise InputError(
            f"variance='sandwich' cannot estimate the variance of {c.arms[i]} in {c.environments[j]}: the "
            f"model fits its single reward exactly, whatever the reward is; use variance='common'"
        )
    q = np.where(np.isnan(q), sigma2(s), q)  # For a single reward alone in its environment.
    C = s.P @ meat(c, q) @ s.P
    return _estimate(c, s, C, partial(means_and_shifts, s, C, c, q / c.n**2), _sandwich_freedom(c, s))


def _sandwich_cells(c: Cells, s: Solution, _: Estimate) -> CellNoise:
    """Return the HC3 estimates of the variances of arm-by-environment means."""
    return _one_source(sandwich.hc3(s, c) / c.n**2, _sandwich_freedom(c, s)[c.arm])


def _sandwich_freedom(c: Cells, s: Solution) -> Floats:
    """Return, for each arm, the residual degrees of freedom of its group of comparable arms: (K,).

    They are N - K - J + 1 for N rewards of K arms in J environments. Environments with a single arm do not
    count.
    """
    known = comparison_counts(c, s)
    return _by_group(s, known.rewards - known.environments - (known.arms - 1.0))


def _clustered(c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects with errors clustered by environment: shifts may differ randomly between arms.

    CRV1 has the small-sample factors J/(J - 1) and (N - 1)/(N - K), with K the number of arms (Cameron,
    Miller 2015; shifts are nested in the clusters and not counted), and J - 1 degrees of freedom. All counts
    are those of the arm's group, without environments with a single arm, whose scores are always 0.
    """
    known = comparison_counts(c, s)
    J, N, K = known.environments.astype(float), known.rewards, known.arms
    few = np.flatnonzero((K > 1) & (J < 2.0))
    if few.size:
        names = join_labels(c.arms[i] for i in np.flatnonzero(s.component == few[0]))
        raise InputError(
            f"variance='clustered' needs at least two environments with two arms or more; the group of arms "
            f"{names} has only 1 such environment; use variance='sandwich'"
        )
    factor = J / (J - 1.0) * (N - 1.0) / (N - K)  # It is 0 for an arm alone.
    C = factor[s.component] * (s.P @ sandwich.environment_scores(s, c) @ s.P)
    return _estimate(c, s, C, partial(means_and_shifts, s, C, c, sigma2(s) / c.n), _by_group(s, J - 1.0))


def _clustered_cells(c: Cells, s: Solution, _: Estimate) -> CellNoise:
    """Return the part of the variances of arm-by-environment means that is due to noise alone.

    Differences of shifts between arms are not an error of a cell's mean.
    """
    inside = float(np.sum(c.n - 1.0))
    one = float(np.sum(c.squares)) / inside if inside else np.nan
    return _one_source(one / c.n, np.full(c.n.size, inside))


def _paired(c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects with standard errors that allow for dependent rewards inside clusters."""
    from tideproof.stats.variance.paired_clusters import PairedClusters, means_of

    found = PairedClusters.of(c, s)
    read = partial(means_of, found, c, s)
    plain = _estimate(c, s, found.covariance, read, found.freedom)
    pairs = WaldPairs(s.mu, found.covariance, plain.freedom, found.least)
    kept = {each.name: getattr(plain, each.name) for each in fields(plain)}
    return PairedEstimate(**kept | {"pairs": pairs}, least=found.least)


def _by_unit(c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects with errors clustered by unit: rewards of a unit may depend on each other."""
    if c.units is None:
        raise InputError("variance='by-unit' needs a column of units: name it by unit= (--unit)")
    c.check_one_way("variance='by-unit'")
    if not c.dependent:
        return _measured(c, s)
    pairs = additive_unit_pairs(c, s)
    read = partial(_measured_means_and_shifts, c, s, pairs)
    found = _estimate(c, s, pairs.covariance, read, _residual_degrees_of_freedom(c, s))
    few_arms = c.K <= MOST_ARMS_BY_UNIT
    tests = pairs if few_arms else WaldPairs(s.mu, pairs.covariance, pairs.freedom)
    return with_unit_freedom(replace(found, pairs=pairs), c, tests)


def with_unit_freedom(found: Estimate, c: Cells, tests: Pairs | None = None) -> Estimate:
    """Set an estimate's degrees of freedom to those of tests by unit, unless rewards are independent.

    `tests` replaces the tests of pairs of arms.
    """
    pairs: Any = found.pairs
    if not c.dependent:
        return found
    freedom = pairs.freedom
    others = (found.component[:, None] == found.component) & ~np.eye(c.K, dtype=bool)
    of_arm = np.where(others, freedom, np.inf).min(axis=1)
    of_arm = np.where(np.isfinite(of_arm), of_arm, found.mean_freedom)
    of_environment = _by_environment(c, of_arm)
    return replace(
        found, freedom=freedom, mean_freedom=of_arm, shift_freedom=of_environment, pairs=tests or pairs
    )


def _interacting(pool: Callable[[Cells], Pools] | None, own: bool, c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects with random arm x environment interactions; without them if none are found."""
    found = reml(c, s, None if pool is None else pool(c), own=own)
    if found.none:
        return replace(_common(c, s) if pool is None else _weighted(pool, c, s), mixed=found)
    mu, C, freedom = found.solution.mu, found.covariance, found.freedom
    read = partial(means_and_shifts, found.solution, C, found.cells, 1.0 / found.cells.weight)
    of_arm = freedom.min(axis=1)
    of_arm = np.where(np.isfinite(of_arm), of_arm, float(s.freedom))
    pairs = WaldPairs(mu, C, freedom)
    return Estimate(mu, C, freedom, read, of_arm, _by_environment(c, of_arm), pairs, s.component, found)


def _interacting_model(pool: Callable[[Cells], Pools] | None = None, own: bool = False) -> VarianceModel:
    """Return a variance model with random interactions of arms and environments.

    Given `pool`, the noise variances are unequal, too.

    `pool` groups the cells that share a noise variance. `own` gives every arm its own interaction variance.
    """
    cell_noise = _clustered_cells if pool is None else partial(_weighted_cells, pool)
    return VarianceModel(partial(_interacting, pool, own), cell_noise, pool)


def _one_source(variance: Floats, freedom: Floats) -> CellNoise:
    """Return noise variances of arm-by-environment means, marked as derived from a single estimate.

    Their errors are therefore dependent.
    """
    return CellNoise(variance, freedom, np.zeros(variance.size, np.int64))


def _by_group(s: Solution, freedom: Floats) -> Floats:
    """Return each arm's degrees of freedom, those of its group of comparable arms.

    An arm without a group has the residual degrees of freedom of the fit.
    """
    return np.where(s.group > 0, freedom[s.component], float(s.freedom))


def _estimate(
    c: Cells, s: Solution, C: Floats, read: Callable[[], MeansAndShifts], freedom: Floats
) -> Estimate:
    """Return an `Estimate` in which comparable arms have the same degrees of freedom."""
    both = np.minimum(freedom[:, None], freedom)
    pairs = WaldPairs(s.mu, C, both)
    return Estimate(s.mu, C, both, read, freedom, _by_environment(c, freedom), pairs, s.component)


def _by_environment(c: Cells, of_arm: Floats) -> Floats:
    """Return the degrees of freedom of each environment, taken from its arms: (J,).

    They are 0 for an environment without arms.
    """
    found = np.zeros(c.J)
    found[c.environment] = of_arm[c.arm]
    return found


def _weighted(pool: Callable[[Cells], Pools], c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects by least squares, weighted by inverse noise variances of arms or environments."""
    found = sandwich.weighted_fit(c, pool(c))
    mu, C = found.solution.mu, found.covariance
    read = partial(means_and_shifts, found.solution, C, found.cells, 1.0 / found.cells.weight)
    inside = np.full(c.K, float(np.sum(c.n - 1.0)))
    pairs = WaldPairs(mu, C, found.freedom)
    return Estimate(mu, C, found.freedom, read, inside, _by_environment(c, inside), pairs, s.component)


def _weighted_cells(pool: Callable[[Cells], Pools], c: Cells, s: Solution, _: Estimate) -> CellNoise:
    """Return the variance of each arm-by-environment mean, from the noise variance of its pool of data."""
    pooled = pool(c)
    return CellNoise(pooled.variance[pooled.of] / c.n, pooled.freedom[pooled.of], pooled.of)


def _pooled_by_arm(c: Cells) -> Pools:
    """Pool the data of each arm to estimate its noise variance."""
    return _pooled("by-arm", c, c.arm, c.arms, c.counts > 0.0)


def _pooled_by_arm_or_together(c: Cells) -> Pools:
    """Pool the data of each arm to estimate its noise variance; all arms with few rewards share one pool."""
    freedom = sum_by_index(c.arm, c.n - 1.0, c.K)
    seen = np.flatnonzero(c.counts > 0.0)
    order = seen[np.argsort(freedom[seen], kind="stable")]
    enough = int(np.argmax(np.cumsum(freedom[order]) >= FEWEST_DEGREES_OF_FREEDOM)) + 1
    few = order[: max(enough, np.count_nonzero(freedom[order] < FEWEST_DEGREES_OF_FREEDOM))]
    pool = np.arange(c.K)
    if freedom[order[0]] < FEWEST_DEGREES_OF_FREEDOM:
        pool[few] = few[0]
    needed = np.zeros(c.K, bool)
    needed[pool[seen]] = True
    return _pooled("by-arm", c, pool[c.arm], c.arms, needed)


def _pooled_by_environment(c: Cells) -> Pools:
    """Pool the data of each environment to estimate its noise variance.

    An environment with a single arm needs no variance of its own, because it compares nothing.
    """
    return _pooled("by-environment", c, c.environment, c.environments, c.compares)


def _pooled(model: str, c: Cells, of: Ints, names: list[Any], needed: NDArray[np.bool_]) -> Pools:
    """Estimate the noise variance of each pool of data, such as the data of one arm.

    A pool without a positive noise variance gets the overall one.
    """
    inside, freedom = variance_inside(c, of, len(names))
    _check_pools(model, names, needed, inside, freedom)
    all_freedom = np.sum(c.n - 1.0)
    vague = ~(inside > 0.0)
    overall = float(np.sum(c.squares) / all_freedom)
    return Pools(of, np.where(vague, overall, inside), np.where(vague, all_freedom, freedom))


def _check_pools(
    variance: str, names: list[Any], needed: NDArray[np.bool_], inside: Floats, freedom: Floats
) -> None:
    """Raise `InputError` if the noise variance of a pool of data is 0 or has too few degrees of freedom."""
    few = np.flatnonzero(needed & (freedom < FEWEST_DEGREES_OF_FREEDOM))
    if few.size:
        raise InputError(
            f"variance={variance!r} needs at least {FEWEST_DEGREES_OF_FREEDOM} degrees of freedom (rewards "
            f"minus cells) for each {variance.removeprefix('by-')}; {names[few[0]]} has "
            f"{freedom[few[0]]:.0f}; use variance='sandwich'"
        )
    still = np.flatnonzero(needed & (inside == 0.0))
    if still.size:
        raise InputError(
            f"variance={variance!r} cannot estimate the variance of {names[still[0]]}: its rewards never "
            f"vary within a cell (one arm in one environment); use variance='sandwich'"
        )


def _weighting(pool: Callable[[Cells], Pools]) -> VarianceModel:
    """Return a variance model that weights rewards by inverse noise variances, estimated in pools of data."""
    return VarianceModel(partial(_weighted, pool), partial(_weighted_cells, pool), pool)


def _measured(c: Cells, s: Solution, adaptive: bool = False) -> Estimate:
    """Estimate arm effects, with variances implied by the means for 0/1 rewards, and measured otherwise."""
    if c.factors is not None or c.slope is not None:
        return _adjusted(c, s)
    pairs = additive_pairs(c, s, adaptive=adaptive)
    read = partial(_measured_means_and_shifts, c, s, pairs)
    found = _estimate(c, s, pairs.covariance, read, _residual_degrees_of_freedom(c, s))
    return replace(found, pairs=pairs, posterior=posterior_covariance(pairs, s) if adaptive else None)


def _adjusted(c: Cells, s: Solution) -> Estimate:
    """Estimate arm effects with measured noise variances, for logs with covariates or two factors."""
    pairs = adjusted_pairs(c, s)
    scale = pairs.adjusted

    def read() -> MeansAndShifts:
        """Return adjusted means and shifts, with variances that follow from the noise of each cell."""
        found = adjusted_means_and_shifts(c, s, scale.estimators, pairs.covariance, pairs.variance)
        return found._replace(steady=found.mean + scale.steady - s.mu)

    return replace(_estimate(c, s, pairs.covariance, read, _residual_degrees_of_freedom(c, s)), pairs=pairs)


def _measured_means_and_shifts(c: Cells, s: Solution, pairs: PairTests) -> MeansAndShifts:
    """Return adjusted means and shifts, with variances that follow from the fitted variances of rewards."""
    scale: Any = pairs.scale
    found = means_and_shifts(s, pairs.covariance, c, pairs.variance / c.n)
    return found._replace(steady=found.mean + scale.steady - s.mu)


def _measured_cells(c: Cells, s: Solution, found: Estimate) -> CellNoise:
    """Return the variances of arm-by-environment means that follow from the fitted variances of rewards."""
    pairs: Any = found.pairs
    return _one_source(pairs.variance / c.n, np.full(c.n.size, float(s.freedom)))


def _residual_degrees_of_freedom(c: Cells, s: Solution) -> Floats:
    """Return, for each arm, the residual degrees of freedom of the whole fit: (K,)."""
    return np.full(c.K, float(s.freedom))


MODELS: dict[Variance, VarianceModel] = {
    "auto": VarianceModel(_measured, _measured_cells),
    "common": VarianceModel(_common, _common_cells),
    "by-arm": _weighting(_pooled_by_arm),
    "by-environment": _weighting(_pooled_by_environment),
    "sandwich": VarianceModel(_sandwich, _sandwich_cells),
    "clustered": VarianceModel(_clustered, _clustered_cells),
    "paired": VarianceModel(_paired, _clustered_cells),
    "by-unit": VarianceModel(_by_unit, _clustered_cells),
    "interaction": _interacting_model(),
    "interaction+by-arm": _interacting_model(_pooled_by_arm),
    "interaction+by-environment": _interacting_model(_pooled_by_environment),
    "own-interaction": _interacting_model(own=True),
    "own-interaction+by-arm": _interacting_model(_pooled_by_arm, own=True),
}

AFTER_A_POLICY: dict[Variance, VarianceModel] = {
    "auto": VarianceModel(partial(_measured, adaptive=True), _measured_cells),
    "by-arm": _weighting(_pooled_by_arm_or_together),
    "interaction+by-arm": _interacting_model(_pooled_by_arm_or_together),
    "own-interaction+by-arm": _interacting_model(_pooled_by_arm_or_together, own=True),
}
