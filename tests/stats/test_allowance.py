"""Limits where rewards had a say: formulas against scipy.stats, and coverage where it is known to lack most."""

import pytest
from scipy import stats

from tideproof.stats.best.multiple_comparisons import allowance, critical_deviate, p_value


def test_the_allowance_grows_with_the_arms_and_is_what_was_measured_at_some():
    found = [allowance(arms) for arms in range(2, 200)]
    assert found == sorted(found)
    assert [allowance(arms) for arms in (2, 3, 5, 10, 30)] == pytest.approx([0.4, 0.5, 0.57, 0.66, 1.0])


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("arms", [2, 3, 5, 12, 40])
def test_limits_by_hand(level, arms):
    usual = stats.norm.isf(0.5 - 0.5 * level)
    least = stats.norm.ppf(level ** (1 / (arms - 1)))  # of so many independent numbers
    assert critical_deviate(level, arms, adaptive=False) == pytest.approx(usual)
    assert critical_deviate(level, arms, adaptive=True) == pytest.approx(usual + allowance(arms))
    assert critical_deviate(level, arms, adaptive=False, picked=True) == pytest.approx(max(usual, least))
    assert critical_deviate(level, arms, adaptive=True, picked=True) == pytest.approx(max(usual + 0.4, least))


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("picked", [True, False])
@pytest.mark.parametrize("arms", [2, 4, 15])
def test_a_limit_is_at_no_difference_where_p_says_so(adaptive, picked, arms):
    for level in (0.5, 0.9, 0.999):
        deviate = critical_deviate(level, arms, adaptive=adaptive, picked=picked)
        for sign in (-1.0, 1.0):
            p = p_value(sign * deviate, arms, adaptive=adaptive, picked=picked)
            assert p == pytest.approx(1.0 - level, rel=1e-9)
    assert p_value(0.0, arms, adaptive=adaptive, picked=picked) == pytest.approx(1.0)
