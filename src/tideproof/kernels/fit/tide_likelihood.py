"""Likelihood of a complete log of rewards, given how strongly the tide drifts, and how often it jumps.

The drift, and the chance and the size of jumps, are the law of the tide.

`hidden_tide` learns the law while rewards arrive. With all rows available, several laws are tried and
weighted by the likelihood of the rewards, which `follow_log` returns. The differences of the final levels
are the estimated differences of the arms, given all rewards. With a single arm (rewards with the arm means
removed) it can store its state after each row; a forward and a backward pass together are a smoother.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.choose.arm_choice import LOWEST
from tideproof.kernels.fit.tide_paths import TINY, compute_likelihood, copy_path, start_arm_level, update_path

SPLIT_CHANCE = 1e-6  # a path is split only if both a jump and no jump are more likely than this
SAME, USUAL, PAUSED = 0, 1, 2  # time since the row before: none, usual, long
AFTER_PAUSE = 0.5  # minimum chance of a jump during a pause


class TimedRows(NamedTuple):
    """Rows of a reward log in order of time, as parallel arrays.

    Every field has shape (N,).

    Attributes
    ----------
    arm : index of the arm.
    n, mean, squares : number of rewards in the row, their mean, and the sum of squared deviations from it.
    move : whether the tide may have moved since the row before: SAME (both have the same time), USUAL, or
        PAUSED (after such a long time, the tide may well be different).
    """

    arm: Ints
    n: Floats
    mean: Floats
    squares: Floats
    move: Ints


LAG = 64  # number of rows for which a path stores where it jumped


class PathRecord(NamedTuple):
    """Record of the hypotheses about when the tide jumped (paths), after each row of a log, for smoothing.

    Attributes
    ----------
    weight, level, variance : (N, F) after each row, for the first arm.
    jumped : (N,) probability of a jump before each row, given LAG more rows.
    story : (F, LAG) scratch: where each path jumped, as a ring buffer.
    """

    weight: Floats
    level: Floats
    variance: Floats
    jumped: Floats
    story: Floats


@kernel
def follow_log(paths, rows, drift, chance, size, met, kept):
    """Return the log density of all rewards of a log, given how the tide drifts and how often it jumps.

    Terms that are the same for all laws are left out. `paths` must be empty; at the end they contain levels,
    covariances and weights that add up to 1. `met`, (K,), must be 0; at the end it marks the arms that
    occurred. `kept` has length 0 if no states are needed.
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
                    start_arm_level(paths, f, arm, n, mean, step + jump * size)
        else:
            evidence += _weigh_paths(paths, arm, n, mean, nu, step, jump, size)
            _split(paths, kept.story)
            for f in range(F):
                if paths.weight[f] > 0.0:
                    update_path(paths, f, arm, nu, step)
            nu += 1
        if n > 1.0:
            evidence += _add_squares(paths, n, squares, nu)
            nu += int(n) - 1
        if kept.weight.shape[0] > 0:
            if t >= LAG:
                _store_jump(paths, kept, t - LAG)
            for f in range(F):
                kept.weight[t, f] = paths.weight[f]
                kept.level[t, f] = paths.level[f, 0]
                kept.variance[t, f] = paths.C[f, 0, 0]
                kept.story[f, t % LAG] = paths.chance[f] if t > 0 else 0.0
    for t in range(max(kept.jumped.size - LAG, 0), kept.jumped.size):
        _store_jump(paths, kept, t)
    return evidence


@kernel
def _store_jump(paths, kept, t):
    """Store the probability that the tide jumped before row t of the log, given the rows so far."""
    kept.jumped[t] = 0.0
    for f in range(paths.weight.size):
        kept.jumped[t] += paths.weight[f] * kept.story[f, t % LAG]


@kernel
def _weigh_paths(paths, arm, n, mean, nu, drift, chance, size):
    """Weight each hypothesis about the tide by its likelihood of new rewards; return their log density."""
    weight, evidence = paths.weight, paths.evidence
    most = LOWEST
    for f in range(weight.size):
        if weight[f] > 0.0:
            compute_likelihood(paths, f, arm, n, mean, nu, drift, chance, size)
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
def _add_squares(paths, n, squares, nu):
    """Update all hypotheses about the tide with the squared deviations of n rewards from their mean.

    Return the log density of the deviations.
    """
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
    """Split one hypothesis about the tide in two: with and without a jump before the current reward.

    It is the hypothesis with the most uncertain jump. The copy replaces the least likely path; nothing
    happens if it is more likely than the less likely half of the split.
    """
    weight, chance = paths.weight, paths.chance
    parent, doubt, place, least = 0, -1.0, 0, 2.0
    for f in range(weight.size):
        mine = weight[f] * min(chance[f], 1.0 - chance[f]) if weight[f] > 0.0 else -1.0
        if mine > doubt:
            parent, doubt = f, mine
        if weight[f] < least:
            place, least = f, weight[f]
    if place != parent and doubt > max(least, SPLIT_CHANCE):
        lost = weight[place]
        copy_path(paths, parent, place)
        for k in range(story.shape[1]):
            story[place, k] = story[parent, k]
        weight[place] *= chance[parent]
        weight[parent] *= 1.0 - chance[parent]
        chance[place], chance[parent] = 1.0, 0.0
        for f in range(weight.size):
            weight[f] /= 1.0 - lost
