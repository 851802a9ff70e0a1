"""What reports say of arms that differ from day to day, and of cells that were left out."""

import numpy as np

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import describe_fit, exclusion_cautions
from tideproof.analysis.words.fit_text import interaction_sentences
from tideproof.report.html_report import html_report
from tideproof.report.leaders_chart import DRAWN, draw_leads, leads_explanation


def fitted(omega=1.2, wrong=None, days=12, **options):
    random = np.random.default_rng(1)
    arm = np.tile(np.repeat(list("ABC"), 8), days)
    day = np.repeat(np.arange(days), 24)
    own = np.repeat(omega * random.normal(size=3 * days), 8)
    reward = 0.5 * (arm == "C") + 3.0 * np.sin(day) + own + random.normal(size=arm.size)
    if wrong is not None:
        reward[(arm == "A") & (day == wrong)] += 25.0
    return Fit.from_arrays(arm, [f"day {j}" for j in day], reward, **options)


def test_the_warning_points_to_interactions_and_the_report_answers():
    found = describe_fit(fitted())
    assert len(found.warnings) == 1
    assert found.notes[0].startswith("Use variance='interaction' (--variance interaction): it allows")
    assert not any("robust" in said for said in found.notes)
    found = describe_fit(fitted(variance="interaction"))
    assert found.warnings == []
    size, winner, questions = found.answers
    assert size.startswith("Differences between arms depend on the environment. ")
    assert " omega = 1." in size
    assert winner.startswith("No arm leads in at least 90 % of environments: C leads in about ")
    assert " of 12 environments (95 % confidence interval: " in winner
    assert ". Probability that C leads in a new environment: 0." in winner
    assert questions.startswith(
        "On average over environments like these, future ones included, C leads, but B and A cannot be excluded. Over"
    )
    page = html_report(found, "log.csv", "arm = a")
    assert "Which arm leads where" in page
    assert "In how many of 12 environments each arm leads" in page
    assert "reward = arm + environment + interaction of the two + noise." in page


def test_arms_are_named_in_the_order_of_how_often_they_lead():
    fit = fitted(omega=1.6, days=30, variance="interaction")
    times = {row["arm"]: row["environments_led"] for row in fit.interaction.arms}
    assert times["C"] > times["B"] > times["A"] + 2.0
    assert fit.best == "C"
    text = f"B in about {times['B']:.0f} and A in about {times['A']:.0f}. Probability"
    assert text in interaction_sentences(fit)[1]


def test_none_open_and_untold_are_said_as_such():
    calm = fitted(omega=0.0, variance="interaction")
    said = interaction_sentences(calm)[0]
    assert calm.interaction.low == 0.0
    assert said.startswith(("There is no sign that", "The data do not show whether"))
    lonely = Fit.from_arrays(list("ABAB"), list("xxyy"), [1.0, 2.0, 4.0, 4.5], variance="interaction")
    (said,) = interaction_sentences(lonely)
    assert "cannot be separated from noise" in said
    assert interaction_sentences(fitted()) == []


def test_unequal_noise_beside_interactions_names_the_model_for_both():
    random = np.random.default_rng(2)
    arm, day = np.tile(np.repeat(list("AB"), 20), 10), np.repeat(np.arange(10), 40)
    reward = day + np.where(arm == "A", 5.0, 1.0) * random.normal(size=arm.size)
    found = describe_fit(Fit.from_arrays(arm, day, reward, variance="interaction"))
    assert len(found.warnings) == 1
    assert "--variance interaction+by-arm" in found.notes[0]


def test_what_was_left_out_is_named_first_and_advised_before():
    advised = describe_fit(fitted(omega=0.0, wrong=4))
    assert any("additivity" in said for said in advised.warnings)
    assert any(said.endswith("robust='cells' (--robust cells) excludes them.") for said in advised.notes)
    found = describe_fit(fitted(omega=0.0, wrong=4, robust="cells"))
    assert found.warnings[0].startswith("1 of 36 cells (each is one arm in one environment) is more than 5 ")
    assert ": A in day 4 (" in found.warnings[0]
    clean = describe_fit(fitted(omega=0.0, robust="cells"))
    assert any(
        note.startswith("None of 36 cells ") and " more than 5 standard errors" in note
        for note in clean.notes
    )
    torn = fitted(omega=0.0, robust="cells").left_out
    from dataclasses import replace

    (said,) = exclusion_cautions(replace(torn, torn=True))
    assert said.fact.startswith("More than 33 % of 36 cells ")
    assert " more than 5 standard errors" in said.fact


def test_the_picture_shows_the_first_environments():
    found = fitted(days=DRAWN + 5, variance="interaction").interaction
    assert f"Only the first {DRAWN} of {DRAWN + 5} environments are drawn." in leads_explanation(found)
    assert draw_leads(found).count("day 0: C") == 1


def test_advice_is_given_where_it_can_be_followed():
    """Lifts are told that differences will be compared; two factors have no such model, and keep their warning."""
    random = np.random.default_rng(3)
    day, arm = np.repeat(np.arange(12), 40), np.tile(np.repeat(list("AB"), 20), 12)
    up = np.exp(0.5 * np.repeat(random.normal(size=24), 20))
    sold = up * random.gamma(9.0, 1.0, day.size)
    lifts = describe_fit(Fit.from_arrays(arm, day, sold, scale="ratio"))
    assert any(
        said.startswith("Ratios between arms vary from environment to environment") for said in lifts.warnings
    )
    advice = "(--variance interaction --scale difference): it compares arms by differences instead of"
    assert any(advice in said for said in lifts.notes)
    table = {"arm": arm, "cow": day, "period": day % 4, "milk": 10.0 * up + random.normal(size=day.size)}
    two = tp.fit(table, arm="arm", environment="cow + period", reward="milk")
    (said,) = [said for said in describe_fit(two).warnings if "additivity" in said]
    assert said.endswith("standard errors).")
