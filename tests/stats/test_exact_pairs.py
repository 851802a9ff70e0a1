"""Two arms with few events, by the odds: against the hypergeometric distribution; where exactness is claimed."""

import math

import numpy as np
import pytest
from scipy import stats

from tideproof.analysis import Fit
from tideproof.stats.pairs.exact_odds_distribution import solve_tail
from tideproof.stats.pairs.exact_pairs import MOST_EXACT_EVENTS


def zero_one(*pairs, environments=1):
    """Return (arm, environment, reward), of each arm (ones, rewards) in every environment."""
    arm, environment, reward = [], [], []
    for day in range(environments):
        for name, (ones, n) in zip("AB", pairs, strict=True):
            arm += [name] * n
            environment += [day] * n
            reward += [1.0] * ones + [0.0] * (n - ones)
    return arm, environment, reward


def test_one_environment_is_fishers_test_with_half_of_what_was_seen():
    fit = Fit.from_arrays(*zero_one((9, 20), (3, 22)), scale="odds")
    found = fit.contrast("A", "B")
    law = stats.hypergeom(42, 12, 20)
    above = law.sf(9) + 0.5 * law.pmf(9)
    assert found.exact
    assert found.p == pytest.approx(2.0 * above, rel=1e-9)
    low = stats.nchypergeom_fisher(42, 12, 20, 1.0 + found.low)
    assert low.sf(9) + 0.5 * low.pmf(9) == pytest.approx(0.025, rel=1e-6)
    high = stats.nchypergeom_fisher(42, 12, 20, 1.0 + found.high)
    assert high.cdf(8) + 0.5 * high.pmf(9) == pytest.approx(0.025, rel=1e-6)
    back = fit.contrast("B", "A")
    assert (1.0 + back.low) * (1.0 + found.high) == pytest.approx(1.0)
    assert back.p == pytest.approx(found.p)


def test_a_winner_is_named_where_the_exact_p_says_so():
    for ones, confidence in ((9, 0.95), (12, 0.95)):
        fit = Fit.from_arrays(*zero_one((ones, 20), (3, 22)), scale="odds", confidence=confidence)
        wins = fit.decision.standing == "winner_on_these"
        assert wins == (fit.contrast("A", "B").p < 1.0 - confidence)


def test_where_exactness_is_claimed():
    few, many = (
        zero_one((5, 20), (3, 22)),
        zero_one((5, 20), (3, 22), environments=MOST_EXACT_EVENTS // 8 + 1),
    )
    assert Fit.from_arrays(*few, scale="odds").contrast("A", "B").exact
    assert not Fit.from_arrays(*many, scale="odds").contrast("A", "B").exact
    assert not Fit.from_arrays(*few, scale="ratio").contrast("A", "B").exact
    assert not Fit.from_arrays(*few, scale="odds", adaptive=True).contrast("A", "B").exact
    third = [list(x) + y for x, y in zip(few, (["C"] * 9, [0] * 9, [1.0] * 4 + [0.0] * 5), strict=True)]
    assert not Fit.from_arrays(*third, scale="odds").contrast("A", "B").exact


def test_the_threshold_hardly_shows():
    """At the threshold the score test and the distribution say nearly the same."""
    each = zero_one((7, 24), (3, 24), environments=MOST_EXACT_EVENTS // 10)
    exact = Fit.from_arrays(*each, scale="odds").contrast("A", "B", about="these")
    more = Fit.from_arrays(
        *(x + y for x, y in zip(each, zero_one((1, 2), (1, 2)), strict=True)), scale="odds"
    )
    score = more.contrast("A", "B", about="these")
    assert (exact.exact, score.exact) == (True, False)
    assert score.low == pytest.approx(exact.low, rel=0.15)
    assert score.high == pytest.approx(exact.high, rel=0.15)


def test_all_events_of_one_arm_leave_one_side_open():
    found = Fit.from_arrays(*zero_one((0, 20), (8, 22), environments=2), scale="odds").contrast("B", "A")
    assert math.isinf(found.estimate)
    assert found.low > 0.0
    assert found.high is None
    assert np.isfinite(found.p)


INCREASING = {
    "Gumbel": (lambda x: math.exp(-math.exp(-x)), lambda p: -math.log(-math.log(p))),
    "Gompertz": (lambda x: -math.expm1(-math.exp(x)), lambda p: math.log(-math.log1p(-p))),
    "Cauchy": (lambda x: 0.5 + math.atan(x) / math.pi, lambda p: math.tan(math.pi * (p - 0.5))),
}


@pytest.mark.parametrize("chance", [0.025, 0.3, 0.6])
@pytest.mark.parametrize("start", [-2.0, 3.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("law", INCREASING)
def test_the_root_of_a_tail_that_is_not_logistic(law, sign, start, chance):
    """Found in a few steps, though the logit is not straight and the start is on either side."""
    tail, inverse = INCREASING[law]
    asked = []
    found = solve_tail(lambda x: asked.append(x) or tail(sign * x), chance, start, sign)
    assert sign * found == pytest.approx(inverse(chance), abs=1e-11)
    assert len(asked) < 30
