"""The check that plays what plans promise."""

import tideproof as tp
from tideproof.trust.plans import SETTINGS, Setting, main, play, table


def test_twenty_settings_of_means_and_rates():
    assert len(SETTINGS) == len(set(SETTINGS)) == 20
    assert sum(setting.rate is not None for setting in SETTINGS) == 5
    assert all(setting.world().arms == setting.arms for setting in SETTINGS)


def test_a_promise_is_planned_played_and_counted():
    easy = Setting(2, 10, 0.2, gap=1.5)
    rows = list(play([easy], 1000, replications=1000))
    assert [row.way for row in rows] == ["contrast", "even split"]
    assert all(row.kept == (row.low <= 0.2) for row in rows)
    assert all(row.kept for row in rows)
    assert table(rows)["setting"][0] == "2 arms, gap 1.5, 10 an environment, error 0.2"


def test_it_runs_from_the_shell(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tideproof.trust.plans.SETTINGS", (Setting(2, 10, 0.2, rate=0.3, lift=0.9),))
    assert main(["--runs", "500", "--replications", "500", "--csv", str(tmp_path / "plans.csv")]) == 0
    assert "2 of 2 promises kept" in capsys.readouterr().out
    assert (tmp_path / "plans.csv").read_text().startswith("setting,way,promised")


def test_a_promise_that_is_broken_is_said(capsys, monkeypatch):
    monkeypatch.setattr("tideproof.trust.plans.SETTINGS", (Setting(2, 10, 0.2, gap=1.5),))
    monkeypatch.setattr(Setting, "world", lambda self: tp.World([0.0, 0.01]))
    assert main(["--runs", "500", "--replications", "1000"]) == 3
    assert "BROKEN" in capsys.readouterr().out
