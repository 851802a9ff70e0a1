"""What a world draws and what is counted of its runs, interpreted, against words and sums written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from simulations import in_turn_until_a_coin_says_stop, made_up
from tideproof.core.kernel_linker import ignore_overflow
from tideproof.kernels.simulate.replication_loop import STOPPED
from tideproof.kernels.simulate.threefry import ENVIRONMENT, LANE_BITS, NOISE, threefry, unit
from tideproof.kernels.simulate.world_draws import (
    environment,
    level,
    noise,
    poisson_quantile,
    reward,
    reward_at,
)
from tideproof.lab.engines.cpu_engine import empty_trace, run_loop

SEED, REPLICATION = np.uint64(1), np.uint64(2)


def environment_of(j, **parts):
    return ignore_overflow(environment)(tp.World([0.0, 1.0], **parts).numbers(), SEED, REPLICATION, j, 0.0)


def uniforms(j):
    words = ignore_overflow(threefry)(np.uint64(j), ENVIRONMENT << LANE_BITS, SEED, REPLICATION)
    return [unit(word) for word in words]


def test_lengths_and_shifts_come_from_the_words_of_their_environment():
    for j in range(6):
        u, v = uniforms(j)
        assert environment_of(j, lengths=(2, 9), shifts=tp.worlds.Uniform(3.0, 5.0)) == (
            2 + int(u * 8),
            3.0 + v * 2.0,
        )
        assert environment_of(j, lengths=tp.worlds.Lengths([3, 7]))[0] == (3, 7)[j % 2]
        assert environment_of(j, lengths=tp.worlds.Geometric(5.0, 2))[0] == 2 + int(
            math.log(u) / math.log(0.75)
        )
        assert environment_of(j, lengths=None, shifts=tp.worlds.NoShift()) == (2**62, 0.0)


def test_a_reward_is_mean_shift_and_scaled_noise():
    world = tp.World([0.0, 1.0], sigma=(0.5, 2.0), lengths=(2, 5), shifts=tp.worlds.Uniform(3.0, 5.0))
    run = tp.replay(world, "round-robin", seed=1, replication=2, budget=20)
    for t, (arm, shift, told) in enumerate(zip(run.arm, run.shift, run.reward, strict=True)):
        z = ignore_overflow(noise)(world.numbers(), SEED, REPLICATION, t)
        assert told == world.means[arm] + shift + (0.5, 2.0)[arm] * z


def rewards_of(**kind):
    """Return a world, one of its runs, and the two uniform numbers of each step."""
    world = tp.World([0.2, 0.5], lengths=(2, 5), shifts=tp.worlds.Uniform(-0.1, 0.4), **kind)
    run = tp.replay(world, "round-robin", seed=1, replication=2, budget=200)
    steps = [
        ignore_overflow(threefry)(np.uint64(t), NOISE << LANE_BITS, SEED, REPLICATION) for t in range(200)
    ]
    return world, run, np.array([[unit(word) for word in words] for words in steps]).T


@pytest.mark.parametrize("tide", ["adds", "multiplies"])
def test_rewards_are_quantiles_of_their_law_at_its_mean_there(tide):
    world, run, (u, v) = rewards_of(rewards="conversions", tide=tide)
    own = np.array(world.means)[run.arm]
    mean = own + run.shift if tide == "adds" else own * np.exp(run.shift)
    assert run.reward.tolist() == (u >= 1.0 - mean).tolist()
    _, counted, _ = rewards_of(rewards="counts", tide=tide)
    assert counted.reward.tolist() == stats.poisson(mean).ppf(u).tolist()
    _, paid, _ = rewards_of(rewards=tp.worlds.Money(1.7, zeros=0.3), tide=tide)
    log_sd = math.sqrt(math.log(1 + 1.7**2))
    law = stats.lognorm(log_sd, scale=mean / 0.7 / math.exp(log_sd**2 / 2))
    np.testing.assert_allclose(paid.reward, np.where(v < 0.3, 0.0, law.ppf(u)), rtol=1e-12)
    for other in (counted, paid):
        assert (other.shift == run.shift).all()


def test_normal_rewards_under_a_tide_that_multiplies():
    world, run, _ = rewards_of(tide="multiplies")
    z = [ignore_overflow(noise)(world.numbers(), SEED, REPLICATION, t) for t in range(200)]
    np.testing.assert_allclose(run.reward, np.array(world.means)[run.arm] * np.exp(run.shift) + z, rtol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 1e-3, 0.7, 5.0, 60.0, 500.0])
def test_poisson_quantiles(mean):
    for u in (2.0**-53, 1e-6, 0.01, 0.3, 0.5, 0.77, 0.99, 1.0 - 1e-9):
        assert ignore_overflow(poisson_quantile)(mean, u) == stats.poisson(mean).ppf(u)
    farthest = ignore_overflow(poisson_quantile)(mean, 1.0 - 2.0**-53)
    assert stats.poisson(mean).sf(farthest) < 1e-12
    assert mean == 0.0 or stats.poisson(mean).sf(farthest - 1.0) > 1e-17


def test_means_that_cannot_be_are_clipped():
    """Shifts without bounds lead there; what has bounds is refused when the world is made."""
    world = tp.World([0.2, 0.5], shifts=tp.worlds.Normal(0.0, 1.0), rewards="conversions").numbers()
    assert [reward_at(world, mean, 0.3, 0.5) for mean in (-0.4, 1.3)] == [0.0, 1.0]
    world = tp.World([0.2, 0.5], shifts=tp.worlds.Normal(0.0, 1.0), rewards="counts").numbers()
    assert reward_at(world, -2.0, 0.999, 0.5) == 0.0
    assert reward_at(world, 1e300, 0.5, 0.5) == stats.poisson(500).ppf(0.5)
    world = tp.World([0.2, 0.5], shifts=tp.worlds.RandomWalk(1.0), rewards="money").numbers()
    assert reward_at(world, -2.0, 0.999, 0.5) == 0.0
    steep = tp.World(
        [0.2, 0.5], shifts=tp.worlds.RandomWalk(1.0), rewards="money", tide="multiplies"
    ).numbers()
    assert math.isfinite(level(steep, 1, 1e6))


def test_a_kind_of_rewards_without_a_branch_is_drawn_as_nothing():
    numbers = tp.World([0.2, 0.5]).numbers()._replace(rewards=99)
    assert math.isnan(ignore_overflow(reward)(numbers, SEED, REPLICATION, 0, 1, 0.0, 1.0))


def test_runs_that_stopped_by_themselves_are_counted_once_at_each_budget():
    spec, world, budgets = made_up(in_turn_until_a_coin_says_stop, False), tp.mdm(2), [5, 20, 60]
    score, _ = run_loop(spec.program().replicate, spec, world, budgets, 1, 0, 40, empty_trace(60, 2))
    steps = [len(tp.replay(world, spec, seed=1, replication=r, budget=60).arm) for r in range(40)]
    assert score.counts[:, STOPPED].tolist() == [sum(t < budget for t in steps) for budget in budgets]
