"""The parts on interactions and on wrong cells: what is drawn, counted and summary_lines."""

import numpy as np
import pytest

from tideproof.research.trust import interaction_coverage, outlying_cell_runs
from tideproof.research.trust.interaction_coverage import InteractionCell, InteractionRow, draw
from tideproof.research.trust.ledger_part import PartOptions
from tideproof.stats.solve.least_squares import solve


@pytest.mark.parametrize("split", ["even", "uneven", "contrast"])
def test_logs_are_what_a_cell_says(split):
    cell = InteractionCell(split, 6, 3, 2.0)
    log, again, other = draw(cell, 1, 0), draw(cell, 1, 0), draw(cell, 1, 1)
    assert np.array_equal(log.mean, again.mean)
    assert not np.array_equal(log.mean[:4], other.mean[:4])
    assert log.J == 6
    assert log.K == 3
    assert not solve(log).component.any()
    if split == "even":
        assert np.all(log.n == 5.0)
    if split == "contrast":
        assert log.n.sum() == 6 * 8 * 3


def test_interactions_are_as_large_as_said():
    """Squares around the model over what noise and omega = 2 make of them, 10 x 200 x 4 cells: 1 % or so off."""
    found = []
    for run in range(10):
        log = draw(InteractionCell("even", 200, 5, 2.0), 0, run)
        residual = log.centred(log.mean - solve(log).mu[log.arm])
        found.append(np.sum(residual**2) / (199 * 4) / (4.0 + 0.2))
    assert np.mean(found) == pytest.approx(1.0, abs=0.08)  # four standard errors are 0.063


def test_a_part_counts_and_says():
    what = [InteractionCell("even", 6, 2, 0.5), InteractionCell("contrast", 6, 2, 0.5)]
    rows = [row for rows in interaction_coverage.PART.play(what, PartOptions(6, workers=1)) for row in rows]
    assert [(row.pair, row.runs) for row in rows] == [("named", 6), ("named", 6), ("picked", 6)]
    assert all(4 <= row.held <= 6 for row in rows)
    assert interaction_coverage.PART.table(rows)["kept"] == [True] * 3
    assert [line.split(":")[0] for line in interaction_coverage.PART.summarize(rows)] == [
        "even traffic, two arms named in advance",
        "traffic chosen by contrast, two arms named in advance",
        "traffic chosen by contrast, leading arm and runner-up",
    ]


def test_a_row_is_broken_if_chance_does_not_explain_it():
    cell = InteractionCell("even", 6, 2, 0.5)
    assert InteractionRow(cell, "named", 2000, 1848, 0).kept  # 92.4 %
    assert not InteractionRow(cell, "named", 2000, 1840, 0).kept  # 92 %


def test_wrong_cells_cost_what_is_counted():
    cell = outlying_cell_runs.OutlyingCellSetting("slippage", 5, "round-robin+ols")
    ((row,),) = outlying_cell_runs.PART.play([cell], PartOptions(20, workers=1))
    assert row.runs == 20
    assert row.plain > 4 * max(row.robust, 1)
    assert (row.cost_kept, row.saved_kept) == (True, True)
    assert "5 % of cells off by 20 sigma" in outlying_cell_runs.PART.summarize([row])[0]
    bad = row._replace(runs=1000, clean=20, clean_robust=60, robust=200)
    assert (bad.cost, bad.saved) == (3.0, 10.0)
    assert (bad.cost_kept, bad.saved_kept) == (False, False)
    followed = bad._replace(cell=cell._replace(policy="contrast"))
    assert followed.saved_kept  # nothing is promised of it
    assert outlying_cell_runs.PART.table([bad])["saved"] == [10.0]
