"""Estimate arm means under unknown shifts over time, averaged over hypotheses about when the tide jumped.

Often it becomes clear only later whether the tide jumped before a pull. If jumps are frequent, the size of
the noise is uncertain in the same way. So up to four paths are followed for each kind of tide
(`tide_paths`). When a reward arrives, the path with the most uncertain jump is split in two, if a place is
free or held by a less likely path. Every other path approximates its two possibilities by one normal
distribution. Paths are weighted by the likelihood of the rewards, with the noise variance integrated out.
Policies read the mean and covariance over all paths.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, Int1, IntK
from tideproof.kernels.choose.arm_choice import LOWEST
from tideproof.kernels.fit.fixed_effects import degrees_of_freedom
from tideproof.kernels.fit.tide_paths import (
    COMMON_WEIGHT,
    DRIFT,
    EACH,
    KINDS,
    LARGEST,
    PATHS,
    SLOPE_CHANGE,
    TINY,
    Paths,
    apply_slope,
    compute_likelihood,
    copy_path,
    predict_jump,
    start_arm_level,
    start_paths,
    update_after_jump,
    update_age,
    update_path,
)

# Weights of paths. The first two are relative to the best path of the same kind, the others to the best path.
SPLIT_WEIGHT = 1e-3  # smallest weight for which a path is split
DROP_WEIGHT = 1e-4  # a path with a smaller weight is dropped
KIND_WEIGHT = 1e-26  # smallest weight of the best path of a kind, so that the kind can become likely later
SINGLE_PATH_WEIGHT = 1e-4  # kinds with a smaller weight have only one path
SUMMARY_WEIGHT = 1e-3  # paths with a smaller weight are left out of the summary
ROUNDING = 1e-14  # relative to the largest level: smaller noise is rounding error


class HiddenTide(NamedTuple):
    """State of the hidden-tide estimator: hypotheses about when the tide jumped (paths), and their average.

    Attributes
    ----------
    P : (K, K) covariance of the current levels, divided by the noise variance RSS/(N - K).
    mu : (K,) the current level of each arm, tide included; 0 for an arm without rewards.
    first : (K,) number of rewards of each arm: the gauge of adjusted means.
    first_size : (1,) number of all rewards.
    rss : (1,) residual sum of squares.
    work : (K,) scratch.
    group : (K,) 1 for an arm with rewards.
    told : (1,) number of rewards, N.
    environments : (1,) 1 from the first reward on, plus 1 for every change of a named environment.
    joins : (1,) number of arms with rewards, minus 1.
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
    """Update all hypotheses about when the tide jumped with `n` rewards of `arm`.

    Environment labels are ignored.
    """
    _observe(fit, slot, arm, n, mean, squares, False)


@kernel
def observe_labelled(fit, slot, arm, n, mean, squares):
    """Update all hypotheses about the tide with `n` rewards of `arm`, given where environments begin.

    The tide jumps between environments. The size of such a jump is unknown. For the first reward of an arm,
    a very large variance of the jump is enough.
    """
    _observe(fit, slot, arm, n, mean, squares, slot.size[0] == 0.0)


@kernel
def _observe(fit, slot, arm, n, mean, squares, jumped):
    """Update all hypotheses about when the tide jumped with new rewards.

    `jumped` marks a known jump before the rewards.
    """
    paths = fit.paths
    fresh = fit.first[arm] == 0.0
    nu = degrees_of_freedom(fit)
    if fit.told[0] == 0:
        start_paths(paths)
        slot.first[0] = 1
        fit.environments[0] = 1
    else:
        if fresh:
            fit.joins[0] += 1
        for f in range(PATHS):
            if paths.weight[f] > 0.0 and SLOPE_CHANGE[f // EACH] > 0.0:
                apply_slope(paths, f, SLOPE_CHANGE[f // EACH])
    if fresh:
        fit.group[arm] = 1
        for f in range(PATHS):
            if paths.weight[f] > 0.0:
                drift, chance, size = predict_jump(paths, f, nu)
                start_arm_level(paths, f, arm, n, mean, drift + (LARGEST if jumped else chance * size))
    elif jumped:
        fit.environments[0] += 1
        for f in range(PATHS):
            if paths.weight[f] > 0.0:
                update_after_jump(paths, f, arm, n, mean)
    else:
        _weigh_paths(paths, arm, n, mean, nu)
        for kind in range(KINDS):
            _split(paths, kind)
        for f in range(PATHS):
            if paths.weight[f] > 0.0:
                update_path(paths, f, arm, nu, DRIFT[f // EACH])
                if COMMON_WEIGHT[f // EACH] > 0.0:
                    update_age(paths, f)
        nu += 1
    if n > 1:
        _add_squares(paths, n, squares, nu)
    fit.told[0] += n
    fit.first[arm] += n
    fit.first_size[0] += n
    _summarise(fit, arm)


@kernel
def place(fit, slot, arm, n):
    """Update the covariance of the estimated arm means, but not the means, for `n` pending pulls of `arm`."""
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
    """Precompute how much one more pull would reduce the variances of arm differences.

    See `fixed_effects.pull_here` for the results. They do not depend on the environment, because P already
    includes the uncertainty of the tide.
    """
    for i in range(here.size):
        here[i] = 0.0
    return 1.0


@kernel
def _weigh_paths(paths, arm, n, mean, nu):
    """Weight every hypothesis about when the tide jumped by its likelihood of the new rewards."""
    weight, evidence = paths.weight, paths.evidence
    most = LOWEST
    for f in range(PATHS):
        if weight[f] > 0.0:
            drift, chance, size = predict_jump(paths, f, nu)
            compute_likelihood(paths, f, arm, n, mean, nu, drift, chance, size)
            most = max(most, evidence[f])
    if nu > 0:
        for f in range(PATHS):
            if weight[f] > 0.0:
                weight[f] *= paths.density[f] * math.exp(evidence[f] - most)
        _rescale_weights(weight)


@kernel
def _rescale_weights(weight):
    """Rescale the weights of the hypotheses about the tide, and drop hypotheses that are unlikely.

    The largest weight becomes 1. At least one hypothesis for each kind of tide is kept.
    """
    top = 0.0
    for f in range(PATHS):
        top = max(top, weight[f])
    scale = 1.0 / top
    for kind in range(KINDS):
        best = kind * EACH
        for f in range(best + 1, kind * EACH + EACH):
            if weight[f] > weight[best]:
                best = f
        weight[best] = max(weight[best], KIND_WEIGHT * top)
        least = max(DROP_WEIGHT * weight[best], SINGLE_PATH_WEIGHT * top)
        for f in range(kind * EACH, kind * EACH + EACH):
            weight[f] = weight[f] * scale if weight[f] >= least or f == best else 0.0


@kernel
def _split(paths, kind):
    """Split one hypothesis about the tide in two: with and without a jump before the current reward.

    It is the hypothesis with the most uncertain jump. Only paths of one kind of tide are compared. The copy
    replaces the least likely of them; nothing happens if it is more likely than the less likely half.
    """
    weight, chance, from_ = paths.weight, paths.chance, kind * EACH
    parent, doubt, place_, least, best = from_, -1.0, from_, 2.0, 0.0
    for f in range(from_, from_ + EACH):
        mine = weight[f] * min(chance[f], 1.0 - chance[f]) if weight[f] > 0.0 else -1.0
        best = max(best, weight[f])
        if mine > doubt:
            parent, doubt = f, mine
        if weight[f] < least:
            place_, least = f, weight[f]
    if place_ != parent and doubt > max(least, SPLIT_WEIGHT * best, SINGLE_PATH_WEIGHT):
        copy_path(paths, parent, place_)
        weight[place_] *= chance[parent]
        weight[parent] *= 1.0 - chance[parent]
        chance[place_], chance[parent] = 1.0, 0.0


@kernel
def _add_squares(paths, n, squares, nu):
    """Update all hypotheses about the tide with the squared deviations of `n` rewards from their mean.

    The rewards were reported as a mean.
    """
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
        _rescale_weights(paths.weight)


@kernel
def _summarise(fit, arm):
    """Average the estimates and their covariance over all hypotheses about when the tide jumped.

    Deviations are measured from the level of `arm`, the arm pulled last.
    """
    paths, P, mu, gap = fit.paths, fit.P, fit.mu, fit.work
    weight, level, C = paths.weight, paths.level, paths.C
    K = mu.size
    total, rss, here = 0.0, 0.0, 0.0
    for i in range(K):
        mu[i] = 0.0
    for f in range(PATHS):
        if weight[f] >= SUMMARY_WEIGHT:
            total += weight[f]
            rss += weight[f] * paths.rss[f]
            here += weight[f] * level[f, arm]
            for i in range(K):
                mu[i] += weight[f] * (level[f, i] - level[f, arm])
    rss /= total
    fit.rss[0] = rss
    nu = degrees_of_freedom(fit)
    largest = abs(here / total)
    for i in range(K):
        mu[i] /= total
        largest = max(largest, abs(mu[i]))
        for k in range(K):
            P[i, k] = 0.0
    rounding = ROUNDING * largest
    least = max(rss, nu * rounding * rounding)
    for f in range(PATHS):
        if weight[f] >= SUMMARY_WEIGHT:
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
