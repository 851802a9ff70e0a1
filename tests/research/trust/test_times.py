"""The part on logs without labels: what is drawn, counted and summary_lines."""

import numpy as np
import pytest

from tideproof.research.trust import unlabelled_log_coverage
from tideproof.research.trust.ledger_part import PartOptions
from tideproof.research.trust.unlabelled_log_coverage import KINDS, TIDES, UnlabelledCell, UnlabelledRow, draw


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tide", TIDES)
def test_the_second_arm_is_better_by_what_is_said(kind, tide):
    """Over 20 logs of 4,000 rows; four standard errors, one in 16,000 is beyond; seeds are fixed."""
    rewards, level = kind
    cell = UnlabelledCell(rewards, level, tide, 4000)
    gaps, truths = [], []
    for run in range(20):
        arm, y, mean = draw(cell, 0, run)
        moved = y - (mean if cell.adds else 0.0)
        gaps.append(moved[arm == 1].mean() - moved[arm == 0].mean())
        truths.append(unlabelled_log_coverage.true_contrast(cell, "difference", mean))
    error = np.std(gaps) / np.sqrt(20)
    assert np.mean(gaps) == pytest.approx(np.mean(truths), abs=4 * error)
    assert np.array_equal(draw(cell, 0, 3)[1], draw(cell, 0, 3)[1])
    assert not np.array_equal(draw(cell, 0, 3)[1], draw(cell, 0, 4)[1])


def test_the_truth_is_that_of_the_scale():
    cell, mean = UnlabelledCell("conversions", 0.1, "none", 1000), np.array([0.1, 0.2])
    assert unlabelled_log_coverage.true_contrast(cell, "ratio", mean) == 0.5
    assert unlabelled_log_coverage.true_contrast(cell, "difference", mean) == pytest.approx(0.075)
    odds = [0.15 / 0.85 / (0.1 / 0.9), 0.3 / 0.7 / (0.2 / 0.8)]
    assert unlabelled_log_coverage.true_contrast(cell, "odds", mean) == pytest.approx(
        np.sqrt(odds[0] * odds[1]) - 1.0
    )
    assert (
        unlabelled_log_coverage.true_contrast(UnlabelledCell("normal", 1.0, "none", 1000), "difference", mean)
        == 0.2
    )


def test_a_part_counts_and_says():
    """Fewer than 15 of 20 limits at 95 % hold by chance in one choice of the seed in 3,000."""
    what = [UnlabelledCell("normal", 1.0, "jumps", 1000), UnlabelledCell("money", 0.06, "jumps", 4000)]
    rows = [
        row for rows in unlabelled_log_coverage.PART.play(what, PartOptions(20, workers=1)) for row in rows
    ]
    assert [(row.logs, row.binned) for row in rows] == [(20, 0), (20, 20)]
    assert all(row.held >= 15 for row in rows)
    assert unlabelled_log_coverage.PART.table(rows)["kept"] == [True] * 2
    assert [line.split(":")[0] for line in unlabelled_log_coverage.PART.summarize(rows)] == [
        "normal",
        "money",
    ]
    assert "100.0 % of logs in bins" in unlabelled_log_coverage.PART.summarize(rows)[1]


def test_a_row_is_broken_if_chance_does_not_explain_it():
    cell = UnlabelledCell("money", 0.06, "none", 4000)
    assert UnlabelledRow(cell, 500, 500, 450, 0, 0).kept  # 90 %
    assert not UnlabelledRow(cell, 500, 500, 440, 0, 0).kept  # 88 %
