"""Bounds of planned looks for several arms, against Brownian scores and the boundaries of two arms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, studentized_range

from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.looks.brownian_boundaries import spending_boundaries
from tideproof.stats.looks.look_bounds import LookBounds, effective_pairs
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.looks.spending_functions import spent_alpha

RUNS = 60_000


def look_bounds(looks, arms, spending="pocock", look=None):
    """Return the bounds of each look of a plan with equal steps."""
    found = []
    for now in range(1, looks + 1) if look is None else [look]:
        share = np.arange(1, now + 1) / now
        found.append(LookBounds(Looks(looks, look=now, spending=spending), np.tile(share, (arms, arms, 1))))
    return found


def test_two_arms_have_the_boundary_of_a_two_sided_test():
    (found,) = look_bounds(14, 2, look=5)
    share = np.arange(1, 6) / 14
    bound = spending_boundaries(spent_alpha("pocock", np.array([[0.05]]), share), share)[0, -1]
    C, freedom = np.eye(2), np.full((2, 2), math.inf)
    for bars in (
        found.alone(C, freedom, 0.05),
        found.all_pairs(C, freedom, 0.05),
        found.with_best(C, freedom, 0.025),
    ):
        assert bars[0, 1] == pytest.approx(bound, abs=2e-3)
        assert bars[1, 0] == bars[0, 1]


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
@pytest.mark.parametrize("shares", [[1.0] * 5, [9.0, 3.0, 1.0, 1.0]])
def test_error_of_several_arms_over_all_looks_is_at_most_promised_and_not_far_below(spending, shares):
    """The best critical values are at most 3 % lower. By chance the bounds are missed in 1 of 10,000 seeds."""
    arms, looks, random = len(shares), 7, np.random.default_rng(5)
    C, freedom = np.diag(1.0 / np.array(shares)), np.full((arms, arms), math.inf)
    se = np.sqrt(pair_variances(C)) + np.eye(arms)
    mean = np.zeros((RUNS, arms))
    best, pairs = np.zeros(RUNS), np.zeros(RUNS)
    for look, found in enumerate(look_bounds(looks, arms, spending), 1):
        mean += random.standard_normal((RUNS, arms)) / np.sqrt(shares)
        z = (mean[:, :, None] - mean[:, None, :]) / se / math.sqrt(look)
        bars = found.with_best(C, freedom, 0.05) + np.eye(arms)
        best = np.maximum(best, (z[:, 1:, 0] / bars[0, 1:]).max(axis=1))  # the first arm is the best one
        bars = found.all_pairs(C, freedom, 0.05) + np.eye(arms)
        pairs = np.maximum(pairs, (np.abs(z) / bars).max(axis=(1, 2)))
    noise = 4.0 * math.sqrt(0.05 * 0.95 / RUNS)
    for largest in (best, pairs):
        assert np.mean(largest > 1.0) < 0.05 + noise
        assert np.quantile(largest, 0.95) > 0.97


def test_p_values_belong_to_the_bounds():
    (found,) = look_bounds(14, 4, look=6)
    C, freedom = np.diag([1.0, 2.0, 0.5, 1.0]), np.full((4, 4), 30.0)
    for alpha in (0.2, 0.05, 1e-3, 1e-7):
        bars = found.with_best(C, freedom, alpha)
        for deviate, arm, other in ((bars[2, 0], 0, 2), (-bars[0, 2], 0, 2)):
            assert found.p_value_with_best(C, freedom, arm, other, deviate) == pytest.approx(alpha, rel=1e-3)
        z = found.alone(C, freedom, alpha)[1, 3]
        assert found.p_value(C, freedom, 1, 3, -z) == pytest.approx(alpha, rel=1e-6)
    assert math.isnan(found.p_value_with_best(C, freedom, 0, 1, math.nan))
    assert math.isnan(found.p_value(C, freedom, 0, 1, math.nan))


def test_comparisons_with_the_best_are_at_least_those_of_two_arms():
    (found,) = look_bounds(14, 3, look=5)
    C, freedom = np.eye(3), np.full((3, 3), math.inf)
    two = found.alone(C, freedom, 0.05)[0, 1]
    assert found.with_best(C, freedom, 0.05)[0, 1] >= two - 1e-6
    assert found.all_pairs(C, freedom, 0.05)[0, 1] > two


def test_effective_pairs_are_the_tail_of_the_studentized_range():
    for k in (2, 3, 10, 40):
        for z in (1.0, 2.0, 3.2, 4.0):
            tail = studentized_range.sf(math.sqrt(2.0) * z, k, np.inf)
            assert effective_pairs(k)(z) == pytest.approx(tail / (2.0 * norm.sf(z)), rel=1e-4)


def test_unknown_noise_has_no_bounds():
    (found,) = look_bounds(14, 3, look=5)
    unknown = found.with_best(np.full((3, 3), math.nan), np.zeros((3, 3)), 0.05)
    assert np.all(np.isnan(unknown))


def test_pairs_with_less_information_at_past_looks_have_wider_bounds():
    information = np.tile(np.arange(1, 6) / 5, (3, 3, 1))
    information[0, 1, :4] = information[1, 0, :4] = [0.05, 0.1, 0.2, 0.3]
    found = LookBounds(Looks(14, look=5), information)
    bars = found.alone(np.eye(3), np.full((3, 3), math.inf), 0.05)
    assert bars[0, 1] > bars[0, 2] == bars[1, 2]
    group = found.of_group(np.array([0, 2]))
    assert group.alone(np.eye(2), np.full((2, 2), math.inf), 0.05)[0, 1] == bars[0, 2]
