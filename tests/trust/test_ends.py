"""Ends of budgets: what the kernel reads against the fit of the same run, and limits that hold."""

import csv
import sys

import numpy as np
import pytest

from tideproof.estimate import Fit
from tideproof.lab.plan import make_plan
from tideproof.lab.replay import replay
from tideproof.stats.inference import pair_variances
from tideproof.trust import ends
from tideproof.trust.ends import PAIRS, End, ends_of, panels, played, table
from tideproof.trust.stops import Place
from tideproof.worlds import Uniform, World

PANELS = {place.name: place for place in panels()}
WORLD = World([0.0, 0.4, 0.1, 0.3], lengths=(2, 9), shifts=Uniform(0.0, 5.0))


@pytest.mark.parametrize("policy", ["contrast", "round-robin+ols"])
def test_ends_are_those_of_the_fit_of_the_same_run(policy):
    plan = make_plan(WORLD, policy, [60], seed=4)
    found = ends_of(plan, 3, 1)
    for r in range(3):
        log = replay(WORLD, policy, budget=60, seed=4, replication=r)
        fit = Fit.from_arrays(
            log.arm.tolist(), log.environment, log.reward, variance="common", scale="difference"
        )
        order = np.argsort(fit.cells.arms)
        mu, C = fit._estimate.mu[order], fit._estimate.covariance[np.ix_(order, order)]
        noise = found.rss[0, r] / found.freedom[0, r]
        assert found.freedom[0, r] == fit.freedom
        assert noise == pytest.approx(fit.sigma**2)
        assert found.mu[0, r] - found.mu[0, r, 1] == pytest.approx(mu - mu[1])
        assert noise * found.to_other[0, r] == pytest.approx(pair_variances(C)[1], abs=1e-12)
        assert found.selected[0, r] == fit.best == log.selected
        assert noise * found.to_selected[0, r] == pytest.approx(pair_variances(C)[fit.best], abs=1e-12)


@pytest.mark.parametrize(
    ("world", "policy", "nominal"),
    [
        ("slippage, 10 arms, worst-case", "top-two-thompson", (1.0, 0.875, 1.0)),
        ("slippage, 10 arms, general", "contrast", (0.9, 0.93, 1.0)),
        ("slippage, 10 arms, general", "round-robin+ols", (0.91, 1.0, 1.0)),
    ],
)
def test_limits_hold_where_those_that_allow_for_nothing_do_not(world, policy, nominal):
    """1,000 runs; a cell that covers in 95 % is below 92.5 % in 3 of 10,000 cases, one of 9 in 3 of 1,000.

    Nominal ones were measured with other seeds, two standard errors and more below what is asked here.
    """
    for row in played([PANELS[world]], [policy], (40,), 1000, seed=31):
        assert row.cover > 0.925, row
        assert row.nominal / row.runs < nominal[PAIRS.index(row.pair)] + 1e-9, row
        assert 1.0 <= row.wider <= 1.35


def test_a_row_says_whether_chance_explains_it_and_a_table_has_all(tmp_path):
    row = End("w", "p", 50, PAIRS[0], 2000, 100, 100, 1700, 1.2)
    assert (row.cover, row.kept) == (0.9, False)
    low, high = row.limits
    assert 0.885 < low < 0.9 < high < 0.914
    shown = table([row, row._replace(below=10)])
    assert shown["kept"] == [False, True]
    assert shown["cover"] == [90.0, 94.5]


def test_runs_whose_arms_never_met_are_not_counted():
    lonely = Place("lonely", World([0.0, 1.0], lengths=(1, 1), shifts=Uniform(0.0, 1.0)))
    assert list(played([lonely], ["round-robin+ols"], (5,), 10)) == []


def test_the_command_prints_all_cells_and_writes_them(monkeypatch, capsys, tmp_path):
    path = tmp_path / "ends.csv"
    monkeypatch.setattr(ends, "panels", lambda: [Place("small", WORLD)])
    monkeypatch.setattr(sys, "argv", ["ends", "--runs", "20", "--random", "1", "--out", str(path)])
    ends.main()
    said = capsys.readouterr().out.splitlines()
    cells = 2 * 4 * 3 * len(PAIRS)
    assert len(said) == cells + len(PAIRS)
    assert said[0].startswith("small; contrast; 80 pulls; selected, runner-up: ")
    with path.open() as file:
        assert len(list(csv.DictReader(file))) == cells
