"""Two standings: the best arm in environments like these, future ones included, and the best on average over these only."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.errors import InputError
from tideproof.report.report_tables import arm_columns
from tideproof.stats.pairs.between_environment_pairs import environments_needed


def log(days=14, lead=1.0, interaction=0.0, seed=1, arms="AB", rewards=20):
    """Return arms, days and rewards; arms differ by `lead`, more or less from day to day."""
    random = np.random.default_rng(seed)
    own = interaction * random.normal(size=(days, len(arms)))
    mean = lead * np.arange(len(arms)) + own + random.normal(size=(days, 1))
    reward = mean[:, :, None] + random.normal(size=(days, len(arms), rewards))
    day, arm, _ = np.indices(reward.shape)
    return np.array(list(arms))[arm].ravel(), day.ravel(), reward.ravel()


STEADY = log()
UNSURE = log(lead=0.45, interaction=0.3, seed=12, rewards=5)  # wins here, and variation is not proven
VARYING = log(lead=0.45, interaction=0.5, seed=5)  # wins here, and variation is proven


def test_an_arm_that_leads_by_the_same_every_day_is_the_winner():
    fit = Fit.from_arrays(*STEADY)
    assert (fit.about, fit.decision.standing, fit.decision.doubt) == ("similar", "winner", None)
    assert (fit.decision.about, fit.sure_about) == ("similar", "similar")
    assert fit.verdict.startswith("B is best on average over environments like these (95 % confidence)")


def test_an_arm_whose_lead_varies_wins_in_these_environments_only():
    fit = Fit.from_arrays(*UNSURE)
    decision = fit.decision
    assert (decision.standing, decision.doubt) == ("winner_on_these", "other environments")
    assert (decision.about, fit.sure_about) == ("similar", "these")
    assert decision.candidates == ("B", "A")
    assert set(fit.candidates) == {"A", "B"}
    assert fit.verdict.startswith("B is best on average over these 14 environments (95 % confidence): ")
    said = re.search(
        r"\)\. On average over other, similar environments, A cannot be excluded yet; (\d+) more environments? "
        r"may be enough to exclude it \(rough estimate\)$",
        fit.verdict,
    )
    assert int(said[1]) == fit.environments_to_come


def test_columns_name_their_scope_where_the_verdict_has_another():
    others, these = (
        {
            column.header
            for column in arm_columns(describe_fit(Fit.from_arrays(*UNSURE, prior="flat", about=about)))
        }
        for about in ("similar", "these")
    )
    assert others - these == {"can be best in similar environments"}
    assert these - others == {"can be best", "probability of being best"}


def test_no_probability_above_the_confidence_level_stands_beside_other_candidates():
    arm, day, reward = log(lead=0.0)
    shown = {True: 0, False: 0}
    for lead in np.linspace(0.0, 0.5, 50):
        fit = Fit.from_arrays(arm, day, reward + lead * (arm == "B"), prior="flat", about="these")
        if fit.decision.doubt == "several candidates":
            less = fit.p_best[fit.best] < fit.confidence
            assert ("best with probability" in fit.verdict) == less
            shown[less] += 1
    assert min(shown.values()) > 0


def test_if_differences_vary_there_is_no_winner_unless_these_environments_were_asked_for():
    fit = Fit.from_arrays(*VARYING)
    decision = fit.decision
    assert (decision.standing, decision.doubt, decision.about) == ("open", "unequal differences", "similar")
    assert fit.additivity().p < 0.001
    assert not decision.void  # tests about environments like these allow for it
    assert decision.candidates == ("B", "A")
    assert fit.lead_contrast.low < 0.0 < fit.lead_contrast.high
    assert fit.verdict.startswith("B leads: ")
    assert "differences between arms vary from environment to environment" in fit.verdict
    assert f"{fit.environments_to_come} more environment" in fit.verdict


def test_the_interval_in_the_verdict_is_about_the_environments_that_it_names():
    fit = Fit.from_arrays(*UNSURE)
    these = fit.contrast("B", "A", picked=True, about="these")
    assert these.low > 0.0 > fit.contrast("B", "A", picked=True).low
    assert f"(95 % confidence interval: {these.low:+.2f} to {these.high:+.2f}" in fit.verdict


def test_a_statement_about_these_environments_alone():
    for data in (STEADY, UNSURE, VARYING):
        fit = Fit.from_arrays(*data, about="these")
        assert (fit.about, fit.decision.standing, fit.decision.doubt) == ("these", "winner_on_these", None)
        assert fit.decision.candidates == ("B",)
        assert fit.verdict.startswith("B is best on average over these 14 environments (95 % confidence): ")
        assert "like these" not in fit.verdict
        assert fit.contrast("B", "A") == Fit.from_arrays(*data).contrast("B", "A", about="these")


def test_an_open_race_is_open_in_both_senses():
    data = log(lead=0.0, seed=3)
    for about in ("similar", "these"):
        fit = Fit.from_arrays(*data, about=about)
        assert (fit.decision.standing, fit.decision.doubt) == ("open", "several candidates")
        assert (fit.about, fit.decision.about) == (about, about)


@pytest.mark.parametrize("days", [1, 2, 3])
def test_few_environments_allow_statements_about_these_only(days):
    fit = Fit.from_arrays(*log(days, lead=3.0))
    assert (fit.about, fit.decision.about) == ("these", "these")
    assert fit.decision.standing == "winner_on_these"
    where = "in this log" if days == 1 else f"on average over these {days} environments"
    assert fit.verdict.startswith(f"B is best {where} (95 % confidence): ")


def test_four_environments_are_enough():
    fit = Fit.from_arrays(*log(4, lead=5.0))
    assert (fit.about, fit.decision.standing) == ("similar", "winner")


def test_environments_with_one_arm_do_not_count():
    arm, day, reward = log(5, lead=5.0)
    kept = (day < 3) | (arm == "A")
    fit = Fit.from_arrays(arm[kept], day[kept], reward[kept])
    assert (fit.about, fit.decision.standing) == ("these", "winner_on_these")
    assert fit.verdict.startswith("B is best on average over these 3 environments ")


@pytest.mark.parametrize("variance", ["interaction", "own-interaction", "interaction+by-arm", "clustered"])
def test_models_with_interactions_are_about_similar_environments(variance):
    fit = Fit.from_arrays(*STEADY, variance=variance)
    assert (fit.about, fit.decision.standing) == ("similar", "winner")
    with pytest.raises(InputError, match=f"about='these' .*{re.escape(repr(variance))}"):
        Fit.from_arrays(*STEADY, variance=variance, about="these")


@pytest.mark.parametrize("variance", ["common", "by-arm", "by-environment", "sandwich"])
def test_other_named_models_are_about_these_environments(variance):
    fit = Fit.from_arrays(*STEADY, variance=variance)
    assert (fit.about, fit.decision.standing) == ("these", "winner_on_these")


@pytest.mark.parametrize("about", ["future", "", None, 3])
def test_an_unknown_scope_is_named_with_what_is_allowed(about):
    with pytest.raises(InputError, match="about must be 'similar' or 'these'") as raised:
        Fit.from_arrays(*STEADY, about=about)
    assert repr(about) in str(raised.value)


def test_json_says_what_the_comparisons_are_about():
    for data, about, standing in (
        (STEADY, "similar", "winner"),
        (UNSURE, "similar", "winner_on_these"),
        (VARYING, "similar", "open"),
        (STEADY, "these", "winner_on_these"),
    ):
        fit = Fit.from_arrays(*data, about=about)
        for found in (fit.to_dict(), describe_fit(fit).to_dict()):
            assert (found["about"], found["standing"]) == (about, standing)


def test_fit_and_from_arrays_agree():
    arm, day, reward = VARYING
    found = tp.fit(
        {"arm": arm, "day": day, "reward": reward},
        arm="arm",
        environment="day",
        reward="reward",
        about="these",
    )
    assert found.verdict == Fit.from_arrays(*VARYING, about="these").verdict


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_names_of_arms_and_the_direction_do_not_matter(direction):
    """With the signs of the rewards, the direction changes, and the standing and its candidates do not."""
    sign = 1.0 if direction == "maximize" else -1.0
    new = dict(zip("ABC", "YZX", strict=True))
    for interaction in (0.0, 0.6, 2.0):
        arm, day, reward = log(10, 0.4, interaction, arms="ABC", rewards=30)
        one = Fit.from_arrays(arm, day, reward, prior="flat")
        order = np.random.default_rng(5).permutation(arm.size)
        names = np.array([new[a] for a in arm])
        other = Fit.from_arrays(
            names[order], day[order], sign * reward[order], direction=direction, prior="flat"
        )
        assert other.decision.standing == one.decision.standing
        assert set(other.candidates) == {new[a] for a in one.candidates}
        assert other.environments_to_come == one.environments_to_come
        for a in one.cells.arms:
            assert other.p_best[new[a]] == pytest.approx(one.p_best[a], abs=2e-3)


def test_shifts_of_days_and_units_do_not_matter():
    arm, day, reward = VARYING
    one = Fit.from_arrays(arm, day, reward).contrast("B", "A")
    shifts = 50.0 * np.random.default_rng(4).normal(size=14)
    for unit in (1.0, 1e-6, 1e6):
        other = Fit.from_arrays(arm, day, unit * (reward + shifts[day])).contrast("B", "A")
        found = np.array([other.estimate, other.se, other.low, other.high]) / unit
        assert found == pytest.approx([one.estimate, one.se, one.low, one.high], rel=1e-6)
        assert (other.p, other.degrees_of_freedom) == pytest.approx((one.p, one.degrees_of_freedom), rel=1e-6)


def test_a_winner_is_one_in_these_environments_too():
    """Of 60 logs with leads and interactions of all sizes."""
    wins = 0
    for seed in range(60):
        random = np.random.default_rng([7, seed])
        data = log(
            random.integers(4, 20), random.uniform(0, 1), random.uniform(0, 0.5), seed, "ABC", rewards=8
        )
        fit = Fit.from_arrays(*data)
        if fit.decision.standing == "winner":
            wins += 1
            these = Fit.from_arrays(*data, about="these", confidence=0.9).decision
            assert (these.standing, these.best) == ("winner_on_these", fit.decision.best)
    assert wins > 5


def test_how_many_more_environments_would_tell():
    """By the z-score of the lead in the contrast about similar environments; nothing is known of groups."""
    for data in (UNSURE, VARYING):
        fit = Fit.from_arrays(*data)
        found = fit.contrast("B", "A")
        deviate, freedom = stats.norm.isf(found.p / 2.0), found.degrees_of_freedom
        assert fit.environments_to_come == environments_needed(deviate, freedom, 14, 0.975, 1)
    apart = Fit.from_arrays(list("ABABCDCD"), [1, 1, 2, 2, 3, 3, 4, 4], [1.0, 2, 3, 5, 1, 2, 3, 5])
    assert apart.environments_to_come is None


@pytest.mark.parametrize("scale", ["difference", "ratio", "odds"])
def test_conversions_have_both_standings(scale):
    """14 days: equal odds ratios every day, and ones that vary, with and without a promise about other days."""
    random = np.random.default_rng(8)
    day, arm = (x.ravel() for x in np.indices((14, 2)))
    for lead, interaction, standings in (
        (0.7, 0.0, ("winner", "winner_on_these")),
        (0.45, 0.8, ("open", "winner_on_these")),
    ):
        x = -1.0 + lead * arm + interaction * random.normal(size=28)
        ones = random.binomial(200, 1.0 / (1.0 + np.exp(-x)))
        reward = (np.arange(200) < ones[:, None]).astype(float)
        data = np.array(list("AB"))[arm].repeat(200), day.repeat(200), reward.ravel()
        for about, standing in zip(("similar", "these"), standings, strict=True):
            fit = Fit.from_arrays(*data, scale=scale, about=about)
            assert (fit.about, fit.decision.standing) == (about, standing)
