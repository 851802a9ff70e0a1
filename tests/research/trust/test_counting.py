"""The counting, on made-up fits; and one short setting, kept and broken."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from tideproof.analysis.arm_comparisons import NOT_COMPARABLE, Decision
from tideproof.analysis.fit_result import Fit
from tideproof.research.trust import outcome_counts
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.outcome_counts import OutcomeCount, count_outcome, play
from tideproof.research.trust.promised_error_rates import promises

EQUAL = Setting("conversions", 0.1, 2, 400, 10, "drifting", "multiplies", 0.5, "equal", 0.0)


def made_up(decision, limits=(-1.0, 1.0), arms=3):
    contrast = SimpleNamespace(low=limits[0], high=limits[1])
    return SimpleNamespace(
        cells=SimpleNamespace(K=arms), scale="ratio", decision=decision, contrast=lambda a, b: contrast
    )


def log(truth=0.0, events=40.0):
    return SimpleNamespace(gap=lambda scale, a, b: truth, events=np.full(3, events))


def judged(decision, best=(2,), **rest):
    return count_outcome(made_up(decision), log(**rest), np.array(best))


def test_a_winner_is_right_only_if_it_alone_is_best():
    says_two = Decision(2, 1, (2,), None)
    right, wrong, tied = judged(says_two), judged(says_two, (1,)), judged(says_two, (1, 2))
    assert (right.winner, right.false_winner) == (1, 0)
    assert (wrong.winner, wrong.false_winner) == (0, 1)
    assert (tied.winner, tied.false_winner) == (0, 1)


def test_those_who_cannot_be_the_best_are_excluded():
    found = judged(Decision(2, 0, (2, 0), "several candidates"))
    assert found.excluded.tolist() == [0, 1, 0]
    assert found.winner == found.false_winner == 0


def test_too_few_events_count_against_us_where_there_are_enough():
    silent = Decision(2, 0, (2, 0, 1), "too few events")
    found, excused = judged(silent), judged(silent, events=29.0)
    assert (found.too_few, found.eventful, found.too_few_at_all) == (1, 1, 1)
    assert (excused.too_few, excused.eventful, excused.too_few_at_all) == (0, 0, 1)


@pytest.mark.parametrize(
    ("limits", "truth", "below", "above", "limited"),
    [
        ((-1.0, 1.0), 0.0, 0, 0, 1),
        ((-1.0, 1.0), 1.0, 0, 0, 1),
        ((0.1, 1.0), 0.0, 1, 0, 1),
        ((-1.0, -0.1), 0.0, 0, 1, 1),
        ((None, 1.0), -9.0, 0, 0, 0),
        ((0.1, None), 0.0, 1, 0, 0),
        ((None, None), 0.0, 0, 0, 0),
    ],
)
def test_the_truth_inside_and_outside_limits(limits, truth, below, above, limited):
    fit = made_up(Decision(2, 0, (2, 0), "several candidates"), limits)
    found = count_outcome(fit, log(truth), np.array([2]))
    assert found.below.tolist() == [0, below, below]
    assert found.above.tolist() == [0, above, above]
    assert found.limited.tolist() == [0, limited, limited]


def test_arms_that_never_met_are_not_judged():
    found = judged(NOT_COMPARABLE)
    assert found.logs == 1
    assert not found.excluded.any()
    assert not found.limited.any()


def test_tallies_add_up():
    one, two = judged(Decision(2, 1, (2,), None)), judged(Decision(1, 2, (1,), None))
    both = OutcomeCount.zero(3) + one + two
    assert (both.logs, both.winner, both.false_winner) == (2, 1, 1)
    assert both.excluded.tolist() == [2, 1, 1]
    assert both.scales == {"ratio": 2}


def test_parts_of_a_setting_are_the_whole():
    whole, parts = play(EQUAL, 0, 6), play(EQUAL, 0, 2) + play(EQUAL, 2, 6)
    assert whole.logs == parts.logs == 6
    assert np.array_equal(whole.below, parts.below)
    assert whole.scales == parts.scales


def test_equal_arms_have_few_winners():
    """200 logs: each promise is called broken by chance in less than one of a thousand seeds."""
    assert all(promise.kept for promise in promises(EQUAL, play(EQUAL, 0, 200)))


def test_a_promise_of_half_the_level_is_broken(monkeypatch):
    """The negative control: intervals of 50 % miss in 50 % of logs; 50 of 100 instead of 5."""
    monkeypatch.setattr(outcome_counts, "Fit", partial(Fit, confidence=0.5))
    kept = {promise.name: promise.kept for promise in promises(EQUAL, play(EQUAL, 0, 100))}
    assert not kept["false winner"]
    assert not kept["lift missed"]
