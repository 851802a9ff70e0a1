"""Reliability of P(best): what is counted, and that the promise holds where it is cheap to see."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.draw.reliability_diagram import reliability_figure
from tideproof.lab.share_intervals import binomial
from tideproof.research.trust import p_best_reliability
from tideproof.research.trust.ledger_part import PartOptions
from tideproof.research.trust.p_best_reliability import (
    PART,
    ReliabilityCell,
    bins,
    cells,
    curves,
    play,
    pooled,
    run_cells,
    said,
    table,
)

pytest.importorskip("numba")


def test_runs_are_put_into_bins_with_exact_limits():
    cell = ReliabilityCell(3, 20, None)
    found = np.array([[0.55, 1.0], [0.58, 0.0], [0.97, 1.0], [0.995, 1.0], [0.4, 1.0], [np.nan, np.nan]])
    low, high, highest = bins(cell, found)
    assert (low.above, low.below, low.runs, low.happened) == (0.5, 0.6, 2, 0.5)
    assert low.said == pytest.approx(0.565)
    assert low.off == pytest.approx(0.065)
    assert (low.low, low.high) == tuple(float(end[0]) for end in binomial(np.array([1]), 2, 0.95))
    assert (high.above, high.runs, high.happened, high.played) == (0.95, 1, 1.0, 6)
    assert (highest.above, highest.below, highest.runs) == (0.99, 1.0, 1)


def test_a_promise_needs_enough_runs_to_be_broken():
    (one,) = bins(ReliabilityCell(3, 20, None), np.array([[0.55, 1.0]]))
    assert one.kept
    many = one._replace(played=1000, runs=1000, happened=0.63, low=0.61, high=0.65)
    assert not many.kept
    assert many._replace(low=0.595).kept  # chance may have done it
    assert many._replace(played=100_001).kept  # it is hardly shown there
    assert not many._replace(happened=0.47, low=0.45, high=0.49).kept
    name = "3 arms, 20 pulls each, standard deviation of means random"
    assert (
        said([one])[0]
        == f"{name}: shown in 100.0 % of runs; stated minus observed probability -45.0 to +0.0 percentage points in 1 bin"
    )
    assert (
        said([many])[0]
        == f"{name}: shown in 100.0 % of runs; stated minus observed probability -8.0 to +0.0 percentage points in 1 bin !"
    )


def test_chunks_do_not_matter(monkeypatch):
    cell = ReliabilityCell(3, 10, None)
    whole = play(cell, 0, 6, 1, "exchangeable")
    parts = np.concatenate([play(cell, 0, 2, 1, "exchangeable"), play(cell, 2, 6, 1, "exchangeable")])
    assert np.array_equal(whole, parts, equal_nan=True)
    monkeypatch.setattr(p_best_reliability, "_CHUNK", 4)
    assert list(run_cells([cell, cell], 6, 1, workers=1)) == [bins(cell, whole)] * 2
    assert list(PART.play([cell], PartOptions(6, seed=1, workers=2))) == [bins(cell, whole)]


@pytest.mark.no_cover
def test_what_is_said_happens_and_a_flat_prior_says_too_much():
    """300 runs, spreads drawn: the mean of what is said is the share of right ones, within 5 se."""
    cell = ReliabilityCell(3, 20, None)
    said, happened = shown(play(cell, 0, 300, 3, "exchangeable"))
    assert 0.2 * 300 < said.size < 0.4 * 300  # 30 % of runs
    assert abs(said.mean() - happened.mean()) < 5.0 * np.sqrt(np.mean(said * (1.0 - said)) / said.size) + 0.01
    for noise in (1.0, 3.0):
        near = ReliabilityCell(3, 20, 0.05, noise)  # arms that are all but equal
        assert shown(play(near, 0, 100, 3, "exchangeable")).shape[1] <= 4  # 0.2 %: more come once in 10**5
    near = ReliabilityCell(3, 20, 0.05)  # negative control
    said, happened = play(near, 0, 200, 3, "flat").T
    assert said.mean() - happened.mean() > 5.0 * 0.5 / np.sqrt(200)


def shown(found):
    """Return the columns of the runs in which a probability is shown."""
    return found[~np.isnan(found[:, 0])].T


def test_reliability_is_of_all_cells_of_a_spread():
    """By hand: 3 of 5 runs said 54 % on average, in two cells of one spread; another spread stands apart."""
    one = bins(ReliabilityCell(3, 20, 0.2), np.array([[0.5, 1.0], [0.55, 0.0], [0.57, 1.0]]))
    two = bins(ReliabilityCell(5, 20, 0.2), np.array([[0.51, 1.0], [0.57, 0.0], [0.93, 1.0]]))
    drawn = bins(ReliabilityCell(5, 20, None), np.array([[0.75, 1.0]]))
    found = pooled([*one, *two, *drawn])
    assert [(row.cell.spread, row.above, row.runs) for row in found] == [
        (None, 0.7, 1),
        (0.2, 0.5, 5),
        (0.2, 0.9, 1),
    ]
    assert (found[1].said, found[1].happened) == (pytest.approx(0.54), 0.6)
    assert (found[1].low, found[1].high) == tuple(float(end[0]) for end in binomial(np.array([3]), 5, 0.95))
    assert (
        said([*one, *two])[-2]
        == "0.2                                 50 to  60 %         5      54.0 %  60.0 % (14.7 to 94.7)"
    )


def test_there_are_78_cells_and_a_picture_of_them(tmp_path):
    assert len(cells()) == len({cell.name for cell in PART.cells(PartOptions(1))}) == 78
    picture = tmp_path / "curves.svg"
    PART.draw(bins(ReliabilityCell(3, 20, None), np.array([[0.55, 1.0], [0.92, 1.0]])), picture)
    assert picture.read_text().startswith("<?xml")


def test_the_picture_has_a_panel_for_each_spread():
    three = [ReliabilityCell(3, 20, None), ReliabilityCell(3, 20, 0.5), ReliabilityCell(5, 20, 0.5)]
    found = [row for cell in three for row in bins(cell, np.array([[0.55, 1.0], [0.92, 1.0]]))]
    assert table(found)["arms"] == [3, 3, 3, 3, 5, 5]
    assert table(found).columns[-2:] == ["off", "kept"]
    figure = reliability_figure(curves(found))
    first, second = figure.axes
    assert (first.get_title("left"), second.get_title("left")) == (
        "standard deviation of means random",
        "standard deviation of means 0.5",
    )
    assert [len(axes.lines) for axes in figure.axes] == [2, 3]  # with the diagonal
    assert first.lines[1].get_color() == second.lines[1].get_color()
