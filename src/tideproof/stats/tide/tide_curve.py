"""Smoothed curve of a hidden tide, with jumps, from all rewards before and after each point in time.

After subtracting arm effects, the rewards of a moment show the tide alone: y = tide + noise. The law of the
tide is symmetric in time. So the smoother combines, at each moment, a filter that runs forwards with one that
runs backwards: over the paths of both, with or without a jump between the two moments. The probabilities of
jumps are the filters' estimates some rows later.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.fit.tide_likelihood import AFTER_PAUSE, PAUSED, PathRecord, TimedRows
from tideproof.kernels.fit.tide_paths import TINY
from tideproof.stats.cells import sum_by_index
from tideproof.stats.tide.tide_law import (
    FEW,
    TideLaw,
    WeightedLaw,
    empty_path_record,
    filter_program,
    fit_law,
)

LIKELY_LAW = 0.1  # Laws with a smaller probability relative to the best are left out of the curve.
REPORTED = 0.5  # Jumps with at least this probability are reported.
NEIGHBOURS = 10  # Moments on either side of the likeliest one that may hold the same jump.
_BLOCK = 2**14  # Moments in one batch.


class TideCurve(NamedTuple):
    """Smoothed estimate of the hidden tide at each point in time, with the probability of a jump there.

    A moment is a point in time with rewards; there are T of them, and all arrays are (T,).

    Attributes
    ----------
    time, n : the moment, and its number of rewards.
    level, variance : estimated tide and its variance, given the arm effects.
    chance, jump : probability of a jump just before this moment, and the expected size of such a jump.
    first : index of the first row of the moment.
    """

    time: Floats
    n: Floats
    level: Floats
    variance: Floats
    chance: Floats
    jump: Floats
    first: Ints


class TideJump(NamedTuple):
    """Detected jump of the hidden tide: index of its likeliest point in time, probability and size."""

    position: int
    chance: float
    jump: float


def smooth_tide(
    rows: TimedRows, time: Floats, mu: Floats, noise: float, found: list[WeightedLaw]
) -> TideCurve:
    """Estimate the hidden tide at each point in time, averaged over the likelier models of drift and jumps.

    `mu` holds the arm effects, and `noise` is the variance of the noise.
    """
    new = np.ones(time.size, bool)
    new[1:] = np.diff(time) != 0.0
    first, of = np.flatnonzero(new), np.cumsum(new) - 1
    T = first.size
    n = sum_by_index(of, rows.n, T)
    above = rows.mean - mu[rows.arm]
    level = sum_by_index(of, rows.n * above, T) / n
    squares = sum_by_index(of, rows.squares + rows.n * (above - level[of]) ** 2, T)
    flat = TimedRows(np.zeros(T, np.int64), n, level, squares, rows.move[first])
    likely = [each for each in found if each.weight >= LIKELY_LAW * found[0].weight][: 4 if T <= FEW else 1]
    total = sum(each.weight for each in likely)
    parts = [_smooth(flat, each.law, noise) for each in likely]
    share = np.array([each.weight / total for each in likely])
    mean, spread, chance, jump = (np.array([part[i] for part in parts]) for i in range(4))
    middle = share @ mean
    variance = share @ (spread + (mean - middle) ** 2)
    jumped = share @ chance
    with np.errstate(invalid="ignore", divide="ignore"):
        by = np.where(jumped > 0.0, share @ (chance * jump) / jumped, 0.0)
    return TideCurve(time[first], n, middle, variance, jumped, by, first)


def _smooth(flat: TimedRows, law: TideLaw, noise: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Estimate, under one model, the tide and the probability and size of a jump at each point in time.

    The results are the level of the tide, its variance, and the probability and the size of a jump: (T,)
    each.
    """
    T, noise = flat.arm.size, max(noise, TINY)
    F, heard = (12, 6) if T <= FEW else (4, 1)
    program = filter_program(T)
    past, future = empty_path_record(T, F), empty_path_record(T, F)
    move = np.concatenate([flat.move[:1], flat.move[:0:-1]])  # Moves between moments in reverse order.
    n, mean, squares = (x[::-1].copy() for x in (flat.n, flat.mean, flat.squares))
    back = TimedRows(flat.arm, n, mean, squares, move)
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                lambda each: fit_law(program, each[0], 1, law, F, each[1]), ((flat, past), (back, future))
            )
        )
    past, future = _likeliest_paths(past, heard), _likeliest_paths(future, heard)
    chance = 0.5 * (past.jumped + np.append(0.0, future.jumped[:0:-1]))
    level, variance, jump = np.zeros(T), np.zeros(T), np.zeros(T)
    last = past.weight[-1]
    level[-1] = last @ past.level[-1]
    variance[-1] = last @ (noise * past.variance[-1] + (past.level[-1] - level[-1]) ** 2)
    for start in range(0, T - 1, _BLOCK):
        t = np.arange(start, min(start + _BLOCK, T - 1))
        w, m, v = (part[t][:, :, None] for part in past[:3])
        # States of the backward filter at the next moment.
        u, x, s = (part[T - 2 - t][:, None, :] for part in future[:3])
        s, both = np.where(u > 0.0, s, 1.0), w * u  # A path of weight 0 may have any variance.
        paused = (flat.move[t + 1] == PAUSED) & (law.chance > 0.0)
        h = np.where(paused, max(law.chance, AFTER_PAUSE), law.chance)[:, None, None]
        ways = [(1.0 - h, v + s + law.drift), (h, v + s + law.drift + law.size)]
        far = [0.5 * (m - x) ** 2 / (noise * whole) for _, whole in ways]
        least = np.where(both > 0.0, far[1], np.inf).min(axis=(1, 2), keepdims=True)
        weight, before, inside, sizes = [], [], [], []
        for (prior, whole), off in zip(ways, far, strict=True):
            weight.append(prior * both * np.exp(np.minimum(least - off, 0.0)) / np.sqrt(whole))
            before.append((m * (whole - v) + x * v) / whole)
            inside.append(noise * v * (whole - v) / whole)
            sizes.append((m * s + x * (whole - s)) / whole - before[-1])
        total = sum(part.sum(axis=(1, 2)) for part in weight)
        level[t] = sum((a * b).sum(axis=(1, 2)) for a, b in zip(weight, before, strict=True)) / total
        apart = [b - level[t][:, None, None] for b in before]
        variance[t] = sum(
            (a * (i + o**2)).sum(axis=(1, 2)) for a, i, o in zip(weight, inside, apart, strict=True)
        )
        variance[t] /= total
        jumped = weight[1].sum(axis=(1, 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            by = (weight[1] * sizes[1]).sum(axis=(1, 2)) / jumped
        jump[t + 1] = np.where(jumped > 0.0, by, 0.0)
    return level, variance, chance, jump


def _likeliest_paths(kept: PathRecord, count: int) -> PathRecord:
    """Keep, at each point in time, the `count` most probable hypotheses about when the tide jumped.

    A path is one such hypothesis. The weights of the paths that are kept add up to 1.
    """
    if count == 1:
        best = kept.weight.argmax(axis=1)[:, None]
    else:
        best = np.argpartition(-kept.weight, count - 1, axis=1)[:, :count]
    weight, level, variance = (np.take_along_axis(part, best, axis=1) for part in kept[:3])
    return PathRecord(weight / weight.sum(axis=1, keepdims=True), level, variance, kept.jumped, kept.story)


def find_jumps(found: TideCurve) -> list[TideJump]:
    """Return the jumps of the tide with a probability of at least one half, in the order of time.

    One jump may be attributed to several neighbouring moments. Around the likeliest moment probabilities are
    added up, the nearest first, until they reach 1.
    """
    left = found.chance.copy()
    order = np.flatnonzero(left >= REPORTED / (2 * NEIGHBOURS + 1))
    named = []
    for t in order[np.argsort(-left[order], kind="stable")].tolist():
        near = np.arange(max(t - NEIGHBOURS, 0), min(t + NEIGHBOURS + 1, left.size))
        near = near[np.argsort(np.abs(near - t), kind="stable")]
        before = np.cumsum(left[near]) - left[near]
        taken = np.clip(1.0 - before, 0.0, left[near])
        if (chance := float(taken.sum())) >= REPORTED:
            named.append(TideJump(t, chance, float(taken @ found.jump[near]) / chance))
            left[near] -= taken
    return sorted(named)
