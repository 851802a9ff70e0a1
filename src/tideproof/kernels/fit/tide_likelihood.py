"""A whole log on the paths of one law of the tide: drift, chance and size of jumps are given.

`hidden_tide` learns all of that on line. With all rows at hand laws are tried one after another and weighed
by how likely they make the rewards, which is what `follow_log` returns; differences of the levels that it
leaves behind are those of the arms, given all rewards. With a single arm (rewards whose arms were taken out)
it can keep what it knew after each row: forwards and backwards, that makes a smoother.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.array_layout import Floats, Ints
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import LOWEST
from tideproof.kernels.fit.tide_paths import TINY, copy_path, follow, judge, look_first

DOUBT = 1e-6  # a jump that is less likely, or that surely, is not worth a path of its own
SAME, USUAL, PAUSED = 0, 1, 2
AFTER_PAUSE = 0.5  # the chance of a jump while nobody looked


class TimedRows(NamedTuple):
    """Rows in the order of time, (N,) each.

    Attributes
    ----------
    arm : index.
    n, mean, squares : rewards of the row, their mean, and the sum of squared deviations from it.
    move : whether the tide may have moved since the row before: SAME (they have one time), USUAL, or PAUSED
        (so long went by that it may well be another one).
    """

    arm: Ints
    n: Floats
    mean: Floats
    squares: Floats
    move: Ints


LAG = 64  # rows for which a path remembers where it jumped


class PathRecord(NamedTuple):
    """What the paths knew.

    Attributes
    ----------
    weight, level, variance : (N, F) after each row, of the first arm.
    jumped : (N,) how likely a jump before each row was, LAG rows later.
    story : (F, LAG) scratch: where each path jumped, in turn.
    """

    weight: Floats
    level: Floats
    variance: Floats
    jumped: Floats
    story: Floats


@kernel
def follow_log(paths, rows, drift, chance, size, met, kept):
    """Take in all rows; return the logarithm of their density, but for what is the same for all laws.

    `paths` are empty and hold, in the end, levels, covariances and weights that add up to 1. `met`, (K,), is
    all 0 and tells in the end which arms were seen. `kept` is of length 0 where nothing is to be kept.
    """
    F = paths.weight.size
    evidence, nu = 0.0, 0
    paths.weight[0] = 1.0
    for t in range(rows.arm.size):
        arm, n, mean, squares = rows.arm[t], rows.n[t], rows.mean[t], rows.squares[t]
        step, jump = drift, chance
        if rows.move[t] == SAME:
            step, jump = 0.0, 0.0
        elif rows.move[t] == PAUSED and chance > 0.0:
            jump = max(chance, AFTER_PAUSE)
        if met[arm] == 0:
            met[arm] = 1
            for f in range(F):
                if paths.weight[f] > 0.0:
                    look_first(paths, f, arm, n, mean, step + jump * size)
        else:
            evidence += _judged(paths, arm, n, mean, nu, step, jump, size)
            _split(paths, kept.story)
            for f in range(F):
                if paths.weight[f] > 0.0:
                    follow(paths, f, arm, nu, step)
            nu += 1
        if n > 1.0:
            evidence += _squared(paths, n, squares, nu)
            nu += int(n) - 1
        if kept.weight.shape[0] > 0:
            if t >= LAG:
                _recall(paths, kept, t - LAG)
            for f in range(F):
                kept.weight[t, f] = paths.weight[f]
                kept.level[t, f] = paths.level[f, 0]
                kept.variance[t, f] = paths.C[f, 0, 0]
                kept.story[f, t % LAG] = paths.chance[f] if t > 0 else 0.0
    for t in range(max(kept.jumped.size - LAG, 0), kept.jumped.size):
        _recall(paths, kept, t)
    return evidence


@kernel
def _recall(paths, kept, t):
    """Note how likely a jump before row t is by now."""
    kept.jumped[t] = 0.0
    for f in range(paths.weight.size):
        kept.jumped[t] += paths.weight[f] * kept.story[f, t % LAG]


@kernel
def _judged(paths, arm, n, mean, nu, drift, chance, size):
    """Judge the rewards on every path, weigh the paths by them, and return the logarithm of their density."""
    weight, evidence = paths.weight, paths.evidence
    most = LOWEST
    for f in range(weight.size):
        if weight[f] > 0.0:
            judge(paths, f, arm, n, mean, nu, drift, chance, size)
            most = max(most, evidence[f])
    if nu == 0:
        return 0.0
    total = 0.0
    for f in range(weight.size):
        if weight[f] > 0.0:
            weight[f] *= paths.density[f] * math.exp(evidence[f] - most)
            total += weight[f]
    for f in range(weight.size):
        weight[f] /= total
    return most + math.log(total)


@kernel
def _squared(paths, n, squares, nu):
    """Take in the squared deviations of n rewards that came as their mean, on `nu` degrees before them."""
    weight, evidence = paths.weight, paths.evidence
    most = LOWEST
    for f in range(weight.size):
        if weight[f] > 0.0:
            before, paths.rss[f] = max(paths.rss[f], TINY), paths.rss[f] + squares
            logs = nu * math.log(before) - (nu + n - 1.0) * math.log(max(paths.rss[f], TINY))
            evidence[f] = 0.5 * logs
            most = max(most, evidence[f])
    if nu == 0:
        return 0.0
    total = 0.0
    for f in range(weight.size):
        if weight[f] > 0.0:
            weight[f] *= math.exp(evidence[f] - most)
            total += weight[f]
    for f in range(weight.size):
        weight[f] /= total
    return most + math.log(total)


@kernel
def _split(paths, story):
    """Split the path with most doubt about a jump, if its lesser half is worth more than the least path."""
    weight, chance = paths.weight, paths.chance
    parent, doubt, place, least = 0, -1.0, 0, 2.0
    for f in range(weight.size):
        mine = weight[f] * min(chance[f], 1.0 - chance[f]) if weight[f] > 0.0 else -1.0
        if mine > doubt:
            parent, doubt = f, mine
        if weight[f] < least:
            place, least = f, weight[f]
    if place != parent and doubt > max(least, DOUBT):
        lost = weight[place]
        copy_path(paths, parent, place)
        for k in range(story.shape[1]):
            story[place, k] = story[parent, k]
        weight[place] *= chance[parent]
        weight[parent] *= 1.0 - chance[parent]
        chance[place], chance[parent] = 1.0, 0.0
        for f in range(weight.size):
            weight[f] /= 1.0 - lost
