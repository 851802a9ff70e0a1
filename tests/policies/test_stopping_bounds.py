"""Bounds of the calibrated stopping rule: values computed by hand, and the limits of their arguments."""

import math

import pytest

import tideproof as tp
from tideproof.errors import InputError
from tideproof.policies.calibrated_bounds import (
    DEFAULT_BUDGET,
    find_bound,
    normal_quantile_of_bound,
    wrong_stop_probability,
)
from tideproof.policies.stopping_policy import check_confidence, rule_prefix


def test_the_probability_of_a_wrong_stop_follows_the_formula():
    at_1000 = math.exp(-6.0) * 10.6 * (6.0 - 1.55)
    assert wrong_stop_probability(6.0, 2, 1000) == pytest.approx(at_1000, rel=1e-12)
    more = math.exp(-6.0) * 1.75 * (6.0 - 1.95) * math.log(5.0)
    assert wrong_stop_probability(6.0, 2, 5000) == pytest.approx(at_1000 + more, rel=1e-12)


@pytest.mark.parametrize(("arms", "factor"), [(2, 1.0), (8, 1.0), (9, 1.035), (10, 1.07), (28, 1.7)])
def test_more_than_eight_arms_stop_wrongly_more_often(arms, factor):
    few = wrong_stop_probability(7.0, 2, 2000)
    assert wrong_stop_probability(7.0, arms, 2000) == pytest.approx(factor * few, rel=1e-12)


def test_tiny_budgets_have_the_bound_of_thirty_pulls():
    at_30 = wrong_stop_probability(6.0, 3, 30)
    assert wrong_stop_probability(6.0, 3, 1) == wrong_stop_probability(6.0, 3, 29) == at_30
    assert wrong_stop_probability(6.0, 3, 31) > at_30


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_bound_gives_the_confidence_level(confidence):
    bound = find_bound(12, 700, confidence)
    assert wrong_stop_probability(bound, 12, 700) == pytest.approx(1.0 - confidence, rel=1e-8)


def test_without_a_budget_the_default_one_is_used():
    assert DEFAULT_BUDGET == 10_000
    assert find_bound(4, None, 0.9) == find_bound(4, 10_000, 0.9) > find_bound(4, 9_999, 0.9)


def test_the_normal_quantile_of_a_bound():
    assert normal_quantile_of_bound(math.log(40.0)) == pytest.approx(1.959963984540054, rel=1e-12)
    assert normal_quantile_of_bound(math.log(2.0)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("value", [0.5, 1.0, 0.0, 1.5, math.nan, "high"])
def test_a_confidence_outside_its_range_is_refused(value):
    with pytest.raises(InputError, match=r"confidence (of the stopping rule )?must be"):
        check_confidence(value)


def test_confidences_within_the_range_are_accepted():
    assert [check_confidence(value) for value in (0.5000001, 0.75, 0.9999999)] == [0.5000001, 0.75, 0.9999999]


def test_the_prefix_of_a_rule():
    assert (rule_prefix("calibrated"), rule_prefix("proven")) == ("sure:", "proven:")
    for wrong in ("sure", None, 1):
        with pytest.raises(tp.errors.UnknownName, match="rule"):
            rule_prefix(wrong)


@pytest.mark.parametrize(
    ("rule", "bound"), [("calibrated", find_bound(3, 500, 0.9)), ("proven", math.log(10.0))]
)
def test_the_parameters_of_a_stopping_policy(rule, bound):
    chosen = tp.policy("contrast", confidence=0.9, rule=rule)
    params = chosen.params(3, 500)
    assert params.bound == pytest.approx(bound, rel=1e-12)
    assert params.gate == normal_quantile_of_bound(params.bound)
    default = tp.policy("contrast", rule=rule).params(3, 500)
    assert default.bound == tp.policy("contrast", confidence=0.95, rule=rule).params(3, 500).bound


def test_a_bound_may_be_given_and_is_at_least_one():
    assert tp.policy("sure:contrast", bound=1.0).params(3, 500).bound == 1.0
    with pytest.raises(InputError, match=r"bound must be .* at least 1, not 0\.99"):
        tp.policy("sure:contrast", bound=0.99)
