"""The evidence about a ratio: exact for identical commands, equal to its formula, and consistent with its bounds."""

import math
from itertools import product

import numpy as np
import pytest

import tideproof as tp
from tideproof.races.ratio_evidence import (
    RunningEvidence,
    estimate_ratio,
    is_scale_round,
    log_evidence,
    noise_scales,
    ratio_bounds,
)

BETS = [1.0, 0.8, 0.6, 0.45, 0.33, 0.24, 0.17, 0.12, 0.08, 0.05, 0.03, 0.015]


def running(values, points=(0.0,)):
    """Return the evidence of several pairs, one in each row."""
    evidence = RunningEvidence(len(values), points)
    for column in np.transpose(values):
        evidence.add(column)
    return evidence


def by_hand(values, point):
    """Return the largest wealth of the gambler, multiplied up one bet and one round at a time."""
    most = 1.0
    for end in range(1, len(values) + 1):
        total = 0.0
        for bet in BETS:
            sign = size = 1.0
            for number in range(end):
                last = max((n for n in range(number + 1) if is_scale_round(n)), default=None)
                past = np.array(values[:last]) if last else None
                scale = 1e-9 if past is None else max(1e-9, 2.5 * np.median(abs(past - np.median(past))))
                beyond = values[number] - point
                sign *= 1.0 + bet * (int(beyond > 0) - int(beyond < 0))
                size *= 1.0 + bet * min(1.0, max(-1.0, beyond / scale))
            total += sign + size
        most = max(most, total / (2 * len(BETS)))
    return most


def test_the_wealth_is_its_formula():
    values = np.random.default_rng(1).normal(0.02, 0.05, 17)
    for point in (-0.03, 0.0, 0.04):
        found = math.exp(log_evidence(values, noise_scales(values), point))
        assert found == pytest.approx(by_hand(list(values), point), rel=1e-9)


def test_all_orders_of_identical_commands_cross_a_bound_as_rarely_as_promised():
    """All 4,096 orders of 12 rounds, whose absolute differences are given: an exact probability, no sample."""
    sizes = np.array([0.3, 0.01, 2.0, 0.02, 0.01, 0.5, 0.04, 0.3, 0.01, 1.0, 0.2, 0.02])
    evidence = running(np.array(list(product((-1.0, 1.0), repeat=12))) * sizes)
    for alpha in (0.2, 0.05, 0.025):
        crossed = np.mean([evidence.is_above(pair, 0.0, alpha) for pair in range(4096)])
        assert 0.05 * alpha < crossed <= alpha


@pytest.mark.parametrize("point", [-0.01, 0.0, 0.03])
def test_evidence_of_many_pairs_is_that_of_each(point):
    values = np.random.default_rng(2).standard_t(2, (5, 150)) * 0.02 + 0.01
    evidence = running(values, (point,))
    for pair, row in enumerate(values):
        for alpha in (0.2, 0.01):
            enough = -math.log(alpha)
            assert evidence.is_above(pair, point, alpha) == (
                log_evidence(row, noise_scales(row), point) >= enough
            )
            below = log_evidence(-row, noise_scales(-row), -point)
            assert evidence.is_below(pair, point, alpha) == (below >= enough)


def test_bounds_are_the_points_that_the_evidence_does_not_reject():
    values = np.random.default_rng(3).normal(0.05, 0.03, 60)
    low, high = ratio_bounds(values, 0.025)
    assert low < 0.05 < high
    for inside, outside, sign in ((low + 1e-6, low - 1e-6, 1.0), (high - 1e-6, high + 1e-6, -1.0)):
        scales = noise_scales(sign * values)
        assert log_evidence(sign * values, scales, sign * inside) < math.log(40)
        assert log_evidence(sign * values, scales, sign * outside) >= math.log(40)


def test_bounds_move_with_the_differences():
    values = np.random.default_rng(4).normal(0.0, 0.03, 40)
    low, high = ratio_bounds(values, 0.025)
    assert ratio_bounds(values + 0.7, 0.025) == pytest.approx((low + 0.7, high + 0.7), abs=1e-7)
    assert ratio_bounds(-values, 0.025) == pytest.approx((-high, -low), abs=1e-7)


def test_few_rounds_have_no_bounds():
    assert ratio_bounds(np.full(3, 0.5), 0.025) == (-math.inf, math.inf)
    assert ratio_bounds(np.array([]), 0.025) == (-math.inf, math.inf)
    with pytest.raises(tp.errors.InputError, match="between 0 and 1, not 0"):
        ratio_bounds(np.ones(3), 0)


def test_eight_or_nine_rounds_that_agree_are_enough():
    """A bet of the whole stake doubles in each round; with 24 bets and a bound of 40, nine rounds are needed."""
    decided = [running([[0.01] * rounds]).is_above(0, 0.0, 0.025) for rounds in range(1, 12)]
    assert decided.index(True) + 1 in (8, 9)


def stormy(random, races, rounds):
    """Return differences of identical commands on a machine with steps, a wandering speed and rare long stops."""
    shape = races, 2 * rounds
    tide = math.log(2.0) * (np.cumsum(random.random(shape) < 0.05, axis=1) % 2)
    tide += np.cumsum(0.01 * random.standard_normal(shape), axis=1)
    tide += random.exponential(0.5, shape) * (random.random(shape) < 0.1)
    times = tide.reshape(races, rounds, 2)
    return random.choice([-1.0, 1.0], (races, rounds)) * (times[:, :, 1] - times[:, :, 0])


def test_false_alarms_on_a_stormy_machine_are_at_most_five_percent():
    """Of 2,000 races 5 % would alarm at most; more than 154 would happen by chance in one of a million."""
    evidence = running(stormy(np.random.default_rng(5), 2000, 80))
    alarms = sum(evidence.is_above(i, 0.0, 0.025) or evidence.is_below(i, 0.0, 0.025) for i in range(2000))
    assert 4 <= alarms <= 154


def test_the_same_machine_misleads_who_measures_one_command_after_the_other():
    """A control: the test above would fail for Welch's test of two blocks."""
    random = np.random.default_rng(6)
    tide = math.log(2.0) * (np.cumsum(random.random((500, 80)) < 0.05, axis=1) % 2) + 0.05 * random.random(
        (500, 80)
    )
    first, second = tide[:, :40], tide[:, 40:]
    error = np.sqrt((first.var(axis=1, ddof=1) + second.var(axis=1, ddof=1)) / 40)
    assert np.mean(abs(first.mean(axis=1) - second.mean(axis=1)) > 1.99 * error) > 0.3


def test_the_estimate_is_the_median_of_all_pairs():
    values = np.random.default_rng(7).normal(size=30)
    pairs = [(values[i] + values[j]) / 2 for i in range(30) for j in range(i, 30)]
    assert estimate_ratio(values) == pytest.approx(np.median(pairs))


def test_pairs_that_were_not_compared_keep_their_evidence():
    evidence = RunningEvidence(2, (0.0,))
    for number in range(12):
        evidence.add(np.array([0.1, 0.1 if number < 6 else math.nan]))
    assert evidence.is_above(0, 0.0, 0.025)
    assert not evidence.is_above(1, 0.0, 0.025)
    assert len(evidence.differences(1)) == 6
