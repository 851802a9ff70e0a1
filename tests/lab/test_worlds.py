"""Worlds: what they accept, and that the kernels draw what they describe.

Statistical tests as in test_random: fixed seeds, false-alarm rate ALARM each.
"""

from __future__ import annotations

import gc
import json
import math
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import pytest
from scipy import special, stats

import tideproof as tp
from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.kernel_linker import ignore_overflow, kernel, link, use_interpreter
from tideproof.kernels.simulate.world_draws import (
    UNIFORM,
    cell,
    drift_at,
    environment,
    noise,
    noise_factor,
    reward,
)
from tideproof.worlds import SCENARIOS
from tideproof.worlds.environment_lengths import Length
from tideproof.worlds.reward_laws import Kind
from tideproof.worlds.shift_processes import Shift
from tideproof.worlds.tide_drifts import Drift
from tideproof.worlds.world_part import WorldPart

ALARM = 1e-6
N = 50_000
FOREVER = 2**62

WORLDS = [
    tp.mdm(5),
    tp.slippage(4, "worst-case", delta=0.3, sigma=2.0),
    tp.mdm(3, "stationary"),
    tp.World(
        [1, 2], sigma=[0.5, 2], lengths=tp.worlds.Geometric(7.5, minimum=2), shifts=tp.worlds.Normal(1, 3)
    ),
    tp.World([1, 2, 0], lengths=tp.worlds.Lengths([3, 1, 4]), shifts=tp.worlds.RandomWalk(0.5, start=10)),
    tp.World(
        [0, 1],
        lengths=(24, 24),
        shifts=tp.worlds.Weekly([1, 2, 3, 4, 5, 9, 9], sd=0.2),
        noise=tp.worlds.StudentT(4),
    ),
]
DAYS = {"lengths": (3, 9), "shifts": tp.worlds.Uniform(-0.5, 0.5), "tide": "multiplies"}
KINDS = [
    tp.World([0.02, 0.3], rewards="conversions", **DAYS),
    tp.World([0.4, 12.0], rewards="counts", **DAYS),
    tp.World([3.0, 20.0], rewards="money", **DAYS),
    tp.World(
        [3.0, 20.0], lengths=(3, 9), shifts=tp.worlds.Weekly([0, 2]), rewards=tp.worlds.Money(2.5, zeros=0.6)
    ),
    tp.World([-3.0, 20.0], sigma=2.0, **DAYS),
]
DRIFTS = [
    tp.World([0, 1], drift=tp.worlds.Sinusoid(3.0, 50), announced=False),
    tp.World([0, 1], lengths=None, drift=tp.worlds.Wander(0.3)),
    tp.World([0, 1], shifts=tp.worlds.NoShift(), drift=tp.worlds.Trend(-0.02)),
    tp.World([0, 1], drift=tp.worlds.Curve([1.0, 4.0, -2.0], 24, anywhere=True)),
]
CELLS = [
    tp.World([0, 1], interaction=0.5),
    tp.World([0, 1], sigma=2.0, interaction=[0.0, 2.0], outliers=tp.worlds.Outliers(0.1, 20.0)),
    tp.World([0, 1], noise_by_environment=0.7),
]
WORLDS += KINDS + DRIFTS + CELLS


@kernel
def draw_environments(world, seed, replication, lengths, shifts):
    shift = 0.0
    for j in range(lengths.size):
        lengths[j], shift = environment(world, seed, replication, j, shift)
        shifts[j] = shift


@kernel
def draw_noise(world, seed, replication, out):
    for t in range(out.size):
        out[t] = noise(world, seed, replication, t)


@kernel
def draw_rewards(world, seed, replication, arm, shift, out):
    for t in range(out.size):
        out[t] = reward(world, seed, replication, t, arm, shift, 1.0)


@pytest.fixture(scope="module")
def draw_reward():
    """Return n rewards of an arm under one shift."""
    pytest.importorskip("numba")
    rewards = link(draw_rewards, compile_for_cpu)

    def told(world, arm, shift, n=N):
        out = np.zeros(n)
        rewards(world.numbers(), np.uint64(5), np.uint64(0), arm, shift, out)
        return out

    return told


@pytest.fixture(scope="module")
def draw():
    """Return lengths and shifts of n environments, and the noise of n steps."""
    pytest.importorskip("numba")
    environments, noises = link(draw_environments, compile_for_cpu), link(draw_noise, compile_for_cpu)

    def drawn(world, n=N, replication=0):
        at = world.numbers(), np.uint64(5), np.uint64(replication)
        lengths, shifts, eps = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        environments(*at, lengths, shifts)
        noises(*at, eps)
        return lengths, shifts, eps

    return drawn


def with_lengths(lengths):
    return tp.World([0, 1], lengths=lengths)


def with_shifts(shifts):
    return tp.World([0, 1], shifts=shifts)


def test_lengths_between_are_equally_likely(draw):
    lengths, _, _ = draw(with_lengths((2, 7)))
    seen = np.bincount(lengths, minlength=9)
    assert seen[:2].sum() + seen[8:].sum() == 0
    assert stats.chisquare(seen[2:8]).pvalue > ALARM


@pytest.mark.parametrize(("mean", "minimum"), [(6.0, 1), (9.5, 4), (1.02, 1)])
def test_geometric_lengths(draw, mean, minimum):
    lengths, _, _ = draw(with_lengths(tp.worlds.Geometric(mean, minimum)))
    law = stats.geom(1 / (1 + mean - minimum), loc=minimum - 1)
    longest = int(law.isf(20 / N))  # the last cell takes all that is longer
    cells = np.bincount(np.minimum(lengths, longest), minlength=longest + 1)[minimum:]
    expected = np.append(law.pmf(np.arange(minimum, longest)), law.sf(longest - 1)) * N
    assert lengths.min() >= minimum
    assert stats.chisquare(cells, expected).pvalue > ALARM


def test_geometric_without_spread(draw):
    lengths, _, _ = draw(with_lengths(tp.worlds.Geometric(3, minimum=3)), n=1000)
    assert set(lengths) == {3}


def test_listed_and_endless_lengths(draw):
    assert draw(with_lengths(tp.worlds.Lengths([3, 1, 4])), n=7)[0].tolist() == [3, 1, 4, 3, 1, 4, 3]
    assert draw(with_lengths(None), n=3)[0].tolist() == [FOREVER] * 3


def test_uniform_shifts(draw):
    lengths, shifts, eps = draw(with_shifts(tp.worlds.Uniform(-3, 5)))
    assert stats.kstest(shifts, "uniform", (-3, 8)).pvalue > ALARM
    for other in (lengths, eps):
        assert abs(stats.pearsonr(shifts, other).statistic) * math.sqrt(N) < -special.ndtri(ALARM / 4)


def test_normal_shifts(draw):
    _, shifts, _ = draw(with_shifts(tp.worlds.Normal(2, 0.5)))
    assert stats.kstest(shifts, "norm", (2, 0.5)).pvalue > ALARM


def test_random_walk_steps_from_its_start(draw):
    _, shifts, _ = draw(with_shifts(tp.worlds.RandomWalk(0.5, start=100)))
    steps = np.diff(shifts, prepend=100.0)
    assert stats.kstest(steps, "norm", (0, 0.5)).pvalue > ALARM
    assert abs(stats.pearsonr(steps[1:], steps[:-1]).statistic) * math.sqrt(N) < -special.ndtri(ALARM / 2)


def test_weekly_pattern(draw):
    pattern = [0.0, 1, 2, 3, 2, 7, 7]
    assert draw(with_shifts(tp.worlds.Weekly(pattern)), n=14)[1].tolist() == pattern * 2
    _, shifts, _ = draw(with_shifts(tp.worlds.Weekly(pattern, sd=0.1)))
    assert stats.kstest(shifts - np.resize(pattern, N), "norm", (0, 0.1)).pvalue > ALARM


def test_no_shift(draw):
    assert not draw(with_shifts(tp.worlds.NoShift()))[1].any()


@pytest.mark.parametrize("freedom", [2.5, 5, 1e12])
def test_student_noise_has_unit_variance(draw, freedom):
    _, _, eps = draw(tp.World([0, 1], noise=tp.worlds.StudentT(freedom)))
    scale = math.sqrt((freedom - 2) / freedom)
    assert stats.kstest(eps / scale, "t", (freedom,)).pvalue > ALARM
    assert stats.t(freedom, scale=scale).var() == pytest.approx(1.0)


def test_normal_noise_is_the_same_in_every_world_but_not_in_every_replication(draw):
    _, _, eps = draw(WORLDS[0])
    assert stats.kstest(eps, "norm").pvalue > ALARM
    assert (eps == draw(WORLDS[3])[2]).all()
    again = draw(WORLDS[0], replication=1)[2]
    assert abs(stats.pearsonr(eps, again).statistic) * math.sqrt(N) < -special.ndtri(ALARM / 2)


def test_compiled_and_interpreted_worlds_are_the_same_bits(draw):
    for world in WORLDS:
        lengths, shifts, eps = draw(world, n=20)
        numbers, shift = world.numbers(), 0.0
        for j in range(20):
            length, shift = ignore_overflow(environment)(numbers, np.uint64(5), np.uint64(0), j, shift)
            assert (length, shift) == (lengths[j], shifts[j])
            assert ignore_overflow(noise)(numbers, np.uint64(5), np.uint64(0), j) == eps[j]


def near(values, mean, variance):
    """Tell whether mean and variance of the values are those; for the latter their fourth moment is taken."""
    limit = -special.ndtri(ALARM / 4)
    off = values.mean() - mean, np.square(values - mean).mean() - variance
    errors = math.sqrt(variance / len(values)), np.square(values - mean).std() / math.sqrt(len(values))
    return abs(off[0]) < limit * errors[0] and abs(off[1]) < limit * errors[1]


@pytest.mark.parametrize(("tide", "mean"), [("adds", 0.3), ("multiplies", 0.2 * math.exp(0.1))])
def test_mean_and_variance_of_rewards(draw_reward, tide, mean):
    def told(kind):
        world = tp.World([0.2, 0.5], shifts=tp.worlds.Uniform(0, 0.1), rewards=kind, tide=tide)
        return draw_reward(world, 0, 0.1)

    assert near(told("conversions"), mean, mean * (1 - mean))
    assert near(told("counts"), mean, mean)
    assert near(told("money"), mean, mean**2)
    assert near(told(tp.worlds.Money(0.5, zeros=0.7)), mean, mean**2 * (1.25 / 0.3 - 1))


def test_laws_of_rewards(draw_reward):
    conversions, counts, money, some, _ = KINDS
    assert stats.binomtest(int(draw_reward(conversions, 1, 0.5).sum()), N, 0.3 * math.exp(0.5)).pvalue > ALARM
    seen = np.bincount(draw_reward(counts, 1, -0.5).astype(int), minlength=40)
    law = stats.poisson(12.0 * math.exp(-0.5))
    assert (
        stats.chisquare([*seen[:16], seen[16:].sum()], [*law.pmf(range(16)) * N, law.sf(15) * N]).pvalue
        > ALARM
    )
    log_sd = math.sqrt(math.log(2))
    assert (
        stats.kstest(
            np.log(draw_reward(money, 0, 0.5)), "norm", (0.5 + math.log(3 / math.sqrt(2)), log_sd)
        ).pvalue
        > ALARM
    )
    amounts = draw_reward(some, 0, 2.0)
    assert stats.binomtest(int((amounts == 0).sum()), N, 0.6).pvalue > ALARM
    spent = stats.lognorm(math.sqrt(math.log(7.25)), scale=5.0 / 0.4 / math.sqrt(7.25))
    assert stats.kstest(amounts[amounts > 0], spent.cdf).pvalue > ALARM


def test_compiled_and_interpreted_rewards_are_the_same_bits(draw_reward):
    for world in WORLDS:
        at = world.numbers(), np.uint64(5), np.uint64(0)
        for arm, shift in ((0, 0.3), (1, -0.2)):
            told = draw_reward(world, arm, shift, n=50)
            assert told.tolist() == [ignore_overflow(reward)(*at, t, arm, shift, 1.0) for t in range(50)]


def test_each_arm_has_its_own_sigma():
    even = tp.World([1.0, 2.0, 3.0], lengths=(2, 4))
    uneven = tp.World([1.0, 2.0, 3.0], lengths=(2, 4), sigma=[0.5, 1.0, 4.0])
    one, other = (tp.replay(world, "round-robin", seed=3, budget=90) for world in (even, uneven))
    noise = [run.reward - run.shift - np.array(even.means)[run.arm] for run in (one, other)]
    np.testing.assert_allclose(noise[1], noise[0] * np.array(uneven.sigma)[one.arm], atol=1e-12)


def test_scenarios_of_the_paper():
    lengths = {name: tp.mdm(7, name).lengths for name in SCENARIOS}
    assert lengths == {
        "worst-case": (2, 2),
        "cannot-sample-all-arms": (2, 6),
        "sample-1-to-10": (7, 70),
        "general": (2, 70),
        "stationary": None,
    }
    assert tp.mdm(7).shifts == tp.worlds.Uniform(0, 20)
    assert tp.mdm(7, "stationary").shifts == tp.worlds.NoShift()
    assert tp.mdm(3, delta=0.25).means == (0.0, 0.25, 0.5)
    assert tp.slippage(3, delta=0.25).means == (0.0, 0.0, 0.25)


def test_best_and_gaps():
    world = tp.World([1.0, 3.0, 2.5, 3.0])
    assert world.best == (1, 3)
    assert world.gaps.tolist() == [2.0, 0.0, 0.5, 0.0]


@pytest.mark.parametrize("world", WORLDS)
def test_plain_round_trip(world):
    assert tp.World.from_dict(json.loads(json.dumps(world.to_dict()))) == world


BAD = [
    (lambda: tp.World([1.0]), "at least two arms, not 1"),
    (lambda: tp.World([]), "means must not be empty"),
    (lambda: tp.World(3), "means must be a list of numbers, not 3"),
    (lambda: tp.World([0, math.nan]), "a mean must be a finite number, not nan"),
    (lambda: tp.World([0, 1], sigma=-1), "sigma must be a finite number of at least 0, not -1"),
    (lambda: tp.World([0, 1], sigma=[1, -2]), "sigma must be a finite number of at least 0, not -2"),
    (lambda: tp.World([0, 1], sigma=[1, 2, 3]), "one for each of the 2 arms, not 3 numbers"),
    (lambda: tp.World([0, 1], lengths=(0, 5)), "the shortest length must be .* at least 1, not 0"),
    (lambda: tp.World([0, 1], lengths=(5, 4)), "the longest length .*shortest is 5.* at least 5, not 4"),
    (lambda: tp.World([0, 1], lengths=(1.5, 4)), "whole number of at least 1, not 1.5"),
    (lambda: tp.World([0, 1], lengths=7), r"lengths must be a pair such as \(2, 50\), .* not 7"),
    (lambda: tp.World([0, 1], shifts=20), r"shifts must be Uniform\(...\), .* or NoShift\(...\), not 20"),
    (lambda: tp.World([0, 1], noise="cauchy"), "noise must be 'normal' or .* not 'cauchy'"),
    (lambda: tp.World([0, 1], drift=0.1), r"drift must be Sinusoid\(...\), .* or None, not 0.1"),
    (lambda: tp.World([0, 1], announced="no"), "announced must be True or False, not 'no'"),
    (lambda: tp.World([0, 1], interaction=-1), "interaction must be a finite number of at least 0, not -1"),
    (lambda: tp.World([0, 1], interaction=[1, 2, 3]), "interaction .* one for each of the 2 arms, not 3"),
    (lambda: tp.World([0, 1], noise_by_environment=-1), "noise_by_environment must be .* at least 0, not -1"),
    (lambda: tp.World([0, 1], outliers=0.1), r"outliers must be Outliers\(...\) or None, not 0.1"),
    (lambda: tp.worlds.Outliers(1.5, 20), "share of outlying cells, must be at most 1, not 1.5"),
    (lambda: tp.worlds.Outliers(0.5, -1), "size must be .* at least 0, not -1"),
    (
        lambda: tp.World(
            [0.2, 0.3], shifts=tp.worlds.NoShift(), noise_by_environment=1, rewards="conversions"
        ),
        "noise_by_environment=1.0 is only for normal rewards.*conversions",
    ),
    (lambda: tp.worlds.Sinusoid(-1, 50), "amplitude must be .* at least 0, not -1"),
    (lambda: tp.worlds.Sinusoid(1, 0), "period must be above 0, not 0"),
    (lambda: tp.worlds.Wander(math.nan), "sd must be .* not nan"),
    (lambda: tp.worlds.Trend("up"), "slope must be .* not 'up'"),
    (lambda: tp.worlds.Curve([], 9), "values must not be empty"),
    (lambda: tp.worlds.Curve([1], -9), "period must be above 0, not -9"),
    (
        lambda: tp.World(
            [0.2, 0.3], shifts=tp.worlds.NoShift(), drift=tp.worlds.Curve([0, 0.9], 9), rewards="conversions"
        ),
        r"0.2 and a shift of 0.9 \(tide='adds'\) give 1.1",
    ),
    (lambda: tp.worlds.Lengths([3, 0]), "a length must be a whole number of at least 1, not 0"),
    (lambda: tp.worlds.Lengths([]), "lengths must not be empty"),
    (lambda: tp.worlds.Geometric(0.5), "mean length must be .* at least 1, not 0.5"),
    (lambda: tp.worlds.Geometric(5, minimum=0), "minimum must be a whole number of at least 1, not 0"),
    (lambda: tp.worlds.Uniform(2, 1), "low must not be above high: 2 > 1"),
    (lambda: tp.worlds.Normal(0, -1), "sd must be .* at least 0, not -1"),
    (lambda: tp.worlds.RandomWalk(math.inf), "sd must be .* not inf"),
    (lambda: tp.worlds.Weekly([]), "pattern must not be empty"),
    (lambda: tp.worlds.Weekly([1, "x"]), "a shift of the pattern must be a finite number, not 'x'"),
    (lambda: tp.worlds.StudentT(2), "degrees_of_freedom must be above 2"),
    (lambda: tp.mdm(1), "arms must be a whole number of at least 2, not 1"),
    (lambda: tp.slippage(2, "cannot-sample-all-arms"), "needs at least 3 arms, not 2"),
    (lambda: tp.World.from_dict({"means": [0, 1], "colour": "red"}), "unknown parameter 'colour' of a world"),
    (
        lambda: tp.World.from_dict({"means": [0, 1], "shifts": {"kind": "Tide"}}),
        "unknown kind 'Tide' of a part of a world",
    ),
    (
        lambda: tp.World.from_dict({"means": [0, 1], "shifts": {"kind": ["Tide"]}}),
        r"unknown kind \['Tide'\] of a part of a world",
    ),
    (lambda: tp.World.from_dict({"sigma": 1.0}), "a world needs 'means'"),
    (
        lambda: tp.World.from_dict({"means": [0, 1], "shifts": {"kind": "Uniform", "low": 0}}),
        "Uniform needs 'high'",
    ),
    (
        lambda: tp.World.from_dict({"means": [0, 1], "shifts": {"kind": "Normal", "mean": 0, "sdd": 1}}),
        "unknown parameter 'sdd' of Normal; did you mean 'sd'",
    ),
    (lambda: tp.World([10**400, 0]), "a mean must be a finite number, not 1000"),
    (
        lambda: tp.World([0, 1], rewards="clicks"),
        r"rewards must be 'normal', 'conversions', 'counts', 'money' or Money\(...\), not 'clicks'",
    ),
    (lambda: tp.World([0, 1], tide="both"), "tide must be 'adds' or 'multiplies', not 'both'"),
    (lambda: tp.worlds.Money(-1), "variation must be a finite number of at least 0, not -1"),
    (lambda: tp.worlds.Money(zeros=1), "zeros, the share of rewards that are 0, must be below 1, not 1"),
    (lambda: tp.World([0, 1], sigma=2, rewards="counts"), "sigma=2.0 is only for normal rewards.*counts"),
    (
        lambda: tp.World([0.1, 0.2], noise=tp.worlds.StudentT(3), rewards="money"),
        r"noise=StudentT\(degrees_of_freedom=3.0\) is only for normal rewards.*money",
    ),
    (lambda: tp.World([0.1, 0.2], rewards="conversions"), "0.1 and a shift of 20 .* give 20.1"),
    (
        lambda: tp.World([0.1, 1.2], shifts=tp.worlds.Normal(0, 1), rewards="conversions"),
        "of conversions must be at least 0 and at most 1 .* 1.2 and a shift of 0 ",
    ),
    (
        lambda: tp.World([0.1, 1.2], shifts=tp.worlds.Weekly([0.0, -0.2]), rewards="money"),
        "means of money must be at least 0 for .* 0.1 and a shift of -0.2 .* give -0.1",
    ),
    (
        lambda: tp.World([1, 100], shifts=tp.worlds.Uniform(0, 2), rewards="counts", tide="multiplies"),
        r"at most 500 .* 100 and a shift of 2 \(tide='multiplies'\) give 738.906",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_worlds_say_what_is_allowed(make, message):
    with pytest.raises(tp.errors.InputError, match=message):
        make()


def test_unknown_scenario():
    with pytest.raises(tp.errors.UnknownName, match="unknown scenario 'generel'; did you mean 'general'"):
        tp.mdm(5, "generel")


def test_a_kind_is_known_once_it_is_defined():
    """What a new kind of shift needs is its class (and its branch in the kernel): names follow."""

    @dataclass(frozen=True)
    class Tide(Shift):
        height: float

        def _numbers(self):
            return {"shift": UNIFORM, "shift_a": -self.height, "shift_b": self.height}

    try:
        world = tp.World([0, 1], shifts=Tide(3.0))
        assert world.to_dict()["shifts"] == {"kind": "Tide", "height": 3.0}
        assert tp.World.from_dict(world.to_dict()) == world
        assert np.array_equal(
            tp.replay(world, "round-robin").shift,
            tp.replay(tp.World([0, 1], shifts=tp.worlds.Uniform(-3, 3)), "round-robin").shift,
        )
        with pytest.raises(tp.errors.InputError, match=r"NoShift\(...\) or Tide\(...\), not 5"):
            tp.World([0, 1], shifts=5)
    finally:
        del Tide, world
        gc.collect()  # a class that nobody holds is no kind any more
    assert "Tide" not in Shift.kinds()


def test_public_kinds_are_all_kinds():
    shifts = {"Uniform", "Normal", "RandomWalk", "Weekly", "NoShift"}
    drifts = {"Sinusoid", "Wander", "Trend", "Curve"}
    kinds = shifts | drifts | {"Geometric", "Lengths", "StudentT", "Money", "Outliers"}
    assert set(WorldPart.kinds()) == kinds
    assert set(vars(tp.worlds)["__all__"]) == kinds | {"ResponseMatrix"}
    assert all(getattr(tp.worlds, name) is kind for name, kind in WorldPart.kinds().items())


def test_each_kind_has_a_number_of_its_own():
    """Two with the same would be drawn alike."""
    shifts = [
        tp.World([0, 1], shifts=w).numbers().shift
        for w in (
            tp.worlds.Uniform(0, 1),
            tp.worlds.Normal(0, 1),
            tp.worlds.RandomWalk(1),
            tp.worlds.Weekly([1]),
            tp.worlds.NoShift(),
        )
    ]
    assert len(set(shifts)) == len(Shift.kinds())
    lengths = [
        tp.World([0, 1], lengths=w).numbers().length
        for w in (None, (2, 3), tp.worlds.Geometric(2), tp.worlds.Lengths([1]))
    ]
    assert len(set(lengths)) == len(Length.kinds()) + 2


def test_each_kind_of_drift_has_a_number_of_its_own():
    found = {world.numbers().drift for world in DRIFTS}
    assert len(found | {tp.mdm(2).numbers().drift}) == len(Drift.kinds()) + 1


@kernel
def draw_drift(world, seed, replication, out):
    drift = 0.0
    for t in range(out.size):
        drift = drift_at(world, seed, replication, t, drift)
        out[t] = drift


def drift_of(drift, replication=0, n=400):
    out, world = np.zeros(n), tp.World([0.0, 1.0], drift=drift)
    ignore_overflow(link(draw_drift, use_interpreter))(
        world.numbers(), np.uint64(5), np.uint64(replication), out
    )
    return out


def test_waves_have_their_amplitude_and_period_and_begin_anywhere():
    waves = [drift_of(tp.worlds.Sinusoid(3.0, 50), replication) for replication in range(200)]
    for wave in waves[:5]:
        np.testing.assert_allclose(wave[50:], wave[:-50], atol=1e-12)
        np.testing.assert_allclose(wave[25:], -wave[:-25], atol=1e-12)
        assert np.square(wave).mean() == pytest.approx(4.5)
    # at a random phase it is below x with probability 1/2 + asin(x/3)/pi
    starts = [wave[0] for wave in waves]
    assert (
        stats.kstest(starts, lambda x: 0.5 + np.arcsin(np.clip(np.array(x) / 3.0, -1, 1)) / np.pi).pvalue
        > ALARM
    )


def test_steps_of_a_walk_are_independent_and_normal():
    steps = np.diff(drift_of(tp.worlds.Wander(0.3), n=N), prepend=0.0)
    assert stats.kstest(steps, "norm", (0.0, 0.3)).pvalue > ALARM
    assert stats.pearsonr(steps[1:], steps[:-1]).pvalue > ALARM
    assert (drift_of(tp.worlds.Wander(0.3), 1) != drift_of(tp.worlds.Wander(0.3), 2)).all()


def test_trends_and_curves_are_what_is_written():
    np.testing.assert_allclose(drift_of(tp.worlds.Trend(0.25)), 0.25 * np.arange(400))
    curve = drift_of(tp.worlds.Curve([1.0, 4.0, -2.0], 6))
    np.testing.assert_allclose(curve[:12], [1, 2.5, 4, 1, -2, -0.5] * 2, atol=1e-12)
    anywhere = drift_of(tp.worlds.Curve([1.0, 4.0, -2.0], 6, anywhere=True), 3)
    assert anywhere[0] != 1.0
    np.testing.assert_allclose(anywhere[6:], anywhere[:-6], atol=1e-12)


@pytest.mark.parametrize("world", DRIFTS)
def test_a_drift_is_added_to_the_shift_and_compiled_to_the_same_bits(world):
    still = replace(world, drift=None)
    moved, shifts = (tp.replay(w, "round-robin", seed=5, budget=90) for w in (world, still))
    out = np.zeros(90)
    link(draw_drift, compile_for_cpu)(world.numbers(), np.uint64(5), np.uint64(0), out)
    assert out.tolist() == drift_of(world.drift, n=90).tolist()
    np.testing.assert_allclose(moved.shift, shifts.shift + out, atol=1e-12)
    np.testing.assert_allclose(moved.reward - moved.shift, shifts.reward - shifts.shift, atol=1e-12)


@kernel
def draw_cells(world, seed, replication, arm, out, loud):
    for j in range(out.size):
        out[j] = cell(world, seed, replication, j, arm)
        loud[j] = noise_factor(world, seed, replication, j)


def cells_of(world, arm=1, n=N):
    out, loud = np.zeros(n), np.zeros(n)
    link(draw_cells, compile_for_cpu)(world.numbers(), np.uint64(5), np.uint64(0), arm, out, loud)
    return out, loud


def test_interactions_are_normal_and_each_arm_has_its_own():
    pytest.importorskip("numba")
    alone, _ = cells_of(tp.World([0, 1], interaction=0.5))
    other, _ = cells_of(tp.World([0, 1], interaction=0.5), arm=0)
    assert stats.kstest(alone, "norm", (0.0, 0.5)).pvalue > ALARM
    assert stats.pearsonr(alone, other).pvalue > ALARM
    assert stats.pearsonr(alone[1:], alone[:-1]).pvalue > ALARM
    assert not cells_of(tp.World([0, 1], interaction=[0.0, 2.0]), arm=0)[0].any()


def test_wrong_cells_are_as_many_and_as_wrong_as_said():
    pytest.importorskip("numba")
    off, _ = cells_of(tp.World([0, 1], sigma=2.0, outliers=tp.worlds.Outliers(0.1, 20.0)))
    assert set(off.tolist()) == {-40.0, 0.0, 40.0}
    for value in (-40.0, 40.0):
        assert stats.binomtest(int((off == value).sum()), N, 0.05).pvalue > ALARM


def test_environments_are_as_loud_as_said():
    pytest.importorskip("numba")
    _, loud = cells_of(tp.World([0, 1], noise_by_environment=0.7))
    assert stats.kstest(np.log(loud), "norm", (0.0, 0.7)).pvalue > ALARM
    assert (cells_of(tp.mdm(2))[1] == 1.0).all()


@pytest.mark.parametrize("world", CELLS)
def test_rewards_of_an_environment_have_what_it_does_to_an_arm_alone(world):
    plain = replace(world, interaction=0.0, noise_by_environment=0.0, outliers=None)
    ours, theirs = (tp.replay(w, "round-robin", seed=5, budget=90) for w in (world, plain))
    drawn = [cells_of(world, arm, 60) for arm in range(2)]
    for t, (arm, j) in enumerate(zip(ours.arm, ours.environment, strict=True)):
        alone, loud = drawn[arm][0][j], drawn[arm][1][j]
        mean = world.means[arm] + theirs.shift[t]
        assert ours.reward[t] == pytest.approx(mean + alone + loud * (theirs.reward[t] - mean), abs=1e-9)


def test_an_environment_that_is_not_announced_goes_on():
    hidden = replace(tp.mdm(3, "worst-case"), announced=False)
    told, blind = (
        tp.replay(world, "linlucb", seed=4, budget=60) for world in (tp.mdm(3, "worst-case"), hidden)
    )
    np.testing.assert_array_equal(told.shift, blind.shift)  # the same world
    labels = tp.replay(
        tp.World(hidden.means, lengths=None, shifts=tp.worlds.NoShift()), "linlucb", seed=4, budget=60
    )
    assert blind.arm[:18].tolist() == labels.arm[:18].tolist() != told.arm[:18].tolist()  # one environment


def test_each_kind_of_rewards_has_a_number_of_its_own():
    kinds = [
        tp.World([0.1, 0.2], shifts=tp.worlds.NoShift(), rewards=kind).numbers() for kind in get_args(Kind)
    ]
    assert len({numbers.rewards for numbers in kinds}) == len(kinds)


def test_a_kind_without_a_branch_is_drawn_as_nothing():
    """Not as the last kind in the list: its rewards must be seen to be wrong."""
    numbers = tp.World([0, 1]).numbers()._replace(shift=99)
    assert math.isnan(ignore_overflow(environment)(numbers, np.uint64(1), np.uint64(0), 0, 0.0)[1])


def test_a_drift_is_bounded_only_if_it_says_so():
    assert tp.worlds.Sinusoid(0.25, 40.0).bounds() == (-0.25, 0.25)
    assert tp.worlds.Wander(0.1).bounds() == (-np.inf, np.inf)
