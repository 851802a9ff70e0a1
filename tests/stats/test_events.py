"""How many events two arms had: counted, and weighed where they are amounts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from multiplicative_logs import from_events
from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.data import cells_from_arrays
from tideproof.research.trust.log_settings import chosen
from tideproof.research.trust.outcome_counts import play
from tideproof.stats.pairs.pair_tests import FEWEST_EVENTS, Events, count_events


def spends(*arms):
    """Return arm, environment and reward of arms (visitors, what buyers spent), split over two days."""
    arm, reward = [], []
    for name, (visitors, spent) in zip("ABC", arms, strict=False):
        arm += [name] * visitors
        reward += [*spent, *[0.0] * (visitors - len(spent))]
    day = np.arange(len(arm)) % 2
    return np.array(arm), day, np.array(reward)


def test_equal_amounts_count_and_a_huge_one_counts_alone():
    events = count_events(cells_from_arrays(*spends((100, [3.0] * 12), (300, [3.0] * 8))))
    assert events.kinds is None
    assert events.worth(0, 1) == pytest.approx((20.0, 5.0))
    assert events.worth(1, 0) == pytest.approx((20.0, 5.0))
    assert (events.rarer(0, 1), events.rarer(1, 0)) == (0, 0)
    whale = count_events(cells_from_arrays(*spends((100, [3.0] * 12), (300, [1e5] + [3.0] * 8))))
    assert whale.worth(0, 1)[0] == pytest.approx(1.0, abs=0.01)
    assert not whale.enough(0, 1)


@pytest.mark.parametrize(
    ("first", "second", "enough"),
    [
        ((100, 5), (100, 5), True),
        ((100, 5), (100, 4), False),  # nine together
        ((1000, 60), (30, 10), True),  # 70 x 30/1030 = 2.04
        ((1000, 60), (30, 0), False),  # 1.7 of 60
        ((1000, 60), (100, 0), True),  # nothing where 5.5 were to be expected
    ],
)
def test_ten_together_and_two_of_the_rarer_arm(first, second, enough):
    log = spends(*((visitors, [2.5] * buyers) for visitors, buyers in (first, second)))
    assert count_events(cells_from_arrays(*log)).enough(0, 1) is enough


def test_other_rewards_are_not_counted():
    random = np.random.default_rng(1)
    arm, day, reward = spends((3, []), (3, []))
    for other in (random.normal(size=6), random.lognormal(size=6), np.array([0.0, 5.0, 6.0, 4.0, 5.0, 7.0])):
        events = count_events(cells_from_arrays(arm, day, reward + other))
        assert events == Events()
        assert events.enough(0, 1)
        assert events.worth(0, 1) == (np.inf, np.inf)


def test_only_what_met_another_arm_counts():
    events = count_events(from_events(np.array([[50, 50], [40, 0]]), np.array([[4, 3], [39, 0]])))
    assert events.kinds is not None
    assert events.kinds.tolist() == [[4.0, 46.0], [3.0, 47.0]]
    assert not events.enough(0, 1)
    arm, _, reward = spends((100, [2.0] * 30), (100, [2.0] * (FEWEST_EVENTS + 1)))
    apart = np.where(arm == "A", np.arange(200) % 2, 0)  # B never on the second day
    events = count_events(cells_from_arrays(arm, apart, reward))
    assert events.worth(0, 1) == pytest.approx((26.0, 26.0 * 50.0 / 150.0))


def test_a_verdict_says_how_few_buyers_there_are():
    fit = Fit.from_arrays(*spends((2000, [9.0, 11.0] * 30), (60, [30.0, 40.0])))
    assert fit.decision.doubt == "too few events"
    both, rarer = count_events(fit.cells).worth(0, 1)
    assert both >= FEWEST_EVENTS
    assert fit.verdict.startswith("too few nonzero rewards to name a best arm: B has too little traffic")
    assert re.findall(r"[\d.]+", fit.verdict) == [f"{both:.2g}", f"{rarer:.2g}", "2"]
    assert fit.verdict.endswith("assign more pulls to B")


def test_a_verdict_says_that_a_few_large_ones_decide():
    fit = Fit.from_arrays(*spends((2000, [9.0, 11.0] * 30), (2000, [9.0, 9000.0])), prior="flat")
    both, _ = count_events(fit.cells).worth(0, 1)
    assert fit.verdict.startswith(
        "too few nonzero rewards to name a best arm: the effective number of nonzero rewards"
    )
    assert f"of B and A together is {both:.2g}, " in fit.verdict
    assert "at least 10 are needed" in fit.verdict
    assert fit.verdict.endswith("winsorize=0.999 (--winsorize 99.9%)")
    assert describe_fit(fit).arms["p_best"] == [None, None]
    assert fit.p_best["B"] is not None


@pytest.mark.no_cover
def test_a_handful_of_buyers_neither_loses_nor_wins_too_often():
    """Six equal arms, the rarest with four buyers: at 5 % more than 18 of 150 come once in 5,000 times."""
    tally = play(chosen("money-0.01-6-3000-10-uneven*")[0][0], 0, 150)
    assert tally.excluded.max() <= 18
    assert tally.false_winner <= 2
    assert tally.too_few_at_all > 75


def test_enough_buyers_are_seldom_called_too_few():
    """Heavy tails, 30 buyers of the rarer arm: at 10 % more than 19 of 100 come once in 500 times."""
    tally = play(chosen("fortunes-0.1-2-3000-14-uneven*")[0][0], 0, 200)
    assert 60 < tally.eventful < 100
    assert tally.too_few <= 19
