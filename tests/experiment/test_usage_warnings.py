"""Usage warnings: likely mistakes give one, ordinary runs do not."""

import numpy as np
import pytest

import tideproof as tp
from experiments import saved_state
from tideproof.experiment.events import event_records as e
from tideproof.experiment.usage_warnings import UsageMonitor, usage_facts

MEANS = {"A": 0.0, "B": 1.0, "C": 2.0}


def experiment(**options):
    return tp.Experiment(list(MEANS), **{"budget": 400, "seed": 3, **options})


def play(run, steps, label=lambda step: step // 10, reward=None):
    """Ask and tell that many times, with normal rewards that have shifts."""
    random = np.random.default_rng(5)
    for step in range(steps):
        pull = run.ask(environment=label(step))
        value = MEANS[pull.arm] + 3.0 * (step // 10) + random.standard_normal()
        run.tell(pull, value if reward is None else reward(step, value))
    return run


def said(run, words):
    """Return the warnings that contain these words, after checking that the recommendation's text has them."""
    found = run.recommend()
    chosen = [remark for remark in found.remarks if words in remark]
    assert all(remark[1:] in str(found) and remark in found.to_dict()["remarks"] for remark in chosen)
    return chosen


def told(rewards):
    """Return the event that records these rewards."""
    return e.Told(0.0, None, tuple(range(len(rewards))), tuple(rewards))


# What an experiment with nothing worth a remark says of itself.
QUIET = usage_facts(saved_state(experiment()))


@pytest.mark.parametrize("policy", ["contrast", "linlucb", "round-robin+ols", "lucb"])
def test_ordinary_runs_give_no_warning(policy):
    run = play(experiment(policy=policy), 300)
    assert run.recommend().remarks == ()
    run.tell_summary(arm="A", environment=3, n=40, mean=9.0, variance=1.0)
    assert run.recommend().remarks == ()


def test_forgotten_labels_give_a_warning():
    run = experiment(tide="labels")
    for step in range(101):
        run.tell(run.ask(), step % 7)
        if step == 99:
            assert said(run, "in one environment") == []
    [remark] = said(run, "in one environment")
    assert remark.startswith("all 101 pulls are in one environment, 1. To separate environments,")
    run.ask(environment="tuesday")
    assert said(run, "in one environment") == []


@pytest.mark.parametrize("options", [{"confidence": 0.95}, {"rewards": "conversions"}])
def test_forgotten_labels_give_a_warning_without_a_hidden_tide(options):
    run = experiment(budget=1000, **options)
    for step in range(101):
        run.tell(run.ask(), step % 7 % 2)
    [remark] = said(run, "in one environment")
    assert remark.startswith("all 101 pulls are in one environment, 1. To separate environments,")


def test_one_named_environment_gives_a_warning_only_after_a_day():
    now = [1e9]
    run = play(experiment(clock=lambda: now[0]), 150, label=lambda step: "shop")
    assert said(run, "in one environment") == []
    now[0] += 4 * 86_400
    run.ask()
    [remark] = said(run, "in one environment")
    assert remark.startswith("all 151 pulls, made over 4 days, are in one environment, 'shop'")


def test_a_label_for_each_pull_gives_a_warning():
    run = play(experiment(), 19, label=lambda step: f"visit {step}")
    assert said(run, "are spread over") == []
    run = play(experiment(), 20, label=lambda step: f"visit {step}")
    assert said(run, "are spread over")[0].startswith(
        "20 rewards are spread over 20 environments. Arms can be compared only"
    )
    assert run.recommend().arm is None
    assert said(play(experiment(), 40, label=lambda step: step // 2), "are spread over") == []


@pytest.mark.parametrize("labels", [[1, "1"], ["1", 1], [2, "-7", "1", 1], ["1", 1, "2", 2]])
def test_labels_that_look_alike_give_a_warning(labels):
    run = experiment()
    run.ask(environment="01")
    run.ask(environment="mon")
    for label in labels[:-1]:
        run.ask(environment=label)
    if len(labels) < 4:
        assert said(run, "two different environments") == []
    run.ask(environment=labels[-1])
    assert said(run, "two different environments") == [
        "the labels 1 (a number) and '1' (a text) are two different environments: use one of them only"
    ]


def test_labels_of_summaries_are_compared_too():
    run = experiment()
    run.ask(environment=12)
    run.tell_summary(arm="A", environment="12", n=1, mean=0.0)
    assert said(run, "two different environments") == [
        "the labels 12 (a number) and '12' (a text) are two different environments: use one of them only"
    ]


def test_arms_without_a_common_environment_give_a_warning():
    run = experiment(policy="round-robin+ols")
    for arm, label in {"A": "mon", "B": "tue", "C": "tue"}.items():
        run.tell_summary(arm=arm, environment=label, n=9, mean=1.0, variance=1.0)
    assert said(run, "cannot be compared") == []
    run.tell_summary(arm="A", environment="mon", n=3, mean=1.0, variance=1.0)
    [remark] = said(run, "cannot be compared")
    assert remark.startswith("the arms B and A cannot be compared, because no chain of shared")
    assert run.recommend().arm is None
    run.tell_summary(arm="B", environment="mon", n=3, mean=1.0, variance=1.0)
    assert said(run, "cannot be compared") == []
    assert run.recommend().arm is not None


def test_successes_without_failures_give_a_warning():
    run = experiment(budget=1000)
    pulls = [run.ask(environment=step // 100) for step in range(500)]
    run.tell_many(pulls[:60:3], [1.0] * 20)
    [remark] = said(run, "only successes are recorded")
    assert remark.endswith("Experiment(..., lease=seconds, default=0)")
    assert remark.startswith("480 pulls are pending, and every recorded reward is 1.")
    run.tell(pulls[1], 0.0)
    assert said(run, "only success") == []


def test_few_pending_pulls_give_no_warning_of_missing_failures():
    run = experiment(budget=1000)
    pulls = [run.ask(environment=step // 100) for step in range(500)]
    run.tell_many(pulls[:126], [1.0] * 126)
    assert said(run, "only success") == []  # 374 out, fewer than three for each told


def test_an_outlying_reward_gives_a_warning():
    run = play(experiment(), 100, reward=lambda step, value: 1e6 if step == 50 else value)
    [remark] = said(run, "outside")
    assert remark.startswith("a reward of 1e+06 lies far outside all others")
    both = play(experiment(), 100, reward=lambda step, value: {3: -1e7, 4: 1e6, 9: 2e6}.get(step, value))
    assert said(both, "outside")[0].startswith("a reward of -1e+07")
    assert said(play(experiment(), 100, reward=lambda step, value: step % 2 * 1e9), "outside") == []


def test_a_reward_is_outlying_beyond_ten_widths_of_the_others():
    inside = [float(x) for x in range(41)]  # the fourth from either end: 3 and 37, a width of 34
    for far, expected in ((37 + 340.0, None), (37 + 340.5, 377.5), (3 - 340.5, -337.5)):
        watch = UsageMonitor()
        watch.remarks([told([*inside[:-1], far] if far > 0 else [far, *inside[1:]])], QUIET, ())
        watch_width = -watch.highs[-1] - watch.lows[-1]
        assert watch_width == 34.0
        assert watch.outlying_reward == expected


def test_summaries_in_other_units_than_the_budget_give_a_warning():
    run = experiment(budget=10)
    for step in range(3):
        pull = run.ask(environment=0)
        run.tell_summary(arm=pull.arm, environment=0, n=7 + (step == 2), mean=1.0 + step, variance=1.0)
        if step == 1:
            assert said(run, "summaries") == []
    assert said(run, "summaries") == []  # 19 beyond the 3 settled, not more than twice the budget
    run.tell_summary(arm="A", environment=0, n=2, mean=1.0, variance=1.0)
    assert said(run, "summaries")[0].startswith(
        "summaries contain 21 rewards besides those of the 3 pulls with a reward. The budget of 10 counts pulls,"
    )


def test_five_looks_at_growing_data_give_a_warning():
    run = experiment()
    play(run, 30)
    for _ in range(20):
        assert said(run, "inspected") == []  # nothing was told in between
    for look in range(2, 6):
        pull = run.ask(environment=0)
        run.tell(pull, MEANS[pull.arm])
        assert len(said(run, "results were inspected")) == (look == 5)
    assert said(run, "inspected")[0].startswith("the results were inspected 5 times ")


def test_refused_asks_do_not_count_as_looks():
    run = experiment(budget=3)
    for _ in range(3):
        run.tell(run.ask(environment=0), 1.0)
        for _ in range(5):
            with pytest.raises(tp.errors.Finished):
                run.ask(n=4)
    assert said(run, "inspected") == []


def test_a_loaded_experiment_gives_the_same_warnings(tmp_path):
    run = play(experiment(), 150, label=lambda step: str(step // 75) if step % 2 else step // 75,
               reward=lambda step, value: 1e9 if step == 7 else value)  # fmt: skip
    run.save(tmp_path / "run.json")
    before = run.recommend().remarks
    assert len(before) == 2
    assert tp.Experiment.load(tmp_path / "run.json").recommend().remarks == before


def test_a_look_reads_only_new_events():
    """A changed first event goes unnoticed, a new second event does not."""
    watch = UsageMonitor()
    number, text = (e.Asked(0.0, None, label, (0,), None) for label in (1, "1"))
    assert watch.remarks([number], QUIET, ()) == ()
    assert watch.remarks([text], QUIET, ()) == ()
    [remark] = watch.remarks([text, text], QUIET, ())
    assert "1 (a number) and '1' (a text)" in remark
