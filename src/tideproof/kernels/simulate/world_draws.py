"""Random draws of a simulated world: length and shift of environment j, noise and reward of step t.

Each is a function of (seed, replication) and its own index. So every policy meets the same world, and any
replication can be drawn alone. `worlds` defines the parameters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.simulate.threefry import (
    CELL,
    DRIFT,
    ENVIRONMENT,
    LANE_BITS,
    LOUDNESS,
    NOISE,
    normal_quantile,
    threefry,
    unit,
)

NEVER, BETWEEN, GEOMETRIC, LISTED = 0, 1, 2, 3  # kinds of environment lengths
NONE, UNIFORM, NORMAL, WALK, WEEKLY = 0, 1, 2, 3, 4  # kinds of shift processes
STEADY, SINUSOID, WANDER, TREND, CURVE = 0, 1, 2, 3, 4  # kinds of drift inside environments
NOISY, CONVERSIONS, COUNTS, MONEY = 0, 1, 2, 3  # kinds of rewards; the first are mean plus noise

_FOREVER = 2**62
_STEEPEST = 700.0  # upper bound of a multiplicative shift, so that exp of it is finite


class WorldParameters(NamedTuple):
    """Numeric parameters of a simulated world, in the form that compilable functions can read.

    Attributes
    ----------
    means, sigmas : (K,) mean and noise standard deviation of each arm.
    freedom : degrees of freedom of Student-t noise, scaled to variance 1; 0 for normal noise.
    rewards, most, log_sd, zeros : kind of rewards, their largest possible mean, and for amounts of money the
        standard deviation of logarithms and the share of zeros.
    multiplies : 1 if a shift s multiplies means by e^s, 0 if it is added.
    length : kind of environment length, with its two parameters or its list.
    shift : kind of shift process, with its two parameters or its weekly pattern; a process with more
        parameters has its own field here and in `World.numbers`.
    announced : 1 if policies see where an environment begins.
    drift : kind of drift within environments, with its two parameters or its curve.
    interactions : (K,) standard deviation of the interaction of each arm with environments.
    loud : standard deviation of the logarithm of an environment's noise factor.
    wrong, off : share of outlying cells, and their error in sigmas.
    """

    means: Floats
    sigmas: Floats
    freedom: float
    rewards: int
    most: float
    log_sd: float
    zeros: float
    multiplies: int
    length: int
    length_a: float
    length_b: float
    lengths: Ints
    shift: int
    shift_a: float
    shift_b: float
    pattern: Floats
    announced: int
    drift: int
    drift_a: float
    drift_b: float
    curve: Floats
    interactions: Floats
    loud: float
    wrong: float
    off: float


@kernel
def environment(world, seed, replication, j, shift):
    """Return the random length and shift of simulated environment j, given the shift of the one before."""
    word0, word1 = threefry(np.uint64(j), ENVIRONMENT << LANE_BITS, seed, replication)
    u, v = unit(word0), unit(word1)
    length = _FOREVER
    if world.length == BETWEEN:
        length = int(world.length_a) + int(u * (world.length_b - world.length_a + 1.0))
    elif world.length == GEOMETRIC:
        length = int(world.length_a) + int(math.log(u) / world.length_b)
    elif world.length == LISTED:
        length = world.lengths[j % world.lengths.size]
    if world.shift == NONE:
        return length, 0.0
    if world.shift == UNIFORM:
        return length, world.shift_a + v * (world.shift_b - world.shift_a)
    z = normal_quantile(v)
    if world.shift == NORMAL:
        return length, world.shift_a + world.shift_b * z
    if world.shift == WALK:
        return length, world.shift_a + world.shift_b * z if j == 0 else shift + world.shift_b * z
    if world.shift == WEEKLY:
        return length, world.pattern[j % world.pattern.size] + world.shift_b * z
    return length, math.nan  # a kind without a branch here


@kernel
def drift_at(world, seed, replication, t, before):
    """Return the drift of the tide within an environment at step t, given the drift one step before."""
    if world.drift == STEADY:
        return 0.0
    if world.drift == TREND:
        return world.drift_a * t
    first = np.uint64(t if world.drift == WANDER else 0)  # other drifts draw one random phase per replication
    u = unit(threefry(first, DRIFT << LANE_BITS, seed, replication)[0])
    if world.drift == WANDER:
        return before + world.drift_a * normal_quantile(u)
    if world.drift == SINUSOID:
        return world.drift_a * math.sin(2.0 * math.pi * (t / world.drift_b + u))
    if world.drift == CURVE:
        points = world.curve.size
        place = (t / world.drift_b + u * world.drift_a) % 1.0 * points
        here = min(int(place), points - 1)
        part = place - here
        return (1.0 - part) * world.curve[here] + part * world.curve[(here + 1) % points]
    return math.nan  # a kind without a branch here


@kernel
def cell(world, seed, replication, j, arm):
    """Return an arm's simulated interaction with environment j, plus a large error if it is an outlier."""
    if world.interactions[arm] == 0.0 and world.wrong == 0.0:
        return 0.0
    word0, word1 = threefry(np.uint64(j), (CELL << LANE_BITS) + np.uint64(arm), seed, replication)
    alone = world.interactions[arm] * normal_quantile(unit(word0))
    u = unit(word1)
    if u < world.wrong:
        alone += world.off * world.sigmas[arm] * (1.0 if 2.0 * u < world.wrong else -1.0)
    return alone


@kernel
def noise_factor(world, seed, replication, j):
    """Return the factor by which the noise of environment j differs from the usual noise."""
    if world.loud == 0.0:
        return 1.0
    word = threefry(np.uint64(j), LOUDNESS << LANE_BITS, seed, replication)[0]
    return math.exp(world.loud * normal_quantile(unit(word)))


@kernel
def noise(world, seed, replication, t):
    """Return the standardised random noise of simulation step t, which is the same for all arms.

    Student-t noise uses the polar method of Bailey (1994), Polar generation of random variates with the
    t-distribution, which is exact for any degrees of freedom.
    """
    word0, word1 = threefry(np.uint64(t), NOISE << LANE_BITS, seed, replication)
    if world.freedom == 0.0:
        return normal_quantile(unit(word0))
    nu = world.freedom
    radius = math.sqrt((nu - 2.0) * math.expm1(-2.0 / nu * math.log(unit(word0))))
    return radius * math.cos(2.0 * math.pi * unit(word1))


@kernel
def reward(world, seed, replication, t, arm, shift, loud):
    """Return the simulated reward of step t for a pull of `arm`.

    The shift and a factor of the noise are given.
    """
    if world.rewards == NOISY:
        return level(world, arm, shift) + loud * world.sigmas[arm] * noise(world, seed, replication, t)
    word0, word1 = threefry(np.uint64(t), NOISE << LANE_BITS, seed, replication)
    return reward_at(world, level(world, arm, shift), unit(word0), unit(word1))


@kernel
def level(world, arm, shift):
    """Return an arm's mean reward under a shift, before it is clipped to the range that rewards can have."""
    if world.multiplies == 1:
        return world.means[arm] * math.exp(min(shift, _STEEPEST))
    return world.means[arm] + shift


@kernel
def reward_at(world, mean, u, v):
    """Return the reward with the given mean that follows from the uniform random numbers u and v.

    The reward increases with u. A mean outside the range of such rewards is clipped to the range.
    """
    mean = min(max(mean, 0.0), world.most)
    if world.rewards == CONVERSIONS:
        return 1.0 if u >= 1.0 - mean else 0.0
    if world.rewards == COUNTS:
        return poisson_quantile(mean, u)
    if world.rewards == MONEY:
        if v < world.zeros:
            return 0.0
        s = world.log_sd
        return mean / (1.0 - world.zeros) * math.exp(s * (normal_quantile(u) - 0.5 * s))
    return math.nan  # a kind without a branch here


@kernel
def poisson_quantile(mean, u):
    """Return the quantile of a Poisson distribution at the probability `u`.

    It is the smallest k with P(X <= k) >= u, for a mean of at most 700. Takes O(mean). Above the mean it
    stops when a probability is too small to change the sum.
    """
    k, chance = 0.0, math.exp(-mean)
    total = chance
    while total < u:
        k += 1.0
        chance *= mean / k
        if k > mean and total + chance == total:
            return k
        total += chance
    return k
