"""Bayesian model averaging over laws of a hidden tide: models of how it drifts and how it jumps.

A law consists of the variance of a step between two moments, the probability of a jump, and its variance;
variances are relative to that of the noise. A wide grid of laws is evaluated on a part of the log, the best
law is refined, and the laws worth keeping are evaluated on all of it. Estimates are averaged over laws, so
intervals include the uncertainty about the law.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_linker import Kernel
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import MissingExtra
from tideproof.kernels.fit.tide_likelihood import LAG, PathRecord, TimedRows, follow_log
from tideproof.kernels.fit.tide_paths import AGES, Paths

DRIFTS = (0.0, 3e-4, 3e-3, 0.02, 0.1, 0.4)
CHANCES = (0.004, 0.02, 0.08, 0.3)
SIZES = (8.0, 66.0, 500.0)
JUMPLESS_PRIOR = 1.0 / 3.0  # Prior probability of a tide without jumps.

STRETCHES = 5  # Number of stretches of a long log on which the grid is evaluated.
SMALLEST_RELATIVE_PROBABILITY = 1e-3  # Laws with a smaller probability relative to the best are dropped.
FEWEST_COMPILED = 150  # Rows from which compiling saves time.
FEW = 20_000  # Rows up to which many laws and paths are evaluated.
MOST_INTERPRETED = 5_000  # Most rows that are fitted without a compiler.


class Effort(NamedTuple):
    """Effort to spend on estimating a hidden tide: numbers of rows, models and jump hypotheses.

    Attributes
    ----------
    studied : number of rows on which the grid of laws is evaluated.
    laws : number of laws that are fitted to all rows.
    paths : number of paths (hypotheses of when the tide jumped) that a filter follows.
    """

    studied: int
    laws: int
    paths: int


USUAL, LONG, INTERPRETED = Effort(1_500, 12, 8), Effort(1_500, 2, 3), Effort(400, 4, 4)


class TideLaw(NamedTuple):
    """Model (law) of a hidden tide: variance of its step between rows, probability and variance of a jump."""

    drift: float
    chance: float
    size: float

    @property
    def prior(self) -> float:
        """Prior probability of this model of the tide."""
        if self.chance == 0.0:
            return JUMPLESS_PRIOR / len(DRIFTS)
        return (1.0 - JUMPLESS_PRIOR) / (len(DRIFTS) * len(CHANCES) * len(SIZES))


class LawFit(NamedTuple):
    """Fit of a log under one model of the hidden tide: a given drift, jump probability and jump size.

    Attributes
    ----------
    evidence : log marginal likelihood of the rewards.
    level : (K,) mean of each arm at the end, including the tide.
    covariance : (K, K) covariance of the levels, with the noise variance as an estimate; without the tide's
        own part.
    noise : variance of the noise.
    """

    evidence: float
    level: Floats
    covariance: Floats
    noise: float


class WeightedLaw(NamedTuple):
    """Model of the hidden tide, with its posterior probability and the fit of the log under this model."""

    law: TideLaw
    weight: float
    found: LawFit


def law_grid() -> list[TideLaw]:
    """Return the models of the tide that are tried first: all combinations of a few parameter values."""
    calm = [TideLaw(drift, 0.0, SIZES[0]) for drift in DRIFTS]
    return calm + [TideLaw(*each) for each in product(DRIFTS, CHANCES, SIZES)]


def weight_laws(rows: TimedRows, arms: int) -> list[WeightedLaw]:
    """Return the likelier models of a hidden tide with their posterior probabilities, the likeliest first."""
    size = rows.arm.size
    program = filter_program(size)
    effort = USUAL if size <= FEW else LONG
    if program is follow_log and size > INTERPRETED.studied:
        effort = INTERPRETED
    parts = _studied_rows(rows, effort.studied)

    def tried(some: Iterable[TideLaw]) -> dict[TideLaw, float]:
        """Return the logarithm of the posterior probability of each tide model, given some of the rewards.

        The logarithms have a common unknown constant.
        """
        return {
            law: math.log(law.prior) + sum(fit_law(program, part, arms, law, 3).evidence for part in parts)
            for law in some
        }

    known = tried(law_grid())
    for _ in range(2):
        best = max(known, key=lambda law: known[law])
        known |= tried(law for law in _neighbouring_laws(best) if law not in known)
    kept = _most_probable(known, effort.laws)
    with ThreadPoolExecutor(2) as pool:  # Compiled programs release the lock and run in parallel.
        both = pool.map(lambda law: fit_law(program, rows, arms, law, effort.paths), kept)
        found = dict(zip(kept, both, strict=True))
    total = {law: math.log(law.prior) + found[law].evidence for law in kept}
    most = max(total.values())
    weight = {
        law: math.exp(total[law] - most)
        for law in kept
        if total[law] - most > math.log(SMALLEST_RELATIVE_PROBABILITY)
    }
    whole = sum(weight.values())
    ordered = sorted(weight, key=lambda law: -weight[law])
    return [WeightedLaw(law, weight[law] / whole, found[law]) for law in ordered]


def _most_probable(known: dict[TideLaw, float], most: int) -> list[TideLaw]:
    """Return the most probable models of the tide: at most `most`, and none of negligible probability."""
    ordered = sorted(known, key=lambda law: -known[law])
    return [
        law
        for law in ordered[:most]
        if known[law] - known[ordered[0]] > math.log(SMALLEST_RELATIVE_PROBABILITY)
    ]


def _neighbouring_laws(law: TideLaw) -> list[TideLaw]:
    """Return variants of a model of the tide, each with one parameter made somewhat larger or smaller.

    The parameter lies between that of `law` and that of its neighbour in the grid.
    """
    near = [law._replace(drift=law.drift * factor) for factor in (0.4, 2.5) if law.drift]
    if law.chance:
        near += [law._replace(chance=min(law.chance * factor, 0.6)) for factor in (0.5, 2.0)]
        near += [law._replace(size=law.size * factor) for factor in (0.4, 2.5)]
    return near


def _studied_rows(rows: TimedRows, studied: int) -> list[TimedRows]:
    """Return the stretches of a reward log on which many models of the tide are tried first.

    They are the whole log if it is short, otherwise a few stretches of successive rows.
    """
    total = rows.arm.size
    if total <= studied:
        return [rows]
    length = studied // STRETCHES
    starts = np.linspace(0, total - length, STRETCHES).astype(int).tolist()
    return [_row_slice(rows, slice(start, start + length)) for start in starts]


def _row_slice(rows: TimedRows, where: slice) -> TimedRows:
    """Return a slice of the rows of a log."""
    return TimedRows(rows.arm[where], rows.n[where], rows.mean[where], rows.squares[where], rows.move[where])


def fit_law(
    program: Kernel, rows: TimedRows, arms: int, law: TideLaw, count: int, kept: PathRecord | None = None
) -> LawFit:
    """Fit a log under one model of the tide, by a filter that keeps `count` hypotheses about its jumps.

    A path is one hypothesis of when the tide jumped. If `kept` is given, it records the states of the paths.
    """
    paths = _empty_paths(arms, count)
    met = np.zeros(arms, np.int64)
    record = kept or empty_path_record(0, 0)
    evidence = float(program(paths, rows, law.drift, law.chance, law.size, met, record))
    freedom = float(rows.n.sum()) - int(met.sum())
    noise = paths.rss / freedom if freedom else np.full(count, np.nan)
    weight = paths.weight
    anchor = paths.level[:, [int(rows.arm[-1])]]
    apart = paths.level - anchor  # Levels may be large, so differences keep precision.
    mean = weight @ apart
    gap = apart - mean
    inside = np.einsum("f,fij->ij", weight * noise, paths.C)
    covariance = inside + np.einsum("f,fi,fj->ij", weight, gap, gap)
    return LawFit(evidence, mean + float(weight @ anchor[:, 0]), covariance, float(weight @ noise))


def empty_path_record(rows: int, count: int) -> PathRecord:
    """Return zeroed arrays for recording hypotheses about jumps of the tide after each row of a log."""
    per_row = [np.zeros((rows, count)) for _ in range(3)]
    return PathRecord(
        per_row[0], per_row[1], per_row[2], np.zeros(rows), np.zeros((count, LAG if rows else 0))
    )


def _empty_paths(arms: int, count: int) -> Paths:
    """Return zeroed arrays for a filter that keeps `count` hypotheses (paths) about jumps of the tide."""
    sides = {"level": (arms,), "C": (arms, arms), "tilt": (arms,), "lasted": (AGES,), "ended": (AGES,)}
    shapes = {name: (count, *sides.get(name, ())) for name in Paths._fields} | {"column": (arms,)}
    return Paths(**{name: np.zeros(shape) for name, shape in shapes.items()})


def average_laws(found: Sequence[WeightedLaw]) -> tuple[Floats, Floats, float]:
    """Average the estimates of a log over models of the tide, weighted by their posterior probability.

    The results are the arm means (up to a constant), their covariance, and the noise variance.
    """
    weight = np.array([each.weight for each in found])
    levels = np.array([each.found.level - each.found.level[0] for each in found])
    mean = weight @ levels
    gap = levels - mean
    covariance = sum(each.weight * each.found.covariance for each in found)
    noise = float(sum(each.weight * each.found.noise for each in found))
    return mean, np.asarray(covariance + np.einsum("g,gi,gj->ij", weight, gap, gap)), noise


def filter_program(rows: int) -> Kernel:
    """Return the filter for a hidden tide in a log with this many rows: compiled or interpreted.

    It is interpreted if that is quicker or if no compiler is installed.
    """
    if rows < FEWEST_COMPILED:
        return follow_log
    try:
        return _compiled()
    except MissingExtra:
        return follow_log


@cache
def _compiled() -> Kernel:
    """Return the compiled filter for a hidden tide, from the cache on disk if it is there."""
    from tideproof.core.cpu_target import compile_for_cpu
    from tideproof.core.kernel_linker import link
    from tideproof.core.program_cache import attach_disk_cache

    return attach_disk_cache(link(follow_log, compile_for_cpu, {}), follow_log, compile_for_cpu, {})
