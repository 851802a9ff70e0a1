"""What a world draws, interpreted, against its words written out."""

from __future__ import annotations

import math

import numpy as np

import tideproof as tp
from tideproof.core.link import quietly
from tideproof.kernels.random import ENVIRONMENT, LANE_BITS, threefry, unit
from tideproof.kernels.world import environment, noise

SEED, REPLICATION = np.uint64(1), np.uint64(2)


def drawn(j, **parts):
    return quietly(environment)(tp.World([0.0, 1.0], **parts).numbers(), SEED, REPLICATION, j, 0.0)


def uniforms(j):
    words = quietly(threefry)(np.uint64(j), ENVIRONMENT << LANE_BITS, SEED, REPLICATION)
    return [unit(word) for word in words]


def test_lengths_and_shifts_come_from_the_words_of_their_environment():
    for j in range(6):
        u, v = uniforms(j)
        assert drawn(j, lengths=(2, 9), shifts=tp.Uniform(3.0, 5.0)) == (2 + int(u * 8), 3.0 + v * 2.0)
        assert drawn(j, lengths=tp.Lengths([3, 7]))[0] == (3, 7)[j % 2]
        assert drawn(j, lengths=tp.Geometric(5.0, 2))[0] == 2 + int(math.log(u) / math.log(0.75))
        assert drawn(j, lengths=None, shifts=tp.NoShift()) == (2**62, 0.0)


def test_a_reward_is_mean_shift_and_scaled_noise():
    world = tp.World([0.0, 1.0], sigma=(0.5, 2.0), lengths=(2, 5), shifts=tp.Uniform(3.0, 5.0))
    run = tp.replay(world, "round-robin", seed=1, replication=2, budget=20)
    for t, (arm, shift, reward) in enumerate(zip(run.arm, run.shift, run.reward, strict=True)):
        z = quietly(noise)(world.numbers(), SEED, REPLICATION, t)
        assert reward == world.means[arm] + shift + (0.5, 2.0)[arm] * z
