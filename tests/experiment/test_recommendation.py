"""Recommendations: their numbers against the fit and closed forms, and their text."""

import re
from dataclasses import replace

import numpy as np
import pytest

import tideproof as tp
from experiments import ARMS, experiment
from tideproof.experiment.recommendation_text import headline


def told(rewards, **options):
    """Return an experiment with these rewards by arm and environment."""
    run = experiment(**options)
    for (arm, environment), values in rewards.items():
        for value in values:
            run.tell_summary(arm=arm, environment=environment, n=1, mean=value)
    return run


# One environment: the difference of two means, and its standard error with the pooled variance.
REWARDS = {("A", "mon"): [1.0, 2.0, 3.0], ("B", "mon"): [4.0, 6.0, 8.0], ("C", "mon"): [0.0, 1.0, -1.0]}
POOLED = (2.0 + 8.0 + 2.0) / 6.0
SE = (POOLED * (1 / 3 + 1 / 3)) ** 0.5
T = 2.4469118511449692  # 0.975 quantile of Student's t with 6 degrees of freedom


def test_margin_and_interval_are_those_of_two_means():
    run = told(REWARDS, policy="round-robin+ols")
    found = run.recommend()
    assert (found.arm, found.runner_up) == ("B", "A")
    assert found.margin == pytest.approx(4.0)
    assert found.low == pytest.approx(4.0 - T * SE)
    assert found.high == pytest.approx(4.0 + T * SE)
    assert found.p_best is None  # nine rewards do not tell how different arms are
    assert 0.9 < run.recommend(prior="flat").p_best < 1.0
    assert [sorted(group) for group in found.groups] == [ARMS]
    assert not found.adaptive


def test_the_margin_is_positive_if_low_rewards_are_good():
    found = told(REWARDS, policy="round-robin+ols", direction="minimize").recommend()
    assert (found.arm, found.runner_up) == ("C", "A")
    assert found.margin == pytest.approx(2.0)
    assert found.low == pytest.approx(2.0 - T * SE, rel=1e-5)
    assert found.high == pytest.approx(2.0 + T * SE, rel=1e-5)


def test_without_a_degree_of_freedom_there_is_a_margin_and_no_interval():
    found = told({("A", 1): [1.0], ("B", 1): [3.5], ("C", 1): [2.0]}, direction="minimize").recommend()
    assert (found.arm, found.runner_up) == ("A", "C")
    assert found.margin == pytest.approx(1.0)
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize("rewards", ["normal", "conversions", "counts"])
def test_0_1_rewards_without_a_degree_of_freedom_have_no_probability(rewards):
    run = tp.Experiment(["A", "B"], budget=60, seed=1, tide="labels", rewards=rewards)
    for pull, reward in zip(run.ask(n=2, environment="x"), (0.0, 1.0), strict=True):
        run.tell(pull, reward)
    found = run.recommend()
    assert (found.arm, found.p_best, found.to_dict()["p_best"]) == ("B", None, None)
    assert "probability" not in str(found)


@pytest.mark.parametrize("policy", ["contrast", "by-arm:contrast", "by-arm:auto:contrast", "robust:contrast"])
def test_the_largest_rewards_have_the_limits_of_small_ones(policy):
    found = []
    for unit in (1.0, 1e50):
        run, random = experiment(policy=policy, budget=90), np.random.default_rng(4)
        for step in range(90):
            pull = run.ask(environment=step // 9)
            run.tell(pull, unit * float(np.clip(random.normal(), -1.0, 1.0)))
        found.append(run.recommend(prior="flat"))
    small, large = found
    assert large.arm == small.arm
    assert (large.low, large.high) == pytest.approx((1e50 * small.low, 1e50 * small.high), rel=1e-6)
    assert large.p_best == pytest.approx(small.p_best, rel=1e-6)


def test_arms_without_a_common_environment_are_not_selected():
    found = told({("B", 1): [1.0, 2.0]}).recommend()
    assert (found.arm, found.runner_up, found.margin, found.low, found.p_best) == (None,) * 5
    assert found.recorded == 2
    assert found.groups == (("A",), ("B",), ("C",))


def test_rewards_that_do_not_vary_have_a_margin_and_no_probability():
    found = told({("A", 1): [1.0] * 3, ("B", 1): [3.0] * 3, ("C", 1): [2.0] * 3}).recommend()
    assert (found.arm, found.runner_up) == ("B", "C")
    assert found.margin == pytest.approx(1.0)
    assert found.low is found.high is found.p_best is None
    assert "do not vary" in str(found)


@pytest.mark.parametrize("height", [1e6, 1e12])
def test_rewards_that_do_not_vary_are_known_as_such_under_shifts_far_larger_than_the_arms(height):
    """Noise of a thousand times the rounding error counts as noise, in `recommend` as in `fit`."""
    places = [(arm, day) for day in range(4) for arm in ARMS for _ in range(2)]
    levels = {place: height * (1.0 + place[1] / 7.0) + 0.1 * ARMS.index(place[0]) for place in places}
    for step, exact in ((0.0, True), (1e3 * np.spacing(height), False)):
        run = experiment()
        for i, (arm, day) in enumerate(places):
            run.tell_summary(arm=arm, environment=day, n=1, mean=levels[arm, day] + step * (i % 2))
        assert run.fit().exact == exact
        assert (run.recommend().p_best is None) == exact


def test_nothing_is_selected_without_rewards():
    found = experiment().recommend()
    assert found.arm is found.runner_up is found.margin is found.low is found.high is found.p_best is None
    assert found.groups == (("A",), ("B",), ("C",))
    assert found.adaptive
    assert not experiment(policy="round-robin").recommend().adaptive


ONE, TWO = (("A", "B"),), (("A", "B"), ("C",))


@pytest.mark.parametrize(
    ("sure", "low", "stronger"),
    [(True, -0.5, True), (True, 0.0, True), (True, 0.5, False), (False, -0.5, False)],
)
def test_the_text_says_that_the_rule_uses_a_stronger_test_than_the_interval(sure, low, stronger):
    fields = {"adaptive": True, "confidence": 0.95, "anytime": True, "promise": "proven"}
    text = str(tp.Recommendation("A", "B", 1.0, low, 2.0, 9, ONE, sure=sure, **fields))
    assert f"95 % confidence interval, valid at every inspection: {low:+.1f} to +2.0" in text
    assert ("stronger test" in text) == stronger
    assert (
        "not yet confirmed as the best on average over these environments at confidence level 95 %" in text
    ) == (not sure)
    assert (
        ", confirmed as the best on average over these environments at confidence level 95 % (proven)" in text
    ) == sure


@pytest.mark.parametrize(
    ("found", "chance", "words", "absent"),
    [
        (("A", "B", 1.23456, 0.5, 2.0, 9, ONE), 0.98765,
         ("select A", "+1.2 over B (", "95 % confidence interval: +0.5 to +2.0", "probability 0.988"), ("every inspection", "confirmed")),
        (("A", "B", -0.25, -1.0, 0.5, 9, ONE), 0.25, ("-0.25 over B (", "-1.0 to +0.5", "0.250"), ("confirmed",)),
        (("A", "B", 1.0, None, None, 9, ONE), None, ("select A", "+1 over B"), ("interval", "probability")),
        (("A", "B", 1.0, 0.0, 2.0, 9, ONE), None, ("+1.0 over B (", "+0.0 to +2.0"), ("probability",)),
        (("A", "B", 1.0, None, None, 9, ONE), 0.5, ("+1 over B", "0.500", "exchangeable"), ("interval",)),
        ((None, None, None, None, None, 9, TWO), None, ("not comparable yet", "(A, B) and (C) have no environment in common"), ("select A",)),
        ((None, None, None, None, None, 9, ONE), None, ("no arm can be selected",), ("comparable",)),
        ((None, None, None, None, None, 0, TWO), None, ("no reward",), ("select",)),
    ],
)  # fmt: skip
def test_the_text_of_a_recommendation(found, chance, words, absent):
    text = str(tp.Recommendation(*found, adaptive=True, chance=lambda: chance))
    assert [word for word in words if word not in text] == []
    assert [word for word in absent if word in text] == []
    remarked = tp.Recommendation(*found, adaptive=True, remarks=("look twice",), chance=lambda: chance)
    assert str(remarked) == f"{text}. Look twice"


@pytest.mark.parametrize(("cells", "named", "more"), [(0, 0, ""), (1, 1, ""), (3, 3, ""), (4, 3, "1 more")])
def test_the_text_names_up_to_three_excluded_cells(cells, named, more):
    left_out = tuple(f"cell {number}" for number in range(cells))
    text = str(tp.Recommendation("A", "B", 1.0, 0.5, 2.0, 9, ONE, adaptive=True, left_out=left_out))
    assert text.count("cell ") == named
    assert ("Excluded outlying cells" in text) == (cells > 0)
    assert more in text
    assert ("more" in text) == bool(more)


def test_the_text_gives_percentages_on_the_scales_of_ratios_and_odds():
    for scale, unit in (("ratio", "%"), ("odds", "% in odds")):
        text = str(tp.Recommendation("A", "B", 0.1, 0.05, 0.2, 9, ONE, adaptive=True, scale=scale))
        assert f"+10 {unit} over B (95 %" in text
    assert "labels" in str(tp.Recommendation("A", "B", 0.1, 0.05, 0.2, 9, ONE, adaptive=True, tide="hidden"))


@pytest.mark.parametrize("options", [{}, {"confidence": 0.9}], ids=["budget", "stopping rule"])
def test_a_lead_towards_lower_rewards_is_below_the_runner_up_in_every_text(options):
    run = tp.Experiment(["A", "B"], budget=100, direction="minimize", seed=1, **options)
    for step in range(100):
        if run.done:
            break
        pull = run.ask(environment=step // 8)
        run.tell(pull, (1.0 if pull.arm == "A" else 3.0) + step % 3)
    found = run.recommend()
    assert (found.arm, found.direction, found.to_dict()["direction"]) == ("A", "minimize", "minimize")
    assert (found.margin > 0.0, found.sure) == (True, bool(options))
    assert found.low < 0.0 if options else found.low > 0.0
    lead = r": ([0-9.]+) below B"
    far = "below to ([0-9.]+) above" if options else "to ([0-9.]+) below"
    interval = rf" \(95 % confidence interval[^:]*: ([0-9.]+) {far}\)"
    numbers = [float(number) for number in re.search(lead + interval, str(found)).groups()]
    ends = [found.high, -found.low] if options else [found.low, found.high]
    assert numbers == pytest.approx([found.margin, *ends], abs=0.5)
    if options:  # the stopping rule uses a stronger test than the interval, which contains 0
        assert re.fullmatch(
            r"A is best on average over these environments \(90 % confidence\)" + lead, headline(found)
        )
    else:
        assert re.fullmatch("A leads" + lead + interval, headline(found))
    difference = run.fit().contrast("A", "B", picked=True)
    ends = r", the runner-up \(95 % confidence interval: ([0-9.]+) to ([0-9.]+) below"
    said = re.search(lead + ends, run.fit().verdict)
    assert [float(number) for number in said.groups()] == pytest.approx(
        [-difference.estimate, -difference.high, -difference.low], abs=0.5
    )


def test_the_probability_is_computed_once_and_only_if_it_is_read():
    calls = []
    found = tp.Recommendation(
        "A", "B", 1.0, 0.0, 2.0, 9, ONE, adaptive=True, chance=lambda: calls.append(1) or 0.5
    )
    assert calls == []
    assert (found.p_best, found.p_best, found.to_dict()["p_best"]) == (0.5, 0.5, 0.5)
    assert calls == [1]


def test_a_refused_ask_computes_neither_interval_nor_probability(monkeypatch):
    run = tp.Experiment(["A", "B", "C"], budget=9)
    for i, pull in enumerate(run.ask(environment=1, n=9)):
        run.tell(pull, i * 0.1)
    monkeypatch.setattr(
        "tideproof.experiment.read_model.Fit", lambda *_, **__: pytest.fail("nobody asked for it")
    )
    with pytest.raises(
        tp.errors.Finished,
        match=r"budget is used up: 1 pull was requested, but 0 of 9 are left; the selected arm is \w$",
    ):
        run.ask()


FOUND = tp.Recommendation("A", "B", 1.0, -1.0, 3.0, 9, (("A", "B"),), False)


@pytest.mark.parametrize("missing", ["low", "high"])
def test_an_interval_needs_both_bounds(missing):
    assert "interval" in str(FOUND)
    assert "interval" not in str(replace(FOUND, **{missing: None}))


@pytest.mark.parametrize(("count", "more"), [(3, False), (4, True)])
def test_three_outlying_cells_are_named(count, more):
    text = str(replace(FOUND, left_out=tuple(f"cell {i}" for i in range(count))))
    assert text.count("cell ") == 3
    assert ("and 1 more" in text) == more
