"""The tide as a hidden path: y = level of the arm + noise, and all levels rise and fall together.

What is followed is not arm and tide but their sum, the level of each arm now, of which y shows one. A path is
one story of when the tide jumped: given it, levels are normal and the noise variance is gamma, so that all is
known from K levels, their covariance C in units of the noise variance, and a residual sum of squares. With
c = C_a + r (r the drift's variance a pull, S = c_a + r + 1/n, e = y - level_a) a pull of arm a does

    level += c e/S,                     C += r - cc'/S                      if there was no jump before it,
    level += (c + J) e/(S + J),         C += r + J - (c + J)(c + J)'/(S + J)     after one of variance J,

and a mixture of both, one with chance p, is made one normal again by its mean and covariance. All of these
are C + alpha cc' + beta (c1' + 1c') + gamma 11': O(K^2), two products an entry. An arm never seen has a flat
prior, exactly: its first reward is its level, and tells nothing about the others.

J and the chance of a jump are learned on each path: a Beta prior for the chance, a weak one for the size.
Where jumps are frequent, so is how long the tide stays before the next: the chance is learned age by age.

A tide may also have a slope, which walks: before a pull all levels rise by it. It is one number more, with
its variance (`steep`) and its covariances with the levels (`tilt`), and takes part in every step as a level
would that no jump moves.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from tideproof.core.array_layout import FloatK, Floats
from tideproof.core.kernel_linker import kernel

# Kinds of tide: rare jumps; frequent jumps; rare jumps and a slow drift; and a quick one; and a slope. Of
# each, the drift's variance a pull (in noise variances), what the prior of a jump's chance counts: jumps, and
# none; how many pulls at an age the chance at all ages counts for, 0: ages are not told apart; the variance
# of a change of the slope, and of the slope at first; how likely the kind is, compared with the first.
DRIFT = (0.0, 0.0, 0.01, 0.15, 0.0)
JUMPS = (0.5, 3.0, 0.5, 0.5, 0.5)
CALMS = (14.5, 3.0, 14.5, 14.5, 99.5)
HABIT = (0.0, 2.0, 0.0, 0.0, 0.0)
BEND = (0.0, 0.0, 0.0, 0.0, 0.01)
SLOPE = (0.0, 0.0, 0.0, 0.0, 0.07)
PRIOR = (1.0, 0.1, 0.05, 0.1, 0.1)
KINDS = 5
EACH = 4  # paths of each kind
PATHS = KINDS * EACH

JUMP = 66.0  # prior variance of a jump, in noise variances,
WEIGHT = 3.0  # which counts as much as so many jumps
SMALLEST, LARGEST = 4.0, 1e4
AGES = 4  # pulls since the last jump that are told apart: 1, 2, 3, and more
NEVER = 1e-3  # no chance that was learned age by age is nearer to 0 or 1
LARGE = 1e250  # a squared residual over that sum is below: no two infinities are compared
TINY = 1e-200  # a residual sum of squares is above: where all rewards are equal nothing is divided by 0

Float_F = Annotated[Floats, np.float64, PATHS]
Float_FA = Annotated[Floats, np.float64, PATHS, AGES]
Float_FK = Annotated[Floats, np.float64, PATHS, "K"]
Float_FKK = Annotated[Floats, np.float64, PATHS, "K", "K"]


class Paths(NamedTuple):
    """Several paths, EACH of them of the first kind, EACH of the second, and so on.

    Attributes
    ----------
    level : (F, K) of each arm, tide included.
    C : (F, K, K) covariance, in noise variances.
    weight : (F,) how likely a path is, that of the likeliest 1 to within rounding; 0: it is not followed.
    rss : (F,) residual sum of squares.
    jumps : (F,) jumps so far, as expected.
    squares : (F,) their squares summed.
    chance, jump, residual, spread : (F,) of the reward that comes in now: p, J, e and S.
    evidence, density : (F,) its density: e to the evidence, times that.
    slope, steep : (F,) of the tide, and its variance, in noise variances.
    tilt : (F, K) its covariance with the levels.
    age : (F,) pulls since the last jump.
    lasted, ended : (F, AGES) how often the tide came to that age, and jumped there, as expected.
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
def begin(paths):
    """Follow one path of each kind."""
    for kind in range(KINDS):
        paths.weight[kind * EACH] = PRIOR[kind]
        paths.steep[kind * EACH] = SLOPE[kind]


@kernel
def look_ahead(paths, f, nu):
    """Return drift, chance and size of a jump before the next pull on this path, whose freedom is nu."""
    kind, jumps = f // EACH, paths.jumps[f]
    chance = (JUMPS[kind] + jumps) / (JUMPS[kind] + CALMS[kind] + nu)
    if HABIT[kind] > 0.0:
        age = int(min(paths.age[f], AGES - 1.0))
        chance = (HABIT[kind] * chance + paths.ended[f, age]) / (HABIT[kind] + paths.lasted[f, age])
        chance = min(max(chance, NEVER), 1.0 - NEVER)
    size = JUMP
    if nu > 2:
        size = (JUMP * WEIGHT + paths.squares[f] * nu / max(paths.rss[f], TINY)) / (WEIGHT + jumps)
    return DRIFT[kind], chance, min(max(size, SMALLEST), LARGEST)


@kernel
def grow_older(paths, f):
    """Learn from the reward that was followed at which age the tide jumps."""
    p, age = paths.chance[f], int(min(paths.age[f], AGES - 1.0))
    paths.ended[f, age] += p
    paths.lasted[f, age] += 1.0
    paths.age[f] = 0.0 if p > 0.5 else paths.age[f] + 1.0


@kernel
def rise(paths, f, bend):
    """Move all levels by the slope, which then may have changed by that variance."""
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
def look_first(paths, f, arm, n, mean, drift):
    """Take in the first rewards of an arm, the tide uncertain by `drift` more: its level is their mean."""
    level, C = paths.level, paths.C
    K = paths.column.size
    for i in range(K):
        for k in range(K):
            C[f, i, k] = C[f, i, k] + drift if i != arm and k != arm else 0.0
    C[f, arm, arm] = 1.0 / n
    level[f, arm] = mean
    paths.tilt[f, arm] = 0.0


@kernel
def judge(paths, f, arm, n, mean, nu, drift, chance, size):
    """Find how likely a jump before these rewards was, and how likely they are.

    The noise variance is integrated out: densities are Student's, (1 + e^2/(S RSS))^(-(nu + 1)/2) over
    sqrt(S RSS), without what is the same for all paths. With nu = 0 any reward is as likely as another.
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
def follow(paths, f, arm, nu, drift):
    """Take in the reward that was judged: both possibilities, made one."""
    level, C, c = paths.level, paths.C, paths.column
    p, J, e, S = paths.chance[f], paths.jump[f], paths.residual[f], paths.spread[f]
    K, q, stayed, left = c.size, 1.0 - p, 1.0 / S, 1.0 / (S + J)
    calm, jumped = e * stayed, e * left
    old = paths.rss[f]
    # precisions are averaged, not variances: a jump that was missed must not hide the next
    rss = 1.0 / (q / max(old + e * calm, TINY) + p / max(old + e * jumped, TINY))
    noise = rss / (nu + 1.0)
    paths.rss[f] = rss
    paths.jumps[f] += p
    paths.squares[f] += p * (J * jumped * J * jumped + noise * J * S * left)
    a, b, both = calm - jumped, J * jumped, p * q / noise  # means differ by a c - b
    alpha = both * a * a - q * stayed - p * left
    beta = -p * J * left - both * a * b
    gamma = p * J * S * left + both * b * b + drift
    gain, lift = q * calm + p * jumped, p * b
    for i in range(K):
        c[i] = C[f, i, arm] + drift
        level[f, i] += gain * c[i] + lift
    if paths.steep[f] > 0.0:  # the same, but that no jump moves a slope
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
def restart(paths, f, arm, n, mean):
    """Take in rewards after a jump of which nothing is known: the limit J -> infinity of a certain one.

    The arm's level is their mean, and what is known of differences of levels stays. A slope begins anew: one
    that went on would be taken for a difference of the arms played first and second.
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
    """Let path `to` be what f is, but for the chance of a jump."""
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
