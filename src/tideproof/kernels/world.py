"""Drawing a world: the length and shift of environment j, the noise of step t.

Each is a function of (seed, replication) and its own index, so every policy meets the same world
and any replication can be drawn alone. `worlds` fills in the numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.core.link import kernel
from tideproof.kernels.random import ENVIRONMENT, LANE_BITS, NOISE, normal_quantile, threefry, unit

NEVER, BETWEEN, GEOMETRIC, LISTED = 0, 1, 2, 3  # kinds of length
NONE, UNIFORM, NORMAL, WALK, WEEKLY = 0, 1, 2, 3, 4  # kinds of shift

_FOREVER = 2**62


class Numbers(NamedTuple):
    """A world in numbers.

    Attributes
    ----------
    means, sigmas : (K,) mean and noise standard deviation of each arm.
    freedom : degrees of freedom of Student-t noise, scaled to variance 1; 0 for normal noise.
    length : kind of environment length, with its two parameters or its list.
    shift : kind of shift process, with its two parameters or its weekly pattern; one that needs more has
        a field of its own here and in `World.numbers`.
    """

    means: Floats
    sigmas: Floats
    freedom: float
    length: int
    length_a: float
    length_b: float
    lengths: Ints
    shift: int
    shift_a: float
    shift_b: float
    pattern: Floats


@kernel
def environment(world, seed, replication, j, shift):
    """Return length and shift of environment j, given the shift of the one before."""
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
    return length, math.nan  # a kind that nobody wrote a branch for


@kernel
def noise(world, seed, replication, t):
    """Return the standardised noise of step t: what any arm played then would have had.

    Student-t noise by the polar method of Bailey (1994), Polar generation of random variates with
    the t-distribution: exact for any degrees of freedom.
    """
    word0, word1 = threefry(np.uint64(t), NOISE << LANE_BITS, seed, replication)
    if world.freedom == 0.0:
        return normal_quantile(unit(word0))
    nu = world.freedom
    radius = math.sqrt((nu - 2.0) * math.expm1(-2.0 / nu * math.log(unit(word0))))
    return radius * math.cos(2.0 * math.pi * unit(word1))
