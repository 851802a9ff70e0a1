"""Plans: the answer, what it promises, and what it says."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tideproof as tp
from tideproof.errors import InputError, MissingExtra
from tideproof.lab.share_intervals import binomial
from tideproof.plans import planner as module
from tideproof.plans.plan_question import make_question
from tideproof.plans.plan_simulation import PlanSimulator
from tideproof.plans.stopping_time import find_stopping_budget, simulate_stopping

ASKED = {"arms": 3, "gap": 1.0, "sigma": 1.0, "per_environment": 20, "error": 0.1}


@pytest.fixture(scope="module")
def found():
    return tp.plan(**ASKED, replications=2000)


def test_the_ways_come_in_their_order(found):
    assert 6 <= found.budget < found.even_split < found.calibrated_stop.mean < found.proven_stop.mean
    assert found.calibrated_stop.mean < found.calibrated_stop.percentile_90
    assert found.calibrated_stop.budget == found.proven_stop.budget == 10_000


def test_what_is_promised_is_kept_under_shifts(found):
    """The 99.9999 % lower limit: a false alarm in a million."""
    world = tp.World([1.0, 0.0, 0.0], lengths=(20, 20), shifts=tp.worlds.Uniform(0, 20))
    study = tp.simulate(world, ["contrast"], found.budget, 4000, seed=77)
    assert binomial(study.errors("contrast"), 4000, 1.0 - 2e-6).low[0] <= 0.1


def test_it_says_so_in_a_sentence_and_a_table(found):
    assert found.sentence.startswith("3 arms, one better by 1 (noise with standard deviation 1): ")
    assert f"An even split needs {found.even_split:,}" in found.sentence
    assert "in at most 10 % of runs" in found.sentence
    assert "With early stopping at confidence level 90 %, a run takes" in found.sentence
    assert "\n" not in found.sentence
    assert repr(found) == f"{found.sentence}\n{found.power}\n{found.table!r}"
    assert found.table["design"] == [
        "contrast",
        "even split",
        "early stopping (calibrated)",
        "early stopping (proven)",
    ]
    assert found.table["pulls"][0] == found.budget
    assert found.table["environments"][0] == math.ceil(found.budget / 20)
    for row in found.table:
        assert row["low"] <= row["wrong"] <= row["high"]
    assert found.to_dict()["budget"] == found.budget
    assert (
        f" {found.pulls_for_power:,} pulls ({math.ceil(found.pulls_for_power / 20)} environments)"
        in found.power
    )
    assert "analyze --scale difference" in found.power
    assert " in 80 % of tests" in found.power


def test_the_curve_has_every_budget_that_was_played(found):
    ours = [row for row in found.curve if row["design"] == "contrast"]
    assert [row["budget"] for row in ours] == sorted(row["budget"] for row in ours)
    assert ours[0]["error"] > 0.1 > ours[-1]["error"]


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_picture(found, tmp_path, suffix):
    figure = found.plot(tmp_path / f"plan.{suffix}")
    assert (tmp_path / f"plan.{suffix}").stat().st_size > 1000
    said = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert said == [f"contrast: {found.budget:,} pulls", f"even split: {found.even_split:,} pulls"]


def test_the_same_question_in_other_units_is_not_played_again(found, monkeypatch):
    monkeypatch.setattr(module, "PlanSimulator", lambda *_: pytest.fail("played again"))
    again = tp.plan(**ASKED | {"gap": 7.0, "sigma": 7.0}, replications=2000)
    assert again.budget == found.budget
    assert "one better by 7 (noise with standard deviation 7)" in again.sentence


def test_ten_to_one_needs_next_to_nothing():
    assert tp.plan(**ASKED | {"gap": 30.0}, replications=200).budget == 6


def test_pulls_that_fit_would_refuse_are_not_promised():
    """Three arms in pairs: with five pulls nothing is left to measure the noise by."""
    few = tp.plan(arms=3, gap=50, sigma=1, per_environment=2, error=0.45, replications=200)
    assert few.pulls_for_power == 6
    assert "With an even split of about 6 pulls (3 environments), " in few.power


def test_one_is_not_a_plural(found):
    assert "about 1 pull (1 environment), " in replace(found, pulls_for_power=1).power


def test_rates_are_analyzed_as_they_are(found):
    rates = replace(found, question=make_question(arms=3, rate=0.1, lift=0.3, lengths=500))
    assert rates.power.endswith(
        ", tideproof analyze names the best arm of these environments in 80 % of tests (approximation)."
    )


def test_without_a_compiler_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"an even split needs about 140 pulls.*tideproof\[lab\]"):
        tp.plan(**ASKED | {"gap": 0.25, "error": 0.07, "arms": 2}, replications=200)


@pytest.mark.parametrize("asked", [{"arms": 13, "gap": 2.0}, {"arms": 3, "rate": 0.3, "lift": 1.0}], ids=str)
def test_of_many_arms_and_of_rates_nothing_is_proven(asked):
    found = tp.plan(**asked, per_environment=30, error=0.1, replications=200)
    assert found.proven_stop is None
    assert found.table["design"] == ["contrast", "even split", "early stopping (calibrated)"]
    assert found.to_dict()["proven_stop"] is None


def test_too_few_replications_are_refused():
    with pytest.raises(InputError, match="replications must be a whole number of at least 100"):
        tp.plan(**ASKED, replications=10)


def test_blocks_stand_for_their_pulls():
    """Errors as pull by pull, within a tenth, for which budgets have a margin. A false alarm in a million."""
    question = make_question(arms=3, gap=0.12, lengths=100, error=0.05)
    shares = []
    for block in (1, 4):
        lab = PlanSimulator(question, block, seed=5)
        shares.append(lab.count_errors(question.contrast(1200, block), 1200 // block, 4000) / 4000)
    single, blocks = shares
    assert blocks == pytest.approx(single, abs=0.1 * single + 4.9 * math.sqrt(2.0 * single / 4000))


def test_runs_that_stop_last_as_long_in_blocks():
    question = make_question(arms=3, gap=0.3, lengths=100, error=0.05)
    lasted = [
        simulate_stopping(
            question, "calibrated", 400, block, 1000, PlanSimulator(question, block, seed=6).simulate
        )
        for block in (1, 4)
    ]
    assert lasted[1].mean == pytest.approx(lasted[0].mean, rel=0.15)
    assert lasted[1].percentile_90 == pytest.approx(lasted[0].percentile_90, rel=0.2)


def test_the_cap_grows_with_what_is_needed():
    assert find_stopping_budget(700) == 10_000
    assert find_stopping_budget(15_300) == 160_000


def test_rates_are_as_real_conversions_on_days_that_multiply():
    """Normal blocks against 0/1 rewards, visitor by visitor. A false alarm in a million (4.9 sigma)."""
    question = make_question(arms=3, rate=0.1, lift=0.3, lengths=500, error=0.05)
    budget, block = 4800, 8
    lab = PlanSimulator(question, block, seed=9)
    normal = lab.count_errors(question.contrast(budget, block), budget // block, 4000) / 4000
    world = tp.World(
        [0.1, 0.1, 0.13],
        lengths=(500, 500),
        shifts=tp.worlds.Uniform(-0.4, 0.4),
        rewards="conversions",
        tide="multiplies",
    )
    study = tp.simulate(world, tp.policy("contrast", exploration=1.5, label="c"), budget, 2000, seed=4)
    real = float(study.pics("c")[0])
    assert real == pytest.approx(normal, abs=0.15 * normal + 4.9 * np.sqrt(normal * (1 / 2000 + 1 / 4000)))
