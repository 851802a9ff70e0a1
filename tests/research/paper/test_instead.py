"""The page "what we would use instead": its table is its data's, and the data's oracle is the integral's."""

from __future__ import annotations

import csv
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from scipy import stats

import tideproof as tp
from tideproof.research.paper.oracle_yardstick import FRACTION, best_plan

pytest.importorskip("numba")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def instead():
    spec = spec_from_file_location("instead", ROOT / "benchmarks" / "instead.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data(path):
    kinds = {"configuration": str, "arms": int, "pulls": int, "replications": int}
    with path.open(newline="") as file:
        return [
            {name: kinds.get(name, float)(text) for name, text in row.items()} for row in csv.DictReader(file)
        ]


def test_the_page_shows_its_data(instead):
    folder = ROOT / "docs" / "paper"
    rows = data(folder / "instead-table.csv")
    page = (folder / "instead.md").read_text(encoding="utf-8")
    assert f"{instead.BEGIN}\n{instead.markdown(rows)}\n{instead.END}" in page
    assert len(rows) == 12
    for row in rows:
        means = {"slippage": tp.slippage, "MDM": tp.mdm}[row["configuration"]](row["arms"]).means
        assert row["oracle"] == pytest.approx(best_plan(means, row["pulls"], FRACTION).pics, rel=1e-7)
        assert row["oracle_whole_pulls"] == pytest.approx(best_plan(means, row["pulls"]).pics, rel=1e-7)
        assert 1 <= row["oracle_whole_pulls"] / row["oracle"] < 1.0325  # "at most 3.2 %"


def test_a_run_fills_the_page_again_and_again(instead, tmp_path, capsys, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{instead.BEGIN}{instead.END}after\n")
    monkeypatch.setattr(instead, "PULLS", (60, 100))
    monkeypatch.setattr(instead, "ARMS", (5,))
    instead.main(300, page)
    instead.main(200, page)
    rows = data(tmp_path / "page-table.csv")
    table = instead.markdown(rows)
    assert "\n200 replications" in table
    assert page.read_text() == f"before\n{instead.BEGIN}\n{table}\n{instead.END}after\n"
    assert table in capsys.readouterr().out
    study = tp.simulate(tp.slippage(5), ["contrast", "linlucb"], [60, 100], 200, instead.SEED)
    still = tp.simulate(tp.slippage(5, "stationary"), "contrast", [60, 100], 200, instead.SEED)
    first = rows[1]
    assert first["contrast"] == study.pics("contrast")[1]
    assert first["linlucb"] == study.pics("linlucb")[1]
    assert first["contrast_no_shifts"] == still.pics("contrast")[1]
    ends = stats.binomtest(round(200 * first["contrast"]), 200).proportion_ci(1 - 0.001 / 12, "exact")
    assert (first["contrast_low"], first["contrast_high"]) == pytest.approx(tuple(ends))
    difference = study.difference("contrast", "linlucb", confidence=1 - 0.001 / 12)
    assert first["contrast_minus_linlucb_high"] == pytest.approx(difference.high[1])


def test_outcomes_are_counted_by_the_side_of_zero(instead):
    ends = [(-2.0, -1.0), (-1.0, 0.0), (-1.0, 1.0), (0.5, 1.0), (-3.0, -0.1)]
    assert instead.outcome(ends) == "fewer errors in 2 of 5 rows, more in 1, not decided in 2"


def test_numbers_have_the_digits_that_count(instead):
    shown = [instead.digits(x) for x in (0.0, 0.15224, 0.5, 0.0000336, 1.0, 12.34, 149.7)]
    assert shown == ["0", "0.152", "0.500", "3.4e-5", "1.00", "12.3", "150"]
