"""Model of a hidden tide: a reward is the arm's current mean plus noise; the tide moves all means together.

The filter does not track arm and tide separately but their sum, the current level of each arm; each y
observes one level. A path is one hypothesis of when the tide jumped. Given the path, the levels are normal
and the noise precision is gamma distributed. So the state consists of K levels, their covariance C in units
of the noise variance, and a residual sum of squares. With c = C_a + r (r is the drift's variance per pull,
S = c_a + r + 1/n, e = y - level_a), a pull of arm a gives

    level += c e/S,                     C += r - cc'/S                      without a jump before it,
    level += (c + J) e/(S + J),         C += r + J - (c + J)(c + J)'/(S + J)     after a jump of variance J.

A mixture of both, with chance p of a jump, is approximated by the normal with its mean and covariance. All
these updates have the form C + alpha cc' + beta (c1' + 1c') + gamma 11': O(K^2), with two products per
entry. An arm without rewards has an exactly flat prior: its first reward becomes its level, and contains no
information about the others.

J and the chance of a jump are learned on each path, with a Beta prior for the chance and a weak prior for
the size. If jumps are frequent, the time between jumps is learned, too: the chance depends on the time
since the last jump (the age).

A tide may also have a slope that is a random walk: before a pull, all levels rise by it. It is one more
number, with its variance (`steep`) and its covariances with the levels (`tilt`). It takes part in every
update like a level, except that jumps do not move it.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK, Floats

# These constants have one entry for each kind of tide: rare jumps; frequent jumps; rare jumps with a slow
# drift; rare jumps with a fast drift; rare jumps with a slope.
# DRIFT: variance of the drift per pull, in noise variances.
# JUMPS, NO_JUMPS: parameters of the Beta prior of the chance of a jump (jumps, and pulls without a jump).
# COMMON_WEIGHT: weight, in pulls, of the common chance of a jump in the chance at each age; 0 if the age does
# not matter.
# SLOPE_CHANGE: variance of the change of the slope per pull. SLOPE: variance of the first slope.
# PRIOR: prior probability of the kind, relative to the first.
DRIFT = (0.0, 0.0, 0.01, 0.15, 0.0)
JUMPS = (0.5, 3.0, 0.5, 0.5, 0.5)
NO_JUMPS = (14.5, 3.0, 14.5, 14.5, 99.5)
COMMON_WEIGHT = (0.0, 2.0, 0.0, 0.0, 0.0)
SLOPE_CHANGE = (0.0, 0.0, 0.0, 0.0, 0.01)
SLOPE = (0.0, 0.0, 0.0, 0.0, 0.07)
PRIOR = (1.0, 0.1, 0.05, 0.1, 0.1)
KINDS = 5
EACH = 4  # number of paths of each kind
PATHS = KINDS * EACH

JUMP = 66.0  # prior variance of a jump, in noise variances
WEIGHT = 3.0  # weight of that prior, in jumps
SMALLEST, LARGEST = 4.0, 1e4  # bounds of the estimated variance of a jump
AGES = 4  # ages with separate chances of a jump: 1, 2, 3, and more pulls since the last one
MINIMUM_CHANCE = 1e-3  # chances learned for each age stay at least this far from 0 and 1
LARGE = 1e250  # upper bound of a squared residual over RSS, so that no infinities are compared
TINY = 1e-200  # lower bound of RSS, so that equal rewards cause no division by 0

Float_F = Annotated[Floats, np.float64, PATHS]
Float_FA = Annotated[Floats, np.float64, PATHS, AGES]
Float_FK = Annotated[Floats, np.float64, PATHS, "K"]
Float_FKK = Annotated[Floats, np.float64, PATHS, "K", "K"]


class Paths(NamedTuple):
    """State of hypotheses about when the hidden tide jumped (paths), several for each model of the tide.

    There are `EACH` paths for each kind. The paths of the first kind come first, then those of the second,
    and so on.

    Attributes
    ----------
    level : (F, K) the current level of each arm, tide included.
    C : (F, K, K) covariance of the levels, in noise variances.
    weight : (F,) relative likelihood of the path, about 1 for the likeliest; 0: the path is not in use.
    rss : (F,) residual sum of squares.
    jumps : (F,) expected number of jumps so far.
    squares : (F,) expected sum of squared jumps.
    chance, jump, residual, spread : (F,) p, J, e and S of the current reward.
    evidence, density : (F,) the likelihood of the current reward is exp(evidence) density.
    slope, steep : (F,) slope of the tide, and its variance in noise variances.
    tilt : (F, K) covariance of the slope with the levels.
    age : (F,) pulls since the last jump.
    lasted, ended : (F, AGES) expected number of times that the tide reached each age, and jumped there.
    column : (K,) scratch.
    """

    level: Float_FK
    C: Float_FKK
    weight: Float_F
    rss: Float_F
    jumps: Float_F
    squares: Float_F
    chance: Float_F
    jump: Float_F
    residual: Float_F
    spread: Float_F
    evidence: Float_F
    density: Float_F
    slope: Float_F
    steep: Float_F
    tilt: Float_FK
    age: Float_F
    lasted: Float_FA
    ended: Float_FA
    column: FloatK


@kernel
def start_paths(paths):
    """Start with one hypothesis about when the tide jumped (a path) for each model of the tide."""
    for kind in range(KINDS):
        paths.weight[kind * EACH] = PRIOR[kind]
        paths.steep[kind * EACH] = SLOPE[kind]


@kernel
def predict_jump(paths, f, nu):
    """Predict the tide's drift, jump probability and jump size before the next pull, under one hypothesis.

    Drift and size are variances. `nu` is the number of degrees of freedom of the path.
    """
    kind, jumps = f // EACH, paths.jumps[f]
    chance = (JUMPS[kind] + jumps) / (JUMPS[kind] + NO_JUMPS[kind] + nu)
    if COMMON_WEIGHT[kind] > 0.0:
        age = int(min(paths.age[f], AGES - 1.0))
        chance = (COMMON_WEIGHT[kind] * chance + paths.ended[f, age]) / (
            COMMON_WEIGHT[kind] + paths.lasted[f, age]
        )
        chance = min(max(chance, MINIMUM_CHANCE), 1.0 - MINIMUM_CHANCE)
    size = JUMP
    if nu > 2:
        size = (JUMP * WEIGHT + paths.squares[f] * nu / max(paths.rss[f], TINY)) / (WEIGHT + jumps)
    return DRIFT[kind], chance, min(max(size, SMALLEST), LARGEST)


@kernel
def update_age(paths, f):
    """Update how often the tide jumped, counted separately for each number of pulls since its last jump.

    The age is the number of pulls since the last jump.
    """
    p, age = paths.chance[f], int(min(paths.age[f], AGES - 1.0))
    paths.ended[f, age] += p
    paths.lasted[f, age] += 1.0
    paths.age[f] = 0.0 if p > 0.5 else paths.age[f] + 1.0


@kernel
def apply_slope(paths, f, bend):
    """Move the estimated means of all arms by the tide's estimated slope.

    The variance of the slope grows by `bend`.
    """
    tilt, slope, steep = paths.tilt, paths.slope[f], paths.steep[f]
    K = paths.column.size
    for i in range(K):
        paths.level[f, i] += slope
        more = tilt[f, i] + steep
        for k in range(K):
            paths.C[f, i, k] += more + tilt[f, k]
    for i in range(K):
        tilt[f, i] += steep
    paths.steep[f] += bend


@kernel
def start_arm_level(paths, f, arm, n, mean, drift):
    """Set the estimated mean of an arm to the average of its first rewards.

    The covariance of the other levels increases by `drift`.
    """
    level, C = paths.level, paths.C
    K = paths.column.size
    for i in range(K):
        for k in range(K):
            C[f, i, k] = C[f, i, k] + drift if i != arm and k != arm else 0.0
    C[f, arm, arm] = 1.0 / n
    level[f, arm] = mean
    paths.tilt[f, arm] = 0.0


@kernel
def compute_likelihood(paths, f, arm, n, mean, nu, drift, chance, size):
    """Compute the probability of a jump of the tide before new rewards, and the likelihood of the rewards.

    The noise variance is integrated out: densities are Student's, (1 + e^2/(S RSS))^(-(nu + 1)/2) over
    sqrt(S RSS), without factors that are the same for all paths. With nu = 0 all rewards are equally likely.
    """
    e = mean - paths.level[f, arm]
    S = paths.C[f, arm, arm] + drift + 1.0 / n
    paths.residual[f], paths.spread[f], paths.jump[f] = e, S, size
    paths.chance[f], paths.evidence[f], paths.density[f] = chance, 0.0, 1.0
    if nu > 0:
        rss, after = max(paths.rss[f], TINY), S + size
        square = min(e * e / rss, LARGE)
        half, moved = 0.5 * (nu + 1.0), math.log(1.0 + square / after)
        calm = (1.0 - chance) * math.exp(half * (moved - math.log(1.0 + square / S)))
        jumped = chance * math.sqrt(S / after)
        paths.chance[f] = jumped / (calm + jumped)
        paths.density[f] = (calm + jumped) / math.sqrt(S * rss)
        paths.evidence[f] = -half * moved


@kernel
def update_path(paths, f, arm, nu, drift):
    """Update one hypothesis about when the tide jumped (a path) with new rewards.

    `compute_likelihood` must have processed the rewards before. One normal distribution approximates the
    mixture of its two cases, a jump and no jump.
    """
    level, C, c = paths.level, paths.C, paths.column
    p, J, e, S = paths.chance[f], paths.jump[f], paths.residual[f], paths.spread[f]
    K, q, stayed, left = c.size, 1.0 - p, 1.0 / S, 1.0 / (S + J)
    calm, jumped = e * stayed, e * left
    old = paths.rss[f]
    # average precisions, not variances, so that a missed jump does not hide the next one
    rss = 1.0 / (q / max(old + e * calm, TINY) + p / max(old + e * jumped, TINY))
    noise = rss / (nu + 1.0)
    paths.rss[f] = rss
    paths.jumps[f] += p
    paths.squares[f] += p * (J * jumped * J * jumped + noise * J * S * left)
    a, b, both = calm - jumped, J * jumped, p * q / noise  # the means differ by a c - b
    alpha = both * a * a - q * stayed - p * left
    beta = -p * J * left - both * a * b
    gamma = p * J * S * left + both * b * b + drift
    gain, lift = q * calm + p * jumped, p * b
    for i in range(K):
        c[i] = C[f, i, arm] + drift
        level[f, i] += gain * c[i] + lift
    if paths.steep[f] > 0.0:  # the same update, except that jumps do not move the slope
        own = paths.tilt[f, arm]
        paths.slope[f] += gain * own
        paths.steep[f] += alpha * own * own
        for i in range(K):
            paths.tilt[f, i] += own * (alpha * c[i] + beta)
    for i in range(K):
        along, across = alpha * c[i] + beta, beta * c[i] + gamma
        for k in range(K):
            C[f, i, k] += along * c[k] + across


@kernel
def update_after_jump(paths, f, arm, n, mean):
    """Update one hypothesis about the tide with rewards after a jump of known time but unknown size.

    This is the limit of an infinite variance J of the jump. The arm's level becomes the mean of the rewards,
    and the differences of levels stay. The slope restarts: otherwise it would be mistaken for a difference
    between the arms played before and after the jump.
    """
    level, C, c = paths.level, paths.C, paths.column
    K = c.size
    for i in range(K):
        c[i] = C[f, i, arm]
    e, own = mean - level[f, arm], C[f, arm, arm] + 1.0 / n
    paths.age[f], paths.slope[f], paths.steep[f] = 0.0, 0.0, SLOPE[f // EACH]
    for i in range(K):
        level[f, i] += e
        paths.tilt[f, i] = 0.0
        for k in range(K):
            C[f, i, k] += own - c[i] - c[k]


@kernel
def copy_path(paths, f, to):
    """Copy one hypothesis about when the tide jumped (a path) to another index.

    Its values for the current reward are not copied.
    """
    K = paths.column.size
    for i in range(K):
        paths.level[to, i] = paths.level[f, i]
        paths.tilt[to, i] = paths.tilt[f, i]
        for k in range(K):
            paths.C[to, i, k] = paths.C[f, i, k]
    paths.weight[to] = paths.weight[f]
    paths.rss[to] = paths.rss[f]
    paths.jumps[to] = paths.jumps[f]
    paths.squares[to] = paths.squares[f]
    paths.jump[to] = paths.jump[f]
    paths.residual[to] = paths.residual[f]
    paths.spread[to] = paths.spread[f]
    paths.slope[to] = paths.slope[f]
    paths.steep[to] = paths.steep[f]
    paths.age[to] = paths.age[f]
    for age in range(AGES):
        paths.lasted[to, age] = paths.lasted[f, age]
        paths.ended[to, age] = paths.ended[f, age]
