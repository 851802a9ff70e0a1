"""A tide that nobody announces: several paths of it, followed at once, and what they say together.

Whether the tide jumped before a pull is often seen only later, and where jumps are frequent so is how large
the noise is. So of each kind of tide (`kernels.tide_paths`) up to four paths are followed: when a reward
comes in, the path with most doubt about a jump is split if a place is free or held by a less likely one, and
all others make one normal of both possibilities. Paths are weighted by the likelihood of the rewards, noise
variance integrated out, and what policies read is the mean and covariance of all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.array_layout import Float1, FloatK, FloatKK, Int1, IntK
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import LOWEST
from tideproof.kernels.fit.fixed_effects import freedom
from tideproof.kernels.fit.tide_paths import (
    BEND,
    DRIFT,
    EACH,
    HABIT,
    KINDS,
    LARGEST,
    PATHS,
    TINY,
    Paths,
    begin,
    copy_path,
    follow,
    grow_older,
    judge,
    look_ahead,
    look_first,
    restart,
    rise,
)

DOUBT = 1e-3  # the least part of a kind's best path that is worth a path of its own
LEAST = 1e-4  # ... that is followed any longer
FLOOR = 1e-26  # no kind becomes less likely, so that one whose time comes later is found
QUIET = 1e-4  # a kind that is less likely has one path only
HEARD = 1e-3  # paths that are less likely are not heard
ROUNDING = 1e-14  # of the largest level: smaller noise is none, and paths that differ by it are not apart


class HiddenTide(NamedTuple):
    """What the paths say together, in the words of `FixedEffects`, and the paths.

    Attributes
    ----------
    P : (K, K) covariance of the levels now, over the noise variance RSS/(N - K).
    mu : (K,) the level of each arm now, tide included; 0 for one not seen.
    first : (K,) told rewards of each arm: the gauge of adjusted means.
    first_size : (1,) all told rewards.
    rss : (1,) residual sum of squares.
    work : (K,) scratch.
    group : (K,) 1 for an arm that was seen.
    told : (1,) rewards told, N.
    environments : (1,) 1 from the first reward on, and one more for every label told.
    joins : (1,) arms seen, but one.
    paths : the paths.
    """

    P: FloatKK
    mu: FloatK
    first: FloatK
    first_size: Float1
    rss: Float1
    work: FloatK
    group: IntK
    told: Int1
    environments: Int1
    joins: Int1
    paths: Paths


@kernel
def observe(fit, slot, arm, n, mean, squares):
    """Take in `n` told rewards of `arm`, whatever the environment."""
    _observe(fit, slot, arm, n, mean, squares, False)


@kernel
def observe_labelled(fit, slot, arm, n, mean, squares):
    """Do the same where labels are told, too: before the first reward of an environment the tide jumped.

    By how much is not known at all; for an arm's first reward, hardly at all, which needs no other form.
    """
    _observe(fit, slot, arm, n, mean, squares, slot.size[0] == 0.0)


@kernel
def _observe(fit, slot, arm, n, mean, squares, jumped):
    paths = fit.paths
    fresh = fit.first[arm] == 0.0
    nu = freedom(fit)
    if fit.told[0] == 0:
        begin(paths)
        slot.first[0] = 1
        fit.environments[0] = 1
    else:
        if fresh:
            fit.joins[0] += 1
        for f in range(PATHS):
            if paths.weight[f] > 0.0 and BEND[f // EACH] > 0.0:
                rise(paths, f, BEND[f // EACH])
    if fresh:
        fit.group[arm] = 1
        for f in range(PATHS):
            if paths.weight[f] > 0.0:
                drift, chance, size = look_ahead(paths, f, nu)
                look_first(paths, f, arm, n, mean, drift + (LARGEST if jumped else chance * size))
    elif jumped:
        fit.environments[0] += 1
        for f in range(PATHS):
            if paths.weight[f] > 0.0:
                restart(paths, f, arm, n, mean)
    else:
        _judge_all(paths, arm, n, mean, nu)
        for kind in range(KINDS):
            _split(paths, kind)
        for f in range(PATHS):
            if paths.weight[f] > 0.0:
                follow(paths, f, arm, nu, DRIFT[f // EACH])
                if HABIT[f // EACH] > 0.0:
                    grow_older(paths, f)
        nu += 1
    if n > 1:
        _take_squares(paths, n, squares, nu)
    fit.told[0] += n
    fit.first[arm] += n
    fit.first_size[0] += n
    _summarise(fit, arm)


@kernel
def place(fit, slot, arm, n):
    """Take in the place of `n` pulls that are out: what their rewards will tell if the tide stays."""
    P, column = fit.P, fit.work
    K = column.size
    if fit.group[arm] == 0:
        fit.group[arm] = 1
        if fit.environments[0] == 0:
            fit.environments[0] = 1
        else:
            fit.joins[0] += 1
        P[arm, arm] = 1.0 / n
        return
    for i in range(K):
        column[i] = P[i, arm]
    less = 1.0 / (column[arm] + 1.0 / n)
    for i in range(K):
        for k in range(K):
            P[i, k] -= less * column[i] * column[k]


@kernel
def pull_here(fit, slot, here):
    """Make ready what a pull now would tell, see `fixed_effects.pull_here`: P holds the tide already."""
    for i in range(here.size):
        here[i] = 0.0
    return 1.0


@kernel
def _judge_all(paths, arm, n, mean, nu):
    """Judge the rewards on every path, and weigh the paths by them."""
    weight, evidence = paths.weight, paths.evidence
    most = LOWEST
    for f in range(PATHS):
        if weight[f] > 0.0:
            drift, chance, size = look_ahead(paths, f, nu)
            judge(paths, f, arm, n, mean, nu, drift, chance, size)
            most = max(most, evidence[f])
    if nu > 0:
        for f in range(PATHS):
            if weight[f] > 0.0:
                weight[f] *= paths.density[f] * math.exp(evidence[f] - most)
        _weigh_anew(weight)


@kernel
def _weigh_anew(weight):
    """Make the largest weight 1, drop what is not worth following, and keep a path of every kind."""
    top = 0.0
    for f in range(PATHS):
        top = max(top, weight[f])
    scale = 1.0 / top
    for kind in range(KINDS):
        best = kind * EACH
        for f in range(best + 1, kind * EACH + EACH):
            if weight[f] > weight[best]:
                best = f
        weight[best] = max(weight[best], FLOOR * top)
        least = max(LEAST * weight[best], QUIET * top)
        for f in range(kind * EACH, kind * EACH + EACH):
            weight[f] = weight[f] * scale if weight[f] >= least or f == best else 0.0


@kernel
def _split(paths, kind):
    """Split the path of that kind with most doubt about a jump, if it is worth a place."""
    weight, chance, from_ = paths.weight, paths.chance, kind * EACH
    parent, doubt, place_, least, best = from_, -1.0, from_, 2.0, 0.0
    for f in range(from_, from_ + EACH):
        mine = weight[f] * min(chance[f], 1.0 - chance[f]) if weight[f] > 0.0 else -1.0
        best = max(best, weight[f])
        if mine > doubt:
            parent, doubt = f, mine
        if weight[f] < least:
            place_, least = f, weight[f]
    if place_ != parent and doubt > max(least, DOUBT * best, QUIET):
        copy_path(paths, parent, place_)
        weight[place_] *= chance[parent]
        weight[parent] *= 1.0 - chance[parent]
        chance[place_], chance[parent] = 1.0, 0.0


@kernel
def _take_squares(paths, n, squares, nu):
    """Take in the squared deviations of `n` rewards that came as their mean."""
    most = LOWEST
    for f in range(PATHS):
        if paths.weight[f] > 0.0:
            before, paths.rss[f] = max(paths.rss[f], TINY), paths.rss[f] + squares
            logs = nu * math.log(before) - (nu + n - 1.0) * math.log(max(paths.rss[f], TINY))
            paths.evidence[f] = 0.5 * logs
            most = max(most, paths.evidence[f])
    if nu > 0:
        for f in range(PATHS):
            if paths.weight[f] > 0.0:
                paths.weight[f] *= math.exp(paths.evidence[f] - most)
        _weigh_anew(paths.weight)


@kernel
def _summarise(fit, arm):
    """Find mean and covariance of what the paths say, compared with the arm pulled last."""
    paths, P, mu, gap = fit.paths, fit.P, fit.mu, fit.work
    weight, level, C = paths.weight, paths.level, paths.C
    K = mu.size
    total, rss, here = 0.0, 0.0, 0.0
    for i in range(K):
        mu[i] = 0.0
    for f in range(PATHS):
        if weight[f] >= HEARD:
            total += weight[f]
            rss += weight[f] * paths.rss[f]
            here += weight[f] * level[f, arm]
            for i in range(K):
                mu[i] += weight[f] * (level[f, i] - level[f, arm])
    rss /= total
    fit.rss[0] = rss
    nu = freedom(fit)
    largest = abs(here / total)
    for i in range(K):
        mu[i] /= total
        largest = max(largest, abs(mu[i]))
        for k in range(K):
            P[i, k] = 0.0
    rounding = ROUNDING * largest
    least = max(rss, nu * rounding * rounding)
    for f in range(PATHS):
        if weight[f] >= HEARD:
            share = weight[f] / total
            own, apart = share, 0.0
            if rss > 0.0:
                own, apart = share * paths.rss[f] / rss, share * nu / least
            for i in range(K):
                gap[i] = level[f, i] - level[f, arm] - mu[i]
            for i in range(K):
                scaled = apart * gap[i]
                for k in range(K):
                    P[i, k] += own * C[f, i, k] + scaled * gap[k]
    for i in range(K):
        mu[i] = mu[i] + here / total if fit.group[i] == 1 else 0.0
        if fit.group[i] == 0:
            for k in range(K):
                P[i, k] = 0.0
                P[k, i] = 0.0
