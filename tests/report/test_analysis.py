"""An analysis in words: its table, notes and warnings, each where it belongs and nowhere else."""

from types import SimpleNamespace

import numpy as np
import pytest

from tideproof.errors import InputError
from tideproof.estimate import Fit
from tideproof.report.analysis import ALARM, analyse, as_dict
from tideproof.stats.cells import Cells
from tideproof.table import Table

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
        "sample_ratio": lambda self: SimpleNamespace(drift_p=1.0),
    }
    for name, result in (calm | results).items():
        monkeypatch.setattr(Fit, name, result)


def test_the_table_of_arms():
    fit = Fit.from_arrays(*log(), direction="minimize", level=0.8)
    table = analyse(fit).arms
    assert table.columns == ["arm", "can be best", "p_best", "mean", "low", "high", "raw_mean", "bias", "n"]
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
    assert analyse(Fit.from_arrays(arm, day, 1e-6 * reward + 1e6 * (arm == "A"))).arms["bias"] == [0.0] * 3


def test_bias_is_what_the_raw_mean_has_more():
    arm, day, reward = log()
    kept = ~((arm == "A") & (day == 3))
    table = analyse(Fit.from_arrays(arm[kept], day[kept], reward[kept])).arms
    assert table["bias"] == pytest.approx([r["raw_mean"] - r["mean"] for r in table])
    assert min(map(abs, table["bias"])) > 0.1


def test_groups_have_numbers():
    found = analyse(
        Fit.from_arrays(list("AABBCCDD"), [1, 1, 1, 1, 2, 2, 2, 2], [1.0, 2.0, 4.0, 3.0, 1.5, 2.5, 5.0, 1.0])
    )
    assert found.standing == "not_comparable"
    assert found.arms.columns == ["arm", "group", "mean", "low", "high", "raw_mean", "bias", "n"]
    assert (found.arms["arm"], found.arms["group"]) == (["B", "A", "D", "C"], [1, 1, 2, 2])
    assert found.warnings == []
    assert found.notes == ["8 rewards of 4 arms in 2 environments."]
    plain = as_dict(found)
    assert (plain["best"], plain["candidates"], plain["doubt"]) == (None, None, "groups")


def test_notes_say_what_naive_averages_pick():
    balanced = analyse(Fit.from_arrays(*log())).notes
    assert balanced == [
        "60 rewards of 3 arms in 4 environments.",
        "The raw and the period-weighted mean pick the same arm.",
    ]
    # A ran on the good day, and on the large bad day with few: raw and period-weighted means both prefer it.
    arm = ["A"] * 9 + ["B"] + ["A"] + ["B"] * 9
    both = Fit.from_arrays(arm, [1] * 10 + [2] * 10, [9.0] * 9 + [10.0, 1.0] + [2.0] * 8 + [2.5])
    assert both.best == "B"
    assert analyse(both).notes[1] == "The raw mean would have picked A, the period-weighted mean B."
    third = Fit.from_arrays(
        ["A"] * 3 + ["B"] * 2 + ["A", "B"], [1, 1, 1, 2, 2, 3, 3], [9.0, 9.1, 8.9, 2.0, 2.1, 5.0, 6.0]
    )
    assert third.best == "B"
    assert analyse(third).notes[1] == "The raw mean and the period-weighted mean would both have picked A."
    assert "both have picked B" in analyse(Fit.from_arrays(
        ["A"] * 3 + ["B"] * 2 + ["A", "B"], [1, 1, 1, 2, 2, 3, 3], [9.0, 9.1, 8.9, 2.0, 2.1, 5.0, 6.0], direction="minimize",
    )).notes[1]  # fmt: skip


def test_notes_count_what_says_nothing():
    arm, day, reward = log(days=2)
    fit = Fit.from_arrays([*arm, "A", "B", "B"], [*day, "lone", "other", "other"], [*reward, 1.0, 2.0, 3.0])
    assert (
        analyse(fit).notes[-1] == "Nothing is learned from 2 environments with a single arm: lone and other."
    )
    c = fit.cells
    dropped = Fit(Cells(c.arms, c.environments, c.arm, c.environment, c.n, c.mean, c.squares, dropped=1))
    assert analyse(dropped).notes[-1] == "Left out because a value was missing: 1 row."


def test_quiet_data_warn_of_nothing(monkeypatch):
    quiet(monkeypatch)
    assert analyse(Fit.from_arrays(*log())).warnings == []


@pytest.mark.parametrize(("variance", "advice"), [("common", True), ("clustered", False)])
def test_additivity_is_a_warning_below_the_alarm(monkeypatch, variance, advice):
    worst = Table({"arm": ["C"], "environment": ["tue"], "z": [-4.26]})
    quiet(monkeypatch, additivity=lambda self, worst_=worst, **_: SimpleNamespace(p=ALARM, worst=worst))
    assert analyse(Fit.from_arrays(*log(), variance=variance)).warnings == []
    asked = []

    def broken(self, worst):
        asked.append(worst)
        return SimpleNamespace(p=BELOW, worst=Table({"arm": ["C"], "environment": ["tue"], "z": [-4.26]}))

    monkeypatch.setattr(Fit, "additivity", broken)
    (said,) = analyse(Fit.from_arrays(*log(), variance=variance)).warnings
    start = "Shifts are not the same for all arms (F test of additivity, p = 0.001). Furthest off: arm C in environment tue, "
    end = "; variance='clustered' (--variance clustered) gives intervals that allow for it" if advice else ""
    assert said == f"{start}4.3 standard errors{end}."
    assert asked == [1]


def test_unequal_noise_is_a_warning_if_it_is_taken_as_equal(monkeypatch):
    quiet(monkeypatch, spread=lambda self: SimpleNamespace(p_arm=9e-7, p_environment=1e-6))
    equal = Fit.from_arrays(*log(), variance="common")
    assert analyse(equal).warnings == [  # one advice, not two that exclude each other
        "Rewards of different arms (p < 1e-6) and of different environments (p = 1e-06) do not vary alike; "
        "try variance='robust' (--variance robust)."
    ]
    for variance in ("auto", "robust"):
        assert analyse(Fit.from_arrays(*log(), variance=variance)).warnings == []
    for what in ("arm", "environment"):
        one = SimpleNamespace(**{"p_arm": ALARM, "p_environment": ALARM, f"p_{what}": 9e-7})
        monkeypatch.setattr(Fit, "spread", lambda self, one=one: one)
        assert analyse(equal).warnings == [
            f"Rewards of different {what}s (p < 1e-6) do not vary alike; "
            f"try variance='by-{what}' (--variance by-{what})."
        ]
    worst = Table({"arm": ["C"], "environment": ["tue"], "z": [-4.26]})
    monkeypatch.setattr(Fit, "additivity", lambda self, **_: SimpleNamespace(p=BELOW, worst=worst))
    (said,) = analyse(equal).warnings  # "clustered" allows for unequal noise as well
    assert "--variance clustered" in said
    monkeypatch.setattr(Fit, "additivity", lambda self, **_: SimpleNamespace(p=1.0, worst=worst))
    monkeypatch.setattr(Fit, "spread", lambda self: SimpleNamespace(p_arm=ALARM, p_environment=ALARM))
    assert analyse(equal).warnings == []


def test_a_winner_that_hangs_on_single_environments(monkeypatch):
    def without(*best):
        return lambda self: Table({"environment": list("mtwrfsu")[: len(best)], "best": list(best)})

    quiet(monkeypatch, influence=without("B", None, "B"))
    assert analyse(Fit.from_arrays(*log())).warnings == []
    monkeypatch.setattr(Fit, "influence", without("B", "A", None))
    assert analyse(Fit.from_arrays(*log())).warnings == ["Without t alone, A would lead."]
    monkeypatch.setattr(Fit, "influence", without("A", "B", "C"))
    start = "The winner hangs on single environments: without any one of"
    assert analyse(Fit.from_arrays(*log())).warnings == [f"{start} m or w another arm would lead."]
    assert analyse(Fit.from_arrays(*log(gap=0.0))).warnings == []  # an open race


def test_changing_shares_are_a_warning_unless_a_policy_chose_them(monkeypatch):
    quiet(monkeypatch, sample_ratio=lambda self: SimpleNamespace(drift_p=ALARM))
    assert analyse(Fit.from_arrays(*log())).warnings == []
    monkeypatch.setattr(Fit, "sample_ratio", lambda self: SimpleNamespace(drift_p=0.00042))
    (said,) = analyse(Fit.from_arrays(*log())).warnings
    assert said.startswith("The arms' shares of the traffic changed between environments (p = 0.00042). ")
    assert analyse(Fit.from_arrays(*log(), adaptive=True)).warnings == []


def test_a_test_that_cannot_be_made_stops_no_other(monkeypatch):
    def impossible(self, *args, **options):
        raise InputError("too little data")

    quiet(
        monkeypatch,
        additivity=impossible,
        spread=impossible,
        sample_ratio=lambda self: SimpleNamespace(drift_p=0.0),
    )
    assert len(analyse(Fit.from_arrays(*log())).warnings) == 1


def test_the_alarm_is_one_in_a_thousand():
    assert ALARM == 0.001
