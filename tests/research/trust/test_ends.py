"""Ends of budgets: what the kernel reads against the fit of the same run, and limits that hold."""

import pytest

from tideproof.analysis import Fit
from tideproof.lab.replay import replay
from tideproof.lab.simulation_plan import make_plan
from tideproof.research.trust.final_interval_coverage import (
    PAIRS,
    PART,
    EndCoverage,
    panels,
    run_worlds,
    simulate_ends,
    summary_lines,
    table,
)
from tideproof.research.trust.ledger_part import PartOptions
from tideproof.research.trust.wrong_stops import StopWorld
from tideproof.worlds import Uniform, World

PANELS = {place.name: place for place in panels()}
WORLD = World([0.0, 0.4, 0.1, 0.3], lengths=(2, 9), shifts=Uniform(0.0, 5.0))


@pytest.mark.parametrize("policy", ["contrast", "round-robin+ols"])
def test_ends_are_those_of_the_fit_of_the_same_run(policy):
    plan = make_plan(WORLD, policy, [60], seed=4)
    found = simulate_ends(plan, 3, 1)
    for r in range(3):
        log = replay(WORLD, policy, budget=60, seed=4, replication=r)
        fit = Fit.from_arrays(
            log.arm.tolist(), log.environment, log.reward, variance="common", scale="difference"
        )
        noise = found.rss[0, r] / found.freedom[0, r]
        assert found.freedom[0, r] == fit.degrees_of_freedom
        assert noise == pytest.approx(fit.sigma**2)
        assert found.selected[0, r] == fit.best == log.selected
        for one, variances in ((1, found.to_other[0, r]), (fit.best, found.to_selected[0, r])):
            assert variances[one] == pytest.approx(0.0, abs=1e-12)
            for arm in {0, 1, 2, 3} - {one}:
                contrast = fit.contrast(arm, one)
                assert found.mu[0, r, arm] - found.mu[0, r, one] == pytest.approx(contrast.estimate)
                assert noise * variances[arm] == pytest.approx(contrast.se**2)


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
    (rows,) = run_worlds([PANELS[world]], [policy], (40,), 1000, seed=31)
    for row in rows:
        assert row.cover > 0.925, row
        assert row.nominal / row.runs < nominal[PAIRS.index(row.pair)] + 1e-9, row
        assert 1.0 <= row.relative_width <= 1.35


def test_a_row_says_whether_chance_explains_it_and_a_table_has_all():
    row = EndCoverage("w", "p", 50, PAIRS[0], 2000, 100, 100, 1700, 1.2)
    assert (row.cover, row.kept) == (0.9, False)
    low, high = row.interval
    assert 0.885 < low < 0.9 < high < 0.914
    shown = table([row, row._replace(below=10)])
    assert shown["kept"] == [False, True]
    assert shown["cover"] == [90.0, 94.5]


def test_runs_whose_arms_never_met_are_not_counted():
    lonely = StopWorld("lonely", World([0.0, 1.0], lengths=(1, 1), shifts=Uniform(0.0, 1.0)))
    assert list(run_worlds([lonely], ["round-robin+ols"], (5,), 10)) == [[]]
    assert summary_lines([]) == []


def test_a_world_is_played_after_all_policies_and_the_worst_is_said():
    (rows,) = PART.play([StopWorld("small", WORLD)], PartOptions(20, workers=2))
    assert len(rows) == 4 * 3 * len(PAIRS)
    assert [rows] == list(run_worlds([StopWorld("small", WORLD)], runs=20, workers=1))
    lines = summary_lines(rows)
    assert [line.split(":")[0] for line in lines] == list(PAIRS)
    least = min(row.cover for row in rows if row.pair == PAIRS[0])
    assert "of 12 rows, 0 have a coverage significantly below 94.5 %" in lines[0]
    assert f"smallest coverage is {100 * least:.2f} % (" in lines[0]


def test_how_many_worlds_there_are():
    assert len(PART.cells(PartOptions(1))) == 16 + 40
    assert len(PART.cells(PartOptions(1, worlds=0))) == 16
