"""Thresholds of the warnings about likely mistakes: each case lies just at or just beyond one."""

import pytest

from experiments import experiment, saved_state
from tideproof.experiment.events import event_records as e
from tideproof.experiment.usage_warnings import DAY, UsageMonitor, usage_facts

# Counts of an experiment that gives no reason for a warning.
QUIET = usage_facts(saved_state(experiment()))
APART = (("A", "B"), ("C",))


def remarks(groups=(), rewards=(), **changes):
    """Return the warnings for these counts, once these rewards have been recorded."""
    events = [e.Told(0.0, None, tuple(range(len(rewards))), tuple(rewards))]
    return UsageMonitor().remarks(events, QUIET._replace(**changes), groups)


ONE_LABEL = {"labels": 1, "label": "shop", "tide": "labels"}


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (ONE_LABEL | {"pulls": 101, "asked_over": 86_400.0}, None),
        (
            ONE_LABEL | {"pulls": 101, "asked_over": 86_400.5},
            "all 101 pulls are in one environment, 'shop'",
        ),
        (ONE_LABEL | {"pulls": 101, "asked_over": 1.5 * DAY}, "all 101 pulls are in"),
        (ONE_LABEL | {"pulls": 101, "asked_over": 1.6 * DAY}, "all 101 pulls, made over 2 days, are in"),
        (ONE_LABEL | {"pulls": 100, "asked_over": 9 * DAY}, None),
        (ONE_LABEL | {"pulls": 101, "label": 1}, "all 101 pulls are in one environment, 1"),
        (ONE_LABEL | {"pulls": 101, "label": 2}, None),
        (ONE_LABEL | {"pulls": 101, "label": 1, "labels": 2}, None),
        (ONE_LABEL | {"pulls": 101, "label": 1, "tide": "hidden"}, None),
        ({"recorded": 20, "environments": 16}, None),
        ({"recorded": 20, "environments": 17}, "20 rewards are spread over 17 environments"),
        ({"recorded": 19, "environments": 19}, None),
        ({"groups": APART, "arms": 3, "recorded": 30}, "A and C cannot be compared"),
        ({"groups": APART, "arms": 3, "recorded": 29}, None),
        ({"groups": APART[:1], "arms": 3, "recorded": 30}, None),
        ({"late": 1}, "1 pull"),
        ({"budget": 10, "surplus": 20, "settled": 3}, None),
        ({"budget": 10, "surplus": 21, "settled": 3}, "21 rewards besides those of the 3 pulls"),
        ({"budget": None, "surplus": 21, "settled": 3}, None),
    ],
)
def test_counts_at_and_beyond_a_threshold(counts, words):
    found = remarks(**counts)
    if words is None:
        assert found == ()
    else:
        [remark] = found
        assert words in remark


@pytest.mark.parametrize(
    ("rewards", "settled", "pending", "warned"),
    [
        ((1.0,), 20, 100, True),
        ((1.0,), 20, 99, False),
        ((1.0,), 19, 100, False),
        ((1.0,), 40, 120, True),
        ((1.0,), 40, 119, False),
        ((1.0, 0.0), 20, 100, False),
        ((), 20, 100, False),
    ],
)
def test_many_pending_pulls_beside_equal_rewards(rewards, settled, pending, warned):
    found = remarks(rewards=rewards, settled=settled, pending=pending)
    assert len(found) == warned
    assert all(f"{pending} pulls" in remark and "lease=" in remark for remark in found)


@pytest.mark.parametrize(("distinct", "warned"), [(31, False), (32, True)])
def test_a_reward_is_called_outlying_beside_31_other_values(distinct, warned):
    found = remarks(rewards=[*map(float, range(distinct - 1)), 1e6])
    assert len(found) == warned
    assert all("1e+06" in remark and "correct(pull, reward)" in remark for remark in found)


@pytest.mark.parametrize(("others", "warned"), [(3, True), (4, False)])
def test_up_to_three_rewards_on_one_side_can_be_outlying(others, warned):
    found = remarks(rewards=[*map(float, range(40)), *(1e6 + i for i in range(others))])
    assert len(found) == warned


def look(watch, **changes):
    """Count an inspection at these facts, and return the warnings."""
    facts = QUIET._replace(**changes)
    watch.count_look(facts)
    return watch.remarks([], facts, (), watch.looks)


def test_only_looks_at_growing_data_before_the_end_count():
    watch = UsageMonitor()
    for told in range(1, 5):
        for _ in range(3):
            assert look(watch, recorded=told) == ()
    assert watch.remarks([], QUIET._replace(recorded=5), (), watch.looks) == ()
    assert look(watch, recorded=5, done=True) == ()
    assert watch.looks == 4
    [remark] = look(watch, recorded=5)
    assert "inspected 5 times" in remark
    assert "confidence=0.95" in remark
    assert look(watch, recorded=6, stops=True) == ()
    [plain] = look(watch, recorded=7)
    [other] = look(watch, recorded=8, plain=False)
    assert "It requires tide=" in other
    assert "It requires" not in plain


def test_nothing_told_is_no_look():
    watch = UsageMonitor()
    look(watch, recorded=0)
    assert watch.looks == 0


def test_diagnostics_are_no_look():
    run = experiment()
    for _ in range(8):
        run.tell(run.ask(environment=0), 1.0)
        assert not any("inspected" in remark for remark in run.diagnostics().remarks)


def test_the_time_between_first_and_last_ask_is_counted():
    now = [50.0]
    run = experiment(clock=lambda: now[0])
    assert usage_facts(saved_state(run)).asked_over == 0.0
    for now[0] in (60.0, 75.0):
        run.ask(environment="x")
    found = usage_facts(saved_state(run))
    assert (found.asked_over, found.pulls, found.pending, found.labels, found.label) == (15.0, 2, 2, 1, "x")
