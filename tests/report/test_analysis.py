"""An analysis in words: its table, notes and warnings, each where it belongs and nowhere else."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from tideproof.analysis import Fit
from tideproof.analysis.scale_choice import choose_scale
from tideproof.analysis.words import fit_warnings
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.analysis.words.fit_warnings import ALARM, large_reward_sentence
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.report.report_tables import arm_columns
from tideproof.stats.cells import Cells
from tideproof.table import Table
from tideproof.text import format_rounded

BELOW = ALARM * (1 - 1e-9)


def log(seed=0, gap=3.0, days=4, n=5, arms="ABC"):
    random = np.random.default_rng(seed)
    arm, day = np.tile(np.repeat(list(arms), n), days), np.repeat(np.arange(days), n * len(arms))
    return arm, day, random.normal(size=arm.size) + gap * (arm == "B") + 2.0 * day


def quiet(monkeypatch, **results):
    """Let the diagnostics find nothing, or what is said."""
    calm = {
        "additivity": lambda self, worst: SimpleNamespace(p=1.0),
        "spread": lambda self: SimpleNamespace(p_arm=1.0, p_environment=1.0),
        "influence": lambda self: Table({"environment": [], "best": []}),
        "share_drift": lambda cells: SimpleNamespace(p=1.0),
    }
    for name, result in (calm | results).items():
        monkeypatch.setattr(fit_warnings if name == "share_drift" else Fit, name, result)


def test_the_table_of_arms():
    fit = Fit.from_arrays(*log(), direction="minimize", confidence=0.8)
    table = describe_fit(fit).arms
    assert table.columns == ["arm", "mean", "low", "high", "can be best", "p_best", "raw_mean", "bias", "n"]
    rows = {row["arm"]: row for row in fit.arms}
    assert table["arm"] == sorted(rows, key=lambda arm: rows[arm]["mean"])
    for row in table:
        for name in ("p_best", "mean", "low", "high", "raw_mean", "n"):
            assert row[name] == rows[row["arm"]][name]
        assert row["can be best"] == ("yes" if row["arm"] in fit.candidates else "no")
        assert row["bias"] == 0.0  # a balanced log: what rounding leaves is not shown
    assert table["arm"][-1] == "B"
    assert "no" in table["can be best"]


def test_rounding_is_that_of_the_largest_numbers():
    arm, day, reward = log()
    assert (
        describe_fit(Fit.from_arrays(arm, day, 1e-6 * reward + 1e6 * (arm == "A"))).arms["bias"] == [0.0] * 3
    )


def test_bias_is_what_the_raw_mean_has_more():
    arm, day, reward = log()
    kept = ~((arm == "A") & (day == 3))
    table = describe_fit(Fit.from_arrays(arm[kept], day[kept], reward[kept])).arms
    assert table["bias"] == pytest.approx([r["raw_mean"] - r["mean"] for r in table])
    assert min(map(abs, table["bias"])) > 0.1


def test_groups_have_numbers():
    found = describe_fit(
        Fit.from_arrays(list("AABBCCDD"), [1, 1, 1, 1, 2, 2, 2, 2], [1.0, 2.0, 4.0, 3.0, 1.5, 2.5, 5.0, 1.0])
    )
    assert found.standing == "not_comparable"
    assert found.arms.columns == ["arm", "mean", "low", "high", "group", "raw_mean", "bias", "n"]
    assert (found.arms["arm"], found.arms["group"]) == (["B", "A", "D", "C"], [1, 1, 2, 2])
    assert found.warnings == []
    assert found.notes == ["8 rewards of 4 arms in 2 environments."]
    plain = found.to_dict()
    assert (plain["best"], plain["candidates"], plain["doubt"]) == (None, None, "groups")


PERIOD_MEAN = (
    "period-weighted mean (an average of its means in the environments, each weighted by all rewards there)"
)


def test_notes_say_what_naive_averages_pick():
    balanced = describe_fit(Fit.from_arrays(*log())).notes
    assert balanced == [
        "60 rewards of 3 arms in 4 environments.",
        Fit.from_arrays(*log()).choice.sentence,
        "B also has the best raw mean.",
    ]
    # A ran on the good day, and on the large bad day with few: raw and period-weighted means both prefer it.
    arm = ["A"] * 9 + ["B"] + ["A"] + ["B"] * 9
    both = Fit.from_arrays(arm, [1] * 10 + [2] * 10, [9.0] * 9 + [10.0, 1.0] + [2.0] * 8 + [2.5])
    assert both.best == "B"
    assert describe_fit(both).notes[-1] == f"A has the best raw mean. B has the best {PERIOD_MEAN}."
    third = Fit.from_arrays(
        ["A"] * 3 + ["B"] * 2 + ["A", "B"], [1, 1, 1, 2, 2, 3, 3], [9.0, 9.1, 8.9, 2.0, 2.1, 5.0, 6.0]
    )
    assert third.best == "B"
    assert f"A has the best raw mean and the best {PERIOD_MEAN}." in describe_fit(third).notes
    assert f"B has the best raw mean and the best {PERIOD_MEAN}." in describe_fit(Fit.from_arrays(
        ["A"] * 3 + ["B"] * 2 + ["A", "B"], [1, 1, 1, 2, 2, 3, 3], [9.0, 9.1, 8.9, 2.0, 2.1, 5.0, 6.0], direction="minimize",
    )).notes  # fmt: skip


def test_notes_count_what_says_nothing():
    arm, day, reward = log(days=2)
    fit = Fit.from_arrays([*arm, "A", "B", "B"], [*day, "lone", "other", "other"], [*reward, 1.0, 2.0, 3.0])
    said = describe_fit(fit).notes[-1]
    assert said.startswith("2 environments with a single arm")
    assert said.endswith(": lone and other.")
    c = fit.cells
    dropped = Fit(Cells(c.arms, c.environments, c.arm, c.environment, c.n, c.mean, c.squares, dropped=1))
    assert describe_fit(dropped).notes[-1] == "Skipped because a value was missing: 1 row."


def test_quiet_data_warn_of_nothing(monkeypatch):
    quiet(monkeypatch)
    assert describe_fit(Fit.from_arrays(*log())).warnings == []


@pytest.mark.parametrize(("variance", "advice"), [("common", True), ("clustered", False)])
def test_additivity_is_a_warning_below_the_alarm(monkeypatch, variance, advice):
    worst = Table({"arm": ["C"], "environment": ["tue"], "z": [-4.26]})
    quiet(monkeypatch, additivity=lambda self, worst_=worst, **_: SimpleNamespace(p=ALARM, worst=worst))
    assert describe_fit(Fit.from_arrays(*log(), variance=variance)).warnings == []
    asked = []

    def broken(self, worst):
        asked.append(worst)
        return SimpleNamespace(p=BELOW, worst=Table({"arm": ["C"], "environment": ["tue"], "z": [-4.26]}))

    monkeypatch.setattr(Fit, "additivity", broken)
    found = describe_fit(Fit.from_arrays(*log(), variance=variance))
    (said,) = found.warnings
    assert said.startswith(
        "Differences between arms vary from environment to environment more than noise explains ("
    )
    assert " (test of additivity, p = 0.001): " in said
    assert said.endswith("arm C in environment tue (4.3 standard errors).")
    assert (
        found.notes[0].startswith("Use variance='interaction' (--variance interaction): it allows") == advice
    )
    assert asked == [1]


def test_unequal_noise_is_a_warning_if_it_is_taken_as_equal(monkeypatch):
    quiet(monkeypatch, spread=lambda self: SimpleNamespace(p_arm=9e-7, p_environment=1e-6))
    equal = Fit.from_arrays(*log(), variance="common")
    found = describe_fit(equal)
    (said,) = found.warnings
    assert "arms (p < 1e-6)" in said
    assert "environments (p = 1e-06)" in said
    assert (
        "variance='sandwich' (--variance sandwich)" in found.notes[0]
    )  # not two advices that exclude each other
    for variance in ("auto", "sandwich"):
        assert describe_fit(Fit.from_arrays(*log(), variance=variance)).warnings == []
    for what in ("arm", "environment"):
        one = SimpleNamespace(**{"p_arm": ALARM, "p_environment": ALARM, f"p_{what}": 9e-7})
        monkeypatch.setattr(Fit, "spread", lambda self, one=one: one)
        found = describe_fit(equal)
        (said,) = found.warnings
        assert re.findall(r"(arms|environments) \(p", said) == [f"{what}s"]
        assert f"variance='by-{what}' (--variance by-{what})" in found.notes[0]
    worst = Table({"arm": ["C"], "environment": ["tue"], "z": [-4.26]})
    monkeypatch.setattr(Fit, "additivity", lambda self, **_: SimpleNamespace(p=BELOW, worst=worst))
    again = Fit.from_arrays(*log(), variance="common")
    found = describe_fit(again)
    assert len(found.warnings) == 1  # that fit will say whether its noise is unequal, too
    assert "--variance interaction)" in found.notes[0]
    monkeypatch.setattr(Fit, "additivity", lambda self, **_: SimpleNamespace(p=1.0, worst=worst))
    monkeypatch.setattr(Fit, "spread", lambda self: SimpleNamespace(p_arm=ALARM, p_environment=ALARM))
    assert describe_fit(equal).warnings == []


def test_a_winner_that_hangs_on_single_environments(monkeypatch):
    def without(*best):
        return lambda self: Table({"environment": list("mtwrfsu")[: len(best)], "best": list(best)})

    quiet(monkeypatch, influence=without("B", None, "B"))
    assert describe_fit(Fit.from_arrays(*log())).warnings == []
    monkeypatch.setattr(Fit, "influence", without("B", "A", None))
    assert describe_fit(Fit.from_arrays(*log())).warnings == ["Without environment t, A would lead."]
    monkeypatch.setattr(Fit, "influence", without("A", "B", "C"))
    start = "The winner depends on single environments: without any one of"
    assert describe_fit(Fit.from_arrays(*log())).warnings == [f"{start} m or w, another arm would lead."]
    assert describe_fit(Fit.from_arrays(*log(gap=0.0))).warnings == []  # an open race


def test_changing_shares_are_a_warning_unless_a_policy_chose_them(monkeypatch):
    quiet(monkeypatch, share_drift=lambda cells: SimpleNamespace(p=ALARM))
    assert describe_fit(Fit.from_arrays(*log())).warnings == []
    monkeypatch.setattr(fit_warnings, "share_drift", lambda cells: SimpleNamespace(p=0.00042))
    (said,) = describe_fit(Fit.from_arrays(*log())).warnings
    assert said == "The arms' shares of the observations differ between environments (p = 0.00042)."
    assert describe_fit(Fit.from_arrays(*log(), adaptive=True)).warnings == []


def test_a_test_that_cannot_be_made_stops_no_other(monkeypatch):
    def impossible(self, *args, **options):
        raise InputError("too little data")

    quiet(
        monkeypatch,
        additivity=impossible,
        spread=impossible,
        share_drift=lambda cells: SimpleNamespace(p=0.0),
    )
    assert len(describe_fit(Fit.from_arrays(*log())).warnings) == 1


def test_the_alarm_is_one_in_a_thousand():
    assert ALARM == 0.001


def conversions(chance, n=400, days=6, seed=0, **options):
    """0/1 rewards: `chance` of an arm, times a tide."""
    random = np.random.default_rng(seed)
    arm, day = np.tile(np.repeat(list(chance), n), days), np.repeat(np.arange(days), n * len(chance))
    rate = np.vectorize(chance.get)(arm) * (0.6 + 0.2 * day)
    return Fit.from_arrays(arm, day, (random.random(arm.size) < rate).astype(float), **options)


def test_the_scale_is_said_once():
    fit = conversions({"A": 0.1, "B": 0.14})
    assert describe_fit(fit).notes.count(fit.choice.sentence) == 1
    fit.choice = fit.choice._replace(
        tests={fit.scale: SimpleNamespace(p=BELOW)}, sentence="Neither this nor that is the same."
    )
    assert "Neither this nor that is the same." not in describe_fit(fit).notes
    assert "Neither this nor that is the same." in describe_fit(fit).warnings


def test_a_scale_that_was_asked_for_is_tested():
    """The tide multiplies by factors from 0.1 to 3.1, and the second arm has half as much again."""
    random = np.random.default_rng(0)
    arm, day = np.tile(np.repeat(list("AB"), 100), 30), np.repeat(np.arange(30), 200)
    reward = (0.1 + day / 10) * np.where(arm == "B", 1.5, 1.0) * (1.0 + 0.1 * random.normal(size=arm.size))

    def said(**options):
        found = describe_fit(Fit.from_arrays(arm, day, reward, **options))
        advised = any("scale='auto' (--scale auto)" in text for text in found.notes)
        warned = [text for text in found.warnings if "depend on the shift of the environment" in text]
        assert advised == bool(warned)
        return warned

    (warned,) = said(scale="difference")
    assert warned.startswith("Differences between arms")
    assert "(p < 1e-6)" in warned
    assert said(scale="ratio") == []
    assert said() == []
    assert said(variance="clustered") == []
    assert said(variance="interaction") == []


def test_two_arms_name_both_readings():
    """One environment, common noise: the two-sided p of Student's t, and half of it."""
    from scipy import stats

    a, b = [1.0, 2.0, 4.0, 3.0], [3.0, 4.5, 4.0, 6.0]
    fit = Fit.from_arrays(["A"] * 4 + ["B"] * 4, [1] * 8, a + b, variance="common")
    p = stats.ttest_ind(a, b).pvalue
    (said,) = [text for text in describe_fit(fit).notes if "two-sided (p" in text]
    assert f"(p = {p:.2g})" in said
    assert "whether B beats A" in said
    assert said.endswith(f"(p = {p / 2:.2g}).")
    low = Fit.from_arrays(["A"] * 4 + ["B"] * 4, [1] * 8, a + b, direction="minimize")
    assert any("whether A is below B" in text for text in describe_fit(low).notes)
    assert not any("two-sided (p" in text for text in describe_fit(Fit.from_arrays(*log())).notes)


def seeming(monkeypatch, chance, **decided):
    """What is said if the arms have these chances, and the decision is that."""
    fit = Fit.from_arrays(*log())
    decision = SimpleNamespace(
        standing="open", best="B", runner_up="A", candidates=("B", "A"), doubt=None, void=False
    )
    monkeypatch.setattr(Fit, "p_best", chance)
    monkeypatch.setattr(Fit, "verdict", "")
    found = vars(decision) | decided
    fit.__dict__["decision"] = SimpleNamespace(**found, names_winner=found["doubt"] is None)
    return [text for text in describe_fit(fit).notes if "wrong in at most" in text]


def test_one_sentence_where_a_probability_and_a_candidate_seem_to_disagree(monkeypatch):
    quiet(monkeypatch)
    several = "several candidates"
    assert seeming(monkeypatch, {"A": 0.3, "B": 0.6, "C": 0.1}, doubt=several) == []
    (likely,) = seeming(monkeypatch, {"A": 0.04, "B": 0.95, "C": 0.01}, doubt=several)
    assert "“Cannot be excluded”" in likely
    assert "wrong in at most 5 % of logs" in likely
    (unlikely,) = seeming(monkeypatch, {"A": 0.01, "B": 0.9, "C": 0.09}, doubt=several)  # below 0.05 / 3
    assert unlikely == likely
    assert seeming(monkeypatch, {"A": 0.017, "B": 0.9, "C": 0.0}, doubt=several) == []
    (winner,) = seeming(monkeypatch, {"A": 0.06, "B": 0.94, "C": 0.0}, candidates=("B",))
    assert "“Is best”" in winner
    assert "wrong in at most 5 % of logs" in winner
    assert seeming(monkeypatch, {"A": 0.05, "B": 0.95, "C": 0.0}, candidates=("B",)) == []
    assert seeming(monkeypatch, {"A": None, "B": None, "C": None}, doubt="no degrees of freedom") == []


def test_a_scale_that_only_fits_better_is_not_said_to_fit_and_a_huge_order_is_blamed(monkeypatch):
    """Days multiply, and one reward of B is about a third of all that B had."""
    arm, day, noise = log(n=20, days=8)
    reward = (10.0 + 5.0 * (arm == "B")) * np.exp(0.4 * day) * np.exp(0.1 * noise / (1.0 + noise.std()))
    worst = Table({"arm": ["C"], "environment": ["tue"], "z": [-4.26]})
    quiet(monkeypatch, additivity=lambda self, **_: SimpleNamespace(p=BELOW, worst=worst))
    fit = Fit.from_arrays(arm, day, reward, scale="auto")
    fit.choice = choose_scale(fit.cells)
    said = "Tests of the scale (whether shifts add or multiply) reject differences (p < 0.0001)"
    assert fit.choice.sentence.startswith(said)
    start = "Comparing arms by ratios fits the data better than by differences"
    (said,) = [note for note in describe_fit(fit).notes if note.startswith(start)]
    assert "(p < 0.0001)" in said
    assert "additivity" in said
    (said,) = describe_fit(fit).warnings
    assert "arm C in environment tue" in said
    at = int(np.flatnonzero((arm == "B") & (day == 3))[0])
    reward[at] = 0.5 * reward[arm == "B"].sum()
    found = describe_fit(Fit.from_arrays(arm, day, reward, scale="ratio"))
    share = f"{100 * reward[at] / reward[arm == 'B'].sum():.0f} %"
    assert found.warnings == [
        "Ratios between arms vary from environment to environment more than noise explains (test of additivity, "
        "p = 0.001)."
    ]
    assert f"{format_rounded(reward[at])} of B in 3, is {share} of the total reward of B" in found.notes[0]


def test_no_reward_is_blamed_that_is_one_of_a_few_or_of_many_alike():
    few = cells_from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 9.0, 2.0, 3.0])
    alike = cells_from_arrays([0, 1] * 40, [0, 0, 1, 1] * 20, [1.0, 2.0] * 40)
    assert large_reward_sentence(few) == large_reward_sentence(alike) == ""


def test_a_space_at_the_end_of_a_label_is_seen_and_said_first(monkeypatch):
    quiet(monkeypatch, share_drift=lambda cells: SimpleNamespace(p=0.0))
    arm, day, reward = log(gap=0.3)
    fit = Fit.from_arrays(np.where(arm == "A", "B ", arm), day, reward)
    found = describe_fit(fit)
    assert "'B '" in fit.verdict
    assert "B " not in fit.verdict.replace("'B '", "").replace("B leads", "").replace("B cannot", "")
    names = next(column for column in arm_columns(found) if column.header == "arm")
    assert "'B '" in names.cells
    assert found.warnings[0].startswith("Arms 'B ' and 'B' differ only in spaces or capitals")
    assert len(found.warnings) == len(set(found.warnings)) == 2
