"""The simulation that counts the coverage of intervals of evaluation logs."""

import numpy as np
import pytest

from tideproof.research.trust import evaluation_coverage as part
from tideproof.research.trust.ledger_part import PartOptions, broken_rows
from tideproof.research.trust.ledger_part_registry import find_part
from tideproof.research.trust.promised_error_rates import Promise

KINDS = ("one sample", "five samples", "passages", "missing pairs", "graders", "scores")


def test_the_true_means_are_those_of_many_items():
    setting = part.EvaluationSetting("one sample", 2, 200_000, 1.0)
    cells = part.draw_log(setting, np.random.default_rng(1))
    seen = cells.by_arm(cells.mean) / 200_000
    assert np.abs(seen - part.true_means(setting)).max() < 5.0 * 0.5 / np.sqrt(200_000)  # 5 standard errors


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover(kind):
    """400 logs. If the coverage is 95 %, each of the 12 checks fails by chance with probability 1e-6."""
    for spread in (0.0, 1.0):
        setting = part.EvaluationSetting(kind, 3, 100, spread)
        logs, compared, pair, own = part.play(((7, setting), 0, 400)).tolist()
        assert logs == compared == 400
        assert Promise("", compared - pair, compared, 0.05).kept
        assert kind == "graders" or Promise("", compared - own, compared, 0.05).kept


def test_samples_taken_as_independent_would_not_cover():
    """The negative control: repeated samples of an item depend on each other."""
    setting, wrong = part.EvaluationSetting("five samples", 2, 100, 1.0), 0
    truth = np.diff(part.true_means(setting))[0]
    for number in range(200):
        cells = part.draw_log(setting, np.random.default_rng((3, number)))
        mean = cells.by_arm(cells.mean) / 100
        se = np.sqrt(np.sum(mean * (1.0 - mean)) / 500)
        items = cells.mean.reshape(100, 2)
        naive = np.sqrt(np.sum(items * (1.0 - items)) * 5 / 4 / 5 / 100**2)  # noise inside items only
        wrong += abs(mean[1] - mean[0] - truth) > 1.96 * min(se, naive)
    assert not Promise("", wrong, 200, 0.05).kept


def test_rows_of_the_part():
    found = find_part("evaluations")
    assert found is part.PART
    assert {setting.kind for setting in found.cells(PartOptions(1))} == set(KINDS)
    assert {setting.models for setting in part.settings()} >= {2, 20}
    assert {setting.items for setting in part.settings()} >= {100, 5_000}
    rows = [row for rows in found.play(part.settings()[:1], PartOptions(50, workers=1)) for row in rows]
    table = found.table(rows)
    assert table["logs"] == [50]
    assert broken_rows(table) == [] or not rows[0]["kept"]
    assert found.summarize(rows)[0].startswith("one sample, 2 models x 100 items, equal: differences ")
