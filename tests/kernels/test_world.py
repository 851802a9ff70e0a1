"""What a world draws and what is counted of its runs, interpreted, against words and sums written out."""

from __future__ import annotations

import math

import numpy as np

import tideproof as tp
from simulations import in_turn_until_a_coin_says_stop, made_up
from tideproof.core.link import quietly
from tideproof.kernels.random import ENVIRONMENT, LANE_BITS, threefry, unit
from tideproof.kernels.replicate import STOPPED
from tideproof.kernels.world import environment, noise
from tideproof.lab.engines.cpu import empty_trace, run_loop

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


def test_runs_that_stopped_by_themselves_are_counted_once_at_each_budget():
    spec, world, budgets = made_up(in_turn_until_a_coin_says_stop, False), tp.mdm(2), [5, 20, 60]
    score, _ = run_loop(spec.program().replicate, spec, world, budgets, 1, 0, 40, empty_trace(60, 2))
    steps = [len(tp.replay(world, spec, seed=1, replication=r, budget=60).arm) for r in range(40)]
    assert score.counts[:, STOPPED].tolist() == [sum(t < budget for t in steps) for budget in budgets]
