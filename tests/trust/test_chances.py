"""Reliability of P(best): what is counted, and that the promise holds where it is cheap to see."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.draw.reliability import reliability_figure
from tideproof.lab.intervals import binomial
from tideproof.trust import chances
from tideproof.trust.chances import Cell, curves, main, play, played, rows, table, worst

pytest.importorskip("numba")


def test_runs_are_put_into_bins_with_exact_limits():
    cell = Cell(3, 20, None)
    found = np.array([[0.55, 1.0], [0.58, 0.0], [0.97, 1.0], [0.995, 1.0], [0.4, 1.0], [np.nan, np.nan]])
    low, high = rows([((cell, 0, 6, 0, "flat"), found)])
    assert (low.above, low.below, low.runs, low.happened) == (0.5, 0.6, 2, 0.5)
    assert low.said == pytest.approx(0.565)
    assert low.off == pytest.approx(0.065)
    assert (low.low, low.high) == tuple(float(end[0]) for end in binomial(np.array([1]), 2, 0.95))
    assert (high.above, high.runs, high.happened) == (0.95, 1, 1.0)


def test_a_promise_needs_enough_runs_to_be_broken():
    one = rows([((Cell(3, 20, None), 0, 1, 0, "flat"), np.array([[0.55, 1.0]]))])[0]
    assert one.kept
    many = one._replace(runs=1000, happened=0.6, low=0.58, high=0.62)
    assert not many.kept
    assert many._replace(low=0.565).kept  # chance may have done it
    assert many._replace(cell=Cell(3, 20, 0.5)).kept
    assert not many._replace(happened=0.5, low=0.48, high=0.52).kept
    assert worst([one._replace(runs=1000, happened=0.5)])["too_high"] == [5.0]


def test_chunks_do_not_matter(monkeypatch):
    cell = Cell(3, 10, None)
    whole = play(cell, 0, 6, 1, "exchangeable")
    parts = np.concatenate([play(cell, 0, 2, 1, "exchangeable"), play(cell, 2, 6, 1, "exchangeable")])
    assert whole.tolist() == parts.tolist()
    monkeypatch.setattr(chances, "_CHUNK", 4)
    asked = {"arms": (3,), "pulls": (10,), "spreads": (None,), "workers": 1}
    assert played(6, 1, **asked) == rows([((cell, 0, 6, 1, "exchangeable"), whole)])


def test_what_is_said_happens_and_a_flat_prior_says_too_much():
    """600 runs, spreads drawn: the mean of what is said is the share of right ones, within 5 se."""
    cell = Cell(3, 20, None)
    said, happened = play(cell, 0, 600, 3, "exchangeable").T
    assert abs(said.mean() - happened.mean()) < 5.0 * np.sqrt(np.mean(said * (1.0 - said)) / 600)
    near = Cell(5, 20, 0.05)  # negative control: arms that are all but equal
    said, happened = play(near, 0, 300, 3, "flat").T
    assert said.mean() - happened.mean() > 5.0 * 0.5 / np.sqrt(300)


def test_it_can_be_played_from_the_command_line(capsys, tmp_path, monkeypatch):
    for name, few in (("ARMS", (3,)), ("PULLS", (10,))):
        monkeypatch.setattr(chances, name, few)
    monkeypatch.setattr(chances, "played", lambda *_, **__: played(20, arms=(3,), pulls=(10,), workers=1))
    csv, picture = tmp_path / "bins.csv", tmp_path / "curves.svg"
    main(["--runs", "20", "--csv", str(csv), "--picture", str(picture)])
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 5
    assert said[0].startswith(" 3 arms,  10 pulls each, spread drawn: off by ")
    assert csv.read_text().startswith("arms,pulls,spread,above,below,runs,said,happened,low,high,off,kept")
    assert picture.read_text().startswith("<?xml")


def test_the_picture_has_a_panel_for_each_spread():
    cells = [Cell(3, 20, None), Cell(3, 20, 0.5), Cell(5, 20, 0.5)]
    found = rows([((cell, 0, 2, 0, "flat"), np.array([[0.55, 1.0], [0.92, 1.0]])) for cell in cells])
    assert table(found)["arms"] == [3, 3, 3, 3, 5, 5]
    figure = reliability_figure(curves(found))
    first, second = figure.axes
    assert (first.get_title("left"), second.get_title("left")) == ("spread drawn from 0.2 to 2", "spread 0.5")
    assert [len(axes.lines) for axes in figure.axes] == [2, 3]  # with the diagonal
    assert first.lines[1].get_color() == second.lines[1].get_color()
