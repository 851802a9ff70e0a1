"""What is assumed of the noise, and the standard errors that follow.

A model is an entry of `MODELS`; whatever depends on the model asks it there. The formulas are in `weighting`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.comparisons_with_best import Pairs
from tideproof.stats.cells import Cells, sums
from tideproof.stats.pairs.difference_pairs import additive_pairs
from tideproof.stats.pairs.wald_pairs import Wald
from tideproof.stats.solve.adjusted_means import Readout, adjusted, read_out, shifts
from tideproof.stats.solve.least_squares import Solution, home
from tideproof.stats.variance import sandwich
from tideproof.stats.variance.clustered_units import by_unit
from tideproof.stats.variance.interaction_reml import Mixed, reml
from tideproof.stats.variance.sandwich import Pools
from tideproof.text import join_names

Variance = Literal[
    "auto",
    "common",
    "by-arm",
    "by-environment",
    "robust",
    "clustered",
    "by-unit",
    "interaction",
    "interaction+by-arm",
    "interaction+by-environment",
    "own-interaction",
    "own-interaction+by-arm",
]

FEWEST = 5  # degrees of freedom of a variance that may become a weight


class Estimate(NamedTuple):
    """Arms, shifts and how well they are known.

    Attributes
    ----------
    mu : (K,) muhat, up to a constant for each group of arms.
    covariance : (K, K) of muhat.
    freedom : (K, K) degrees of freedom of each contrast.
    readout : adjusted means and shifts with their variances.
    mean_freedom, shift_freedom : (K,) and (J,) degrees of freedom of each adjusted mean and shift.
    pairs : tests and limits of each arm against each.
    component : (K,) which connected group of arms each belongs to.
    mixed : what is known of interactions of arm and environment, under a model that has them.
    """

    mu: Floats
    covariance: Floats
    freedom: Floats
    readout: Readout
    mean_freedom: Floats
    shift_freedom: Floats
    pairs: Pairs
    component: Ints
    mixed: Mixed | None = None


class CellNoise(NamedTuple):
    """How well the mean of each cell is known, all arrays (C,).

    Attributes
    ----------
    variance : of the mean; NaN where nothing tells.
    freedom : degrees of freedom behind it.
    source : which estimate of the noise it rests on; two cells of one source do not err independently.
    """

    variance: Floats
    freedom: Floats
    source: Ints


class Model(NamedTuple):
    """An assumption on the noise.

    Attributes
    ----------
    estimate : (cells, least squares) -> arms, shifts and how well they are known.
    cell_noise : (cells, least squares, estimate) -> how well the mean of each cell is known, its shift given.
    pools : (cells) -> variances that serve as weights; None where all rewards weigh the same.
    """

    estimate: Callable[[Cells, Solution], Estimate]
    cell_noise: Callable[[Cells, Solution, Estimate], CellNoise]
    pools: Callable[[Cells], Pools] | None = None


class Evidence(NamedTuple):
    """What there is to compare arms by, group by group of connected arms: (groups,) each.

    Environments with a single arm are left out: they compare nothing, however many there are.
    """

    arms: Ints
    environments: Ints
    rewards: Floats


def model_of(variance: Variance, adaptive: bool = False) -> Model:
    """Return the model of that name; after an `adaptive` policy, which may have given arms up early."""
    if not isinstance(variance, str) or variance not in MODELS:
        allowed = ", ".join(map(repr, MODELS))
        raise InputError(f"variance must be one of {allowed}, not {variance!r}")
    return (AFTER_A_POLICY if adaptive else MODELS).get(variance, MODELS[variance])


def estimate(cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> Estimate:
    """Estimate under the assumption named by `variance`; `solution` is that of least squares."""
    model = model_of(variance, adaptive)
    if not solution.freedom and variance not in ("auto", "common"):
        raise InputError(f"variance={variance!r} needs a degree of freedom; there is none")
    return model.estimate(cells, solution)


def uniform(
    mu: Floats, covariance: Floats, readout: Readout, freedom: float, pairs: Pairs, component: Ints
) -> Estimate:
    """Put an estimate together in which everything has the same degrees of freedom."""
    K, J = mu.size, readout.shift.size
    both, of_arm, of_place = np.full((K, K), freedom), np.full(K, freedom), np.full(J, freedom)
    return Estimate(mu, covariance, both, readout, of_arm, of_place, pairs, component)


def sigma2(solution: Solution) -> float:
    """Return the variance of the noise if it is the same everywhere; NaN without a degree of freedom."""
    return solution.rss / solution.freedom if solution.freedom else np.nan


def evidence(cells: Cells, solution: Solution) -> Evidence:
    """Count what there is to compare the arms of each group by."""
    component = solution.component[cells.arm]
    groups = int(solution.component.max()) + 1
    used = cells.compares[cells.environment]
    return Evidence(
        arms=np.bincount(solution.component, minlength=groups),
        environments=np.bincount(home(solution, cells)[cells.compares], minlength=groups),
        rewards=sums(component[used], cells.n[used], groups),
    )


def _common(c: Cells, s: Solution) -> Estimate:
    one = sigma2(s)
    if c.slope is not None:  # the slope of covariates is an estimate, too
        s = s._replace(P=s.P + c.slope.loose)
    mean, mean_variance = adjusted(s, c)
    shift, shift_variance = shifts(s, c)
    readout = Readout(mean, one * mean_variance, shift, one * shift_variance)
    return _estimate(c, s, one * s.P, readout, _full(c, s))


def _common_cells(c: Cells, s: Solution, _: Estimate) -> CellNoise:
    return _one_source(sigma2(s) / c.n, np.full(c.n.size, float(s.freedom)))


def _robust(c: Cells, s: Solution) -> Estimate:
    """Sandwich with HC3: any variance for any reward, at the price of a few degrees of freedom.

    How much rewards vary in environments with a single arm says nothing of the others.
    """
    q = sandwich.hc3(s, c)
    unchecked = np.flatnonzero(np.isnan(q) & c.compares[c.environment])
    if unchecked.size:
        i, j = c.arm[unchecked[0]], c.environment[unchecked[0]]
        raise InputError(
            f"variance='robust' cannot know how much {c.arms[i]} varies in {c.environments[j]}: a single "
            f"reward, which no other checks; use variance='common'"
        )
    q = np.where(np.isnan(q), sigma2(s), q)  # one reward, alone in its environment
    C = s.P @ sandwich.meat(c, q) @ s.P
    return _estimate(c, s, C, read_out(s, C, c, q / c.n**2), _robust_freedom(c, s))


def _robust_cells(c: Cells, s: Solution, _: Estimate) -> CellNoise:
    return _one_source(sandwich.hc3(s, c) / c.n**2, _robust_freedom(c, s)[c.arm])


def _robust_freedom(c: Cells, s: Solution) -> Floats:
    """Return N - K - J + 1 of each arm's group, of environments that compare: (K,)."""
    known = evidence(c, s)
    return _by_group(s, known.rewards - known.environments - (known.arms - 1.0))


def _clustered(c: Cells, s: Solution) -> Estimate:
    """Sandwich with one score an environment: shifts may differ between arms, at random.

    CRV1 with the small-sample factors J/(J - 1) and (N - 1)/(N - K), K the number of arms (Cameron,
    Miller 2015; shifts are nested in the clusters and not counted), and J - 1 degrees of freedom: all of
    the arm's group, environments with a single arm not counted. Their scores are 0 whatever is true.
    """
    known = evidence(c, s)
    J, N, K = known.environments.astype(float), known.rewards, known.arms
    few = np.flatnonzero((K > 1) & (J < 2.0))
    if few.size:
        names = join_names(c.arms[i] for i in np.flatnonzero(s.component == few[0]))
        raise InputError(
            f"variance='clustered' needs at least two environments with two arms or more; {names} have one; "
            f"use variance='robust'"
        )
    factor = J / (J - 1.0) * (N - 1.0) / (N - K)  # 0 for an arm alone
    C = factor[s.component] * (s.P @ sandwich.scores(s, c) @ s.P)
    return _estimate(c, s, C, read_out(s, C, c, sigma2(s) / c.n), _by_group(s, J - 1.0))


def _clustered_cells(c: Cells, s: Solution, _: Estimate) -> CellNoise:
    """Take the noise inside cells: how much shifts differ between arms is no error of a cell's mean."""
    inside = float(np.sum(c.n - 1.0))
    one = float(np.sum(c.squares)) / inside if inside else np.nan
    return _one_source(one / c.n, np.full(c.n.size, inside))


def _by_unit(c: Cells, s: Solution) -> Estimate:
    """Sandwich with one score a unit: rewards of a unit may depend on each other, in all environments."""
    C, freedom = by_unit(c, s)
    return _estimate(c, s, C, read_out(s, C, c, sigma2(s) / c.n), freedom)


def _interacting(pool: Callable[[Cells], Pools] | None, own: bool, c: Cells, s: Solution) -> Estimate:
    """Fit interactions of arm and environment; if none show, this is the fit without them."""
    found = reml(c, s, None if pool is None else pool(c), own=own)
    if found.none:
        return (_common(c, s) if pool is None else _weighted(pool, c, s))._replace(mixed=found)
    mu, C, freedom = found.solution.mu, found.covariance, found.freedom
    readout = read_out(found.solution, C, found.cells, 1.0 / found.cells.weight)
    of_arm = freedom.min(axis=1)
    of_arm = np.where(np.isfinite(of_arm), of_arm, float(s.freedom))
    pairs = Wald(mu, C, freedom)
    return Estimate(mu, C, freedom, readout, of_arm, _there(c, of_arm), pairs, s.component, found)


def _interacting_model(pool: Callable[[Cells], Pools] | None = None, own: bool = False) -> Model:
    cell_noise = _clustered_cells if pool is None else partial(_weighted_cells, pool)
    return Model(partial(_interacting, pool, own), cell_noise, pool)


def _one_source(variance: Floats, freedom: Floats) -> CellNoise:
    return CellNoise(variance, freedom, np.zeros(variance.size, np.int64))


def _by_group(s: Solution, freedom: Floats) -> Floats:
    """Give each arm the degrees of freedom of its group; an arm alone, those of the common noise."""
    return np.where(s.group > 0, freedom[s.component], float(s.freedom))


def _estimate(c: Cells, s: Solution, C: Floats, readout: Readout, freedom: Floats) -> Estimate:
    """Put an estimate together in which all of an arm's group has the same degrees of freedom."""
    both = np.minimum(freedom[:, None], freedom)
    pairs = Wald(s.mu, C, both)
    return Estimate(s.mu, C, both, readout, freedom, _there(c, freedom), pairs, s.component)


def _there(c: Cells, of_arm: Floats) -> Floats:
    """Give each environment what all the arms seen in it have; 0 if there are none."""
    found = np.zeros(c.J)
    found[c.environment] = of_arm[c.arm]
    return found


def _weighted(pool: Callable[[Cells], Pools], c: Cells, s: Solution) -> Estimate:
    """Least squares weighted by variances that are measured inside the cells of each arm or environment."""
    found = sandwich.weighted(c, pool(c))
    mu, C = found.solution.mu, found.covariance
    readout = read_out(found.solution, C, found.cells, 1.0 / found.cells.weight)
    inside = np.full(c.K, float(np.sum(c.n - 1.0)))
    pairs = Wald(mu, C, found.freedom)
    return Estimate(mu, C, found.freedom, readout, inside, _there(c, inside), pairs, s.component)


def _weighted_cells(pool: Callable[[Cells], Pools], c: Cells, s: Solution, _: Estimate) -> CellNoise:
    pooled = pool(c)
    return CellNoise(pooled.variance[pooled.of] / c.n, pooled.freedom[pooled.of], pooled.of)


def _pooled_by_arm(c: Cells) -> Pools:
    return _pooled("by-arm", c, c.arm, c.arms, c.counts > 0.0)


def _pooled_by_arm_or_together(c: Cells) -> Pools:
    """Pool the cells of each arm; arms that were given up early, with too few rewards to tell, together."""
    freedom = sums(c.arm, c.n - 1.0, c.K)
    seen = np.flatnonzero(c.counts > 0.0)
    order = seen[np.argsort(freedom[seen], kind="stable")]
    enough = int(np.argmax(np.cumsum(freedom[order]) >= FEWEST)) + 1
    few = order[: max(enough, np.count_nonzero(freedom[order] < FEWEST))]
    pool = np.arange(c.K)
    if freedom[order[0]] < FEWEST:
        pool[few] = few[0]
    needed = np.zeros(c.K, bool)
    needed[pool[seen]] = True
    return _pooled("by-arm", c, pool[c.arm], c.arms, needed)


def _pooled_by_environment(c: Cells) -> Pools:
    """Pool the cells of each environment; one with a single arm compares nothing: any weight will do."""
    return _pooled("by-environment", c, c.environment, c.environments, c.compares)


def _pooled(model: str, c: Cells, of: Ints, names: list[Any], needed: NDArray[np.bool_]) -> Pools:
    inside, freedom = variance_inside(c, of, len(names))
    _check_pools(model, names, needed, inside, freedom)
    all_freedom = np.sum(c.n - 1.0)
    vague = ~(inside > 0.0)
    overall = float(np.sum(c.squares) / all_freedom)
    return Pools(of, np.where(vague, overall, inside), np.where(vague, all_freedom, freedom))


def variance_inside(c: Cells, of: Ints, labels: int) -> tuple[Floats, Floats]:
    """Return the variance inside the cells of each label, and its degrees of freedom: (labels,) both."""
    freedom = sums(of, c.n - 1.0, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums(of, c.squares, labels) / freedom, freedom


def _check_pools(
    variance: str, names: list[Any], needed: NDArray[np.bool_], inside: Floats, freedom: Floats
) -> None:
    few = np.flatnonzero(needed & (freedom < FEWEST))
    if few.size:
        raise InputError(
            f"variance={variance!r} needs at least {FEWEST} degrees of freedom inside the cells of each; "
            f"{names[few[0]]} has {freedom[few[0]]:.0f}; use variance='robust'"
        )
    still = np.flatnonzero(needed & (inside == 0.0))
    if still.size:
        raise InputError(
            f"variance={variance!r} would trust {names[still[0]]} without limit: its rewards never vary "
            f"inside a cell; use variance='robust'"
        )


def _weighting(pool: Callable[[Cells], Pools]) -> Model:
    return Model(partial(_weighted, pool), partial(_weighted_cells, pool), pool)


def _measured(c: Cells, s: Solution) -> Estimate:
    """Variances as they are found: those of 0/1 rewards from their means, others measured in the cells."""
    pairs = additive_pairs(c, s)
    scale: Any = pairs.scale
    readout = read_out(s, pairs.covariance, c, pairs.variance / c.n)
    readout = readout._replace(steady=readout.mean + scale.steady - s.mu)
    return _estimate(c, s, pairs.covariance, readout, _full(c, s))._replace(pairs=pairs)


def _measured_cells(c: Cells, s: Solution, found: Estimate) -> CellNoise:
    pairs: Any = found.pairs
    return _one_source(pairs.variance / c.n, np.full(c.n.size, float(s.freedom)))


def _full(c: Cells, s: Solution) -> Floats:
    return np.full(c.K, float(s.freedom))


MODELS: dict[Variance, Model] = {
    "auto": Model(_measured, _measured_cells),
    "common": Model(_common, _common_cells),
    "by-arm": _weighting(_pooled_by_arm),
    "by-environment": _weighting(_pooled_by_environment),
    "robust": Model(_robust, _robust_cells),
    "clustered": Model(_clustered, _clustered_cells),
    "by-unit": Model(_by_unit, _clustered_cells),
    "interaction": _interacting_model(),
    "interaction+by-arm": _interacting_model(_pooled_by_arm),
    "interaction+by-environment": _interacting_model(_pooled_by_environment),
    "own-interaction": _interacting_model(own=True),
    "own-interaction+by-arm": _interacting_model(_pooled_by_arm, own=True),
}

AFTER_A_POLICY: dict[Variance, Model] = {
    "by-arm": _weighting(_pooled_by_arm_or_together),
    "interaction+by-arm": _interacting_model(_pooled_by_arm_or_together),
    "own-interaction+by-arm": _interacting_model(_pooled_by_arm_or_together, own=True),
}
