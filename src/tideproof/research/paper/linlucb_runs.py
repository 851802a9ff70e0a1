"""LinLUCB's runs, looked into: the bias and spread of its estimates, and how its environments begin.

A policy that looks at rewards makes a design that depends on the noise, and what least squares guarantees
on a fixed design is then no longer guaranteed. So each number has a twin on one of the same designs, held
fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tideproof.core.array_layout import Floats, Ints
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.policies.policy_registry import policy
from tideproof.research.paper.dummy_regression import dummies
from tideproof.research.paper.growing_designs import counted
from tideproof.research.paper.panels import REDUCTION, panels
from tideproof.table import Table
from tideproof.worlds import World

RUNS = 100_000
DRAWN = 100_000  # noise vectors on a fixed design, or ten for each replication
AT_ONCE = 10_000  # of both, to bound memory
PULLS = 100
INITIAL = 6  # pulls of each arm in the initialisation
PLACES = ("in the initialisation", "where it ends", "after it")
ALIKE, ALONE, OTHERWISE = "first two pulls alike", "one arm only", "another budget, other pulls"
BIAS, FIXED = "bias", "distance from normal, design held fixed"
NORMAL, SHAPE = "distance from normal", "distance from normal, own mean and spread taken out"


def adaptive(seed: int, replications: int) -> Table:
    """Return what runs of LinLUCB have in common after 100 pulls, in four panels.

    `bias` is the average error of an arm minus the best arm. The distance from normal is that of
    Kolmogorov between the same error over its standard deviation (sigma known) and the standard normal;
    once more after the average over runs is taken out and the spread over runs made one, so that only the
    shape is left. The other rows are shares of runs.
    """
    rows: list[tuple[Any, ...]] = []
    runs = min(replications, RUNS)
    for name in REDUCTION:
        world = panels()[name].world
        error, scale, alike, alone, first = _look_into(world, seed, runs)
        drawn = min(10 * replications, DRAWN)
        fixed = on_fixed_design(first, world.means, seed, drawn)
        best = int(np.argmax(world.means))
        for arm in (arm for arm in range(world.arms) if arm != best):
            where = f"arm {arm + 1} minus arm {best + 1}"
            stderr = error[:, arm].std(ddof=1) / np.sqrt(runs) if runs > 1 else np.nan
            standard = error[:, arm] / scale[:, arm]
            shape = (standard - standard.mean()) / standard.std()
            rows += [
                (name, BIAS, where, error[:, arm].mean(), stderr, runs),
                (name, NORMAL, where, _distance(standard), None, runs),
                (name, SHAPE, where, _distance(shape), None, runs),
                (name, FIXED, where, _distance(fixed[:, arm]), None, drawn),
            ]
        for quantity, seen in ((ALIKE, alike), (ALONE, alone)):
            rows += [
                (name, quantity, where, share, None, runs)
                for where, share in zip(PLACES, seen.mean(axis=0), strict=True)
            ]
        rows.append(
            (name, OTHERWISE, f"{PULLS} of {PULLS} and of {2 * PULLS}", *_other_budget(world, seed, runs))
        )
    columns = ("panel", "quantity", "where", "value", "stderr", "runs")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _look_into(world: World, seed: int, runs: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return errors of contrasts and their standard deviations, where environments failed, and a design."""
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
        seen.append(beginnings(arms, environments, K))
        if start == 0:
            first = counted(environments[0], arms[0], K)
    alike, alone = (np.vstack(each) for each in zip(*seen, strict=True))
    return error, scale, alike, alone, first


def beginnings(arm: Ints, environment: Ints, arms: int) -> tuple[Floats, Floats]:
    """Return where an environment began with one arm twice, and where it saw one arm only, (R, 3) of 0 or 1.

    In the initialisation, across its end, or after it; `arm` and `environment` have a row for each run. The
    last environment is not over, so it is not counted among those with one arm.
    """
    steps = arm.shape[1]
    enough = [(arm == each).cumsum(axis=1) >= INITIAL for each in range(arms)]
    end = np.max([each.argmax(axis=1) for each in enough], axis=0)[:, None]  # last pull of the initialisation
    starts, others = (np.diff(each, axis=1, prepend=-1) != 0 for each in (environment, arm))
    following, other = (_next(each) for each in (starts, others))  # environment, and pull of another arm
    at = np.arange(steps)
    twice = starts & (following > at + 1) & (other > at + 1) & (at + 1 < steps)
    only = twice & (following < steps) & (other >= following)
    return _places(twice, at, at + 1, end), _places(only, at, following - 1, end)


def _next(marked: NDArray[np.bool_]) -> Ints:
    """Return the next marked place after each, in every row; the length of a row if there is none."""
    length = marked.shape[1]
    places = np.where(marked, np.arange(length), length)
    later = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
    return np.append(later[:, 1:], np.full((len(marked), 1), length), axis=1)


def _places(seen: NDArray[np.bool_], first: Ints, last: Ints, end: Ints) -> Floats:
    inside, after = last <= end, first > end
    found = [(seen & where).any(axis=1) for where in (inside, ~inside & ~after, after)]
    return np.stack(found, axis=1).astype(np.float64)


def on_fixed_design(counts: Floats, means: Sequence[float], seed: int, draws: int) -> Floats:
    """Return each arm minus the best over its standard deviation, (draws, K), for draws of the noise."""
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


def _distance(values: Floats) -> float:
    """Return the largest distance between the distribution of the values and the standard normal."""
    normal = ndtr(np.sort(values))
    steps = np.arange(len(values) + 1) / len(values)
    return float(max((steps[1:] - normal).max(), (normal - steps[:-1]).max()))


def _other_budget(world: World, seed: int, runs: int) -> tuple[float, None, int]:
    """Return the share of runs whose first pulls are others when the budget is twice as large."""
    spec = policy("linlucb")
    loop, differ, runs = compiled_loop(spec, trace=True), 0, min(runs, 200)
    short, long = empty_trace(PULLS, world.arms), empty_trace(2 * PULLS, world.arms)
    for run in range(runs):
        run_loop(loop, spec, world, [PULLS], seed, run, 1, short)
        run_loop(loop, spec, world, [2 * PULLS], seed, run, 1, long)
        differ += not np.array_equal(short.arm, long.arm[:PULLS])
    return differ / runs, None, runs
