"""Simulate the policy LinLUCB, and compute the distribution of its estimates.

A policy that uses rewards makes its design (the pulls of each arm in each environment) depend on the noise.
The guarantees of least squares assume a fixed design and may then fail. Each distribution is therefore
compared with that on one of the same designs, held fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.policies.policy_registry import policy
from tideproof.research.paper.dummy_regression import dummies
from tideproof.research.paper.growing_designs import count_pulls
from tideproof.research.paper.panels import REDUCTION, panels
from tideproof.table import Table
from tideproof.worlds import World

RUNS = 100_000
DRAWN = 100_000  # most draws of the noise on a fixed design; ten for each replication if that is fewer
AT_ONCE = 10_000  # runs or draws that are simulated together, to bound memory
PULLS = 100  # pulls of a run
INITIAL = 6  # pulls of each arm in the initialisation of LinLUCB
PLACES = ("during the initialisation", "across the end of the initialisation", "after the initialisation")
SAME_ARM_TWICE, SINGLE_ARM, OTHER_PULLS = (
    "first two pulls of the same arm",
    "only one arm",
    "different pulls with a larger budget",
)
BIAS, NORMAL = "bias", "distance from the normal distribution"
FIXED = f"{NORMAL}, fixed design"
SHAPE = f"{NORMAL}, standardized by mean and standard deviation over runs"


def linlucb_statistics(seed: int, replications: int) -> Table:
    """Return statistics of the estimates and the first pulls of the policy LinLUCB, in four worlds.

    A run has 100 pulls. `bias` is the average error of an arm minus the best arm. The distance from normal is
    the Kolmogorov distance between that error over its standard deviation (sigma known) and the standard
    normal. It is computed again after the errors are centred and scaled to variance one over runs, so that
    only the shape matters. The other rows are shares of runs.
    """
    rows: list[tuple[Any, ...]] = []
    runs = min(replications, RUNS)
    for name in REDUCTION:
        world = panels()[name].world
        error, scale, alike, alone, first = _simulate_runs(world, seed, runs)
        drawn = min(10 * replications, DRAWN)
        fixed = fixed_design_errors(first, world.means, seed, drawn)
        best = int(np.argmax(world.means))
        for arm in (arm for arm in range(world.arms) if arm != best):
            where = f"arm {arm + 1} minus arm {best + 1}"
            stderr = error[:, arm].std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan
            standard = error[:, arm] / scale[:, arm]
            shape = (standard - standard.mean()) / standard.std()
            rows += [
                (name, BIAS, where, error[:, arm].mean(), stderr, runs),
                (name, NORMAL, where, _kolmogorov_distance(standard), None, runs),
                (name, SHAPE, where, _kolmogorov_distance(shape), None, runs),
                (name, FIXED, where, _kolmogorov_distance(fixed[:, arm]), None, drawn),
            ]
        for quantity, seen in ((SAME_ARM_TWICE, alike), (SINGLE_ARM, alone)):
            rows += [
                (name, quantity, where, share, None, runs)
                for where, share in zip(PLACES, seen.mean(axis=0), strict=True)
            ]
        rows.append(
            (
                name,
                OTHER_PULLS,
                f"{PULLS} of {PULLS} and of {2 * PULLS}",
                *_share_with_other_pulls(world, seed, runs),
            )
        )
    columns = ("panel", "quantity", "where", "value", "stderr", "runs")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _simulate_runs(world: World, seed: int, runs: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Simulate the policy LinLUCB, and return how far its estimates are from the truth.

    The first two results are the errors of the estimated differences between each arm and the best one, and
    their standard deviations. Then follows how environments began. The last result is the design of the first
    run.
    """
    spec = policy("linlucb")
    loop, K = compiled_loop(spec, trace=True), world.arms
    best = int(np.argmax(world.means))
    truth = np.array(world.means) - world.means[best]
    error, scale = np.zeros((runs, K)), np.ones((runs, K))
    trace, memory = empty_trace(PULLS, K), spec.memory(K)
    fit = memory.view.data.fit
    seen: list[tuple[Floats, Floats]] = []
    first = np.zeros((0, K))
    for start in range(0, runs, AT_ONCE):
        count = min(AT_ONCE, runs - start)
        arms, environments = np.zeros((count, PULLS), int), np.zeros((count, PULLS), int)
        for at in range(count):
            run = start + at
            run_loop(loop, spec, world, [PULLS], seed, run, 1, trace, memory)
            variance = fit.P.diagonal() + fit.P[best, best] - 2.0 * fit.P[:, best]
            error[run] = fit.mu - fit.mu[best] - truth
            scale[run] = np.sqrt(np.where(variance > 0.0, variance, 1.0))
            arms[at], environments[at] = trace.arm, trace.environment
        seen.append(environment_starts(arms, environments, K))
        if start == 0:
            first = count_pulls(environments[0], arms[0], K)
    alike, alone = (np.vstack(each) for each in zip(*seen, strict=True))
    return error, scale, alike, alone, first


def environment_starts(arm: Ints, environment: Ints, arms: int) -> tuple[Floats, Floats]:
    """Return in which runs some environment began with two pulls of the same arm.

    The second array returned says in which runs some environment contained only one arm. Both results are
    (runs, 3) arrays that are 1 where this happened at least once and 0 otherwise. Their columns are the
    phases of a run: during the initialisation, across its end, and after it. `arm` and `environment` have a
    row for each run. The last environment is not complete, so the second array ignores it.
    """
    steps = arm.shape[1]
    enough = [(arm == each).cumsum(axis=1) >= INITIAL for each in range(arms)]
    end = np.max([each.argmax(axis=1) for each in enough], axis=0)[:, None]  # last pull of the initialisation
    starts, others = (np.diff(each, axis=1, prepend=-1) != 0 for each in (environment, arm))
    following, other = (_next_marked(each) for each in (starts, others))  # environment, pull of another arm
    at = np.arange(steps)
    twice = starts & (following > at + 1) & (other > at + 1) & (at + 1 < steps)
    only = twice & (following < steps) & (other >= following)
    return _by_phase(twice, at, at + 1, end), _by_phase(only, at, following - 1, end)


def _next_marked(marked: NDArray[np.bool_]) -> Ints:
    """Return, for each element of a matrix, the column of the next marked element in the same row.

    The result is the row length if no later element is marked.
    """
    length = marked.shape[1]
    places = np.where(marked, np.arange(length), length)
    later = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
    return np.append(later[:, 1:], np.full((len(marked), 1), length), axis=1)


def _by_phase(seen: NDArray[np.bool_], first: Ints, last: Ints, end: Ints) -> Floats:
    inside, after = last <= end, first > end
    found = [(seen & where).any(axis=1) for where in (inside, ~inside & ~after, after)]
    return np.stack(found, axis=1).astype(np.float64)


def fixed_design_errors(counts: Floats, means: Sequence[float], seed: int, draws: int) -> Floats:
    """Simulate standardised errors of estimated differences to the best arm, for fixed numbers of pulls.

    `counts` are the pulls by environment and arm. The result is an array (draws, K).
    """
    best = int(np.argmax(means))
    K = len(means)
    X, n = dummies(counts)
    solve = np.linalg.solve(X.T @ (n[:, None] * X), X.T * n)[:K]
    contrasts = solve - solve[best]
    scale = np.sqrt((contrasts**2 / n).sum(axis=1, keepdims=True))
    contrasts = np.divide(contrasts, scale, out=np.zeros_like(contrasts), where=scale > 0.0)
    random = np.random.default_rng(seed)
    drawn = []
    for start in range(0, draws, AT_ONCE):
        noise = random.standard_normal((min(AT_ONCE, draws - start), len(n))) / np.sqrt(n)
        drawn.append(noise @ contrasts.T)
    return np.vstack(drawn)


def _kolmogorov_distance(values: Floats) -> float:
    """Return the Kolmogorov distance between the distribution of the values and the standard normal."""
    normal = ndtr(np.sort(values))
    steps = np.arange(len(values) + 1) / len(values)
    return float(max((steps[1:] - normal).max(), (normal - steps[:-1]).max()))


def _share_with_other_pulls(world: World, seed: int, runs: int) -> tuple[float, None, int]:
    """Return the share of runs in which the policy LinLUCB begins differently if its budget is doubled.

    The results are columns of a table row: the share of runs, its standard error (None), and the number of
    runs.
    """
    spec = policy("linlucb")
    loop, differ, runs = compiled_loop(spec, trace=True), 0, min(runs, 200)
    short, long = empty_trace(PULLS, world.arms), empty_trace(2 * PULLS, world.arms)
    for run in range(runs):
        run_loop(loop, spec, world, [PULLS], seed, run, 1, short)
        run_loop(loop, spec, world, [2 * PULLS], seed, run, 1, long)
        differ += not np.array_equal(short.arm, long.arm[:PULLS])
    return differ / runs, None, runs
