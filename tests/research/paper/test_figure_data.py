"""What the paper's figures are told to draw, from the tables that lie beside them."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.lab.replay import replay
from tideproof.research.paper import panels as named
from tideproof.research.paper.contrast_comparison import (
    NEEDS,
    ORACLE,
    STATIONARY_CONTRAST,
    comparison_facets,
    comparison_table,
)
from tideproof.research.paper.figure_entries import FIGURES, SIXTEEN, with_interval_bounds
from tideproof.research.paper.oracle_yardstick import FRACTION, best_plan, yardstick
from tideproof.research.paper.panel_simulation import run_panels
from tideproof.research.paper.pics_curves import curve_table, facets
from tideproof.research.paper.side_studies import initialisation
from tideproof.table import Table

pytest.importorskip("numba")


@pytest.fixture(scope="module")
def table():
    def studied(policies, budgets):
        specs = [tp.policy(name, label=label) for label, name in policies.items()]
        return tp.simulate(tp.mdm(5), specs, budgets, replications=60, seed=2)

    sweep = [
        tp.policy("ser3", label=f"SER3, ln(1/delta) = {log}", log_inverse_delta=log) for log in (3.0, 9.0)
    ]
    found = {
        "mdm-5-general": studied({named.LINLUCB: "linlucb", named.ROUND_ROBIN: "round-robin"}, [40, 60]),
        "mdm-5-stationary": studied({named.LINLUCB: "linlucb"}, [40, 60]),
        "mdm-5-general-ser3": tp.simulate(tp.mdm(5), sweep, [3000], replications=60, seed=2),
    }
    labels = (named.LINLUCB, named.SER3, f"{named.LINLUCB}, stationary")
    return found, curve_table(found, {"mdm-5-general": labels}, "pics")


def test_facets_are_the_rows_of_the_table(table):
    found, rows = table
    assert (rows["errors"][:2], rows["errors"][-2:]) == (
        found["mdm-5-general"].errors(named.LINLUCB).tolist(),
        found["mdm-5-stationary"].errors(named.LINLUCB).tolist(),
    )
    many = Table({name: rows[name] if name != "errors" else [10] * len(rows) for name in rows.columns})
    (facet,) = facets(many, "pics")
    assert (facet.title, facet.row, facet.scale) == (
        "General",
        "Monotone decreasing means,\nfive arms",
        "log",
    )
    assert facet.longest == 60  # of the budgets, not of SER3's samples
    assert [curve.label for curve in facet.curves] == ["LinLUCB", "SER3", "LinLUCB, stationary"]
    first, sweep, twin = facet.curves
    study, still = found["mdm-5-general"], found["mdm-5-stationary"]
    assert list(first.x) == [40, 60]
    assert np.array_equal(first.value, study.pics(named.LINLUCB))
    assert np.array_equal(first.low, study.interval(named.LINLUCB, 0.95).low)
    assert np.array_equal(first.high, study.interval(named.LINLUCB, 0.95).high)
    assert np.array_equal(twin.value, still.pics(named.LINLUCB))
    ser3 = found["mdm-5-general-ser3"]
    assert list(sweep.x) == [ser3.samples(label)[0] for label in ser3.policies]
    assert list(sweep.value) == [ser3.pics(label)[0] for label in ser3.policies]


def test_a_curve_ends_before_its_first_point_with_fewer_than_ten_errors():
    def points(label, errors):
        return [("sc-5-general", label, 10 * (i + 1), e, 0.5, 0.4, 0.6) for i, e in enumerate(errors)]

    drawn = {"LinLUCB": [30, 10, 9, 12], "round robin": [9, 30], "SR": [11, 10], "exact": [None, None]}
    rows = [point for label, errors in drawn.items() for point in points(label, errors)]
    columns = ("panel", "policy", "samples", "errors", "eoc", "low", "high")
    (facet,) = facets(Table(dict(zip(columns, zip(*rows, strict=True), strict=True))), "eoc")
    assert [curve.x for curve in facet.curves] == [[10, 20], [], [10, 20], [10, 20]]
    assert facet.longest == 40  # the axes keep their budgets


def test_existing_policies_stand_in_two_panels_with_round_robin_in_both(monkeypatch):
    told = []
    monkeypatch.setattr(
        "tideproof.research.paper.figure_entries.draw_facets", lambda facets, *rest: told.append(facets)
    )
    every = [*named.EXISTING, named.SER3]
    rows = [("existing", label, 10 * i, 100, 0.5, 0.4, 0.6) for label in every for i in (1, 2)]
    columns = ("panel", "policy", "samples", "errors", "pics", "low", "high")
    next(each for each in FIGURES if each.name == "fig2").draw(
        Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))
    )
    ((first, second),) = told
    assert [curve.label for curve in first.curves] == ["round robin", "PSS(2)", "SR", "SER3"]
    assert {curve.label for curve in (*first.curves, *second.curves)} == set(every)
    assert len(first.curves) + len(second.curves) == len(every) + 1
    assert second.curves[0].label == "round robin"
    assert (first.scale, second.scale) == ("log", "linear")


def connected(environments):
    """Whether arms that share environments form one group, by joining sets until nothing changes."""
    groups = [set(arms) for arms in environments]
    for _ in groups:
        for group in groups:
            for other in groups:
                if group & other:
                    group |= other
    return groups[0] == set(range(5))


def test_the_example_of_figure_3_is_the_papers():
    table = initialisation(1, 1)
    played = {
        name: [
            [row["arm"] + 1 for row in table if (row["policy"], row["environment"]) == (name, j)]
            for j in range(3)
        ]
        for name in dict.fromkeys(table["policy"])
    }
    assert played == {
        "without a link": [[1, 2], [1, 2, 3], [4, 5]],
        "Algorithm 1": [[1, 2], [2, 3, 5], [5, 4]],
    }
    by_index = {name: [[arm - 1 for arm in arms] for arms in one] for name, one in played.items()}
    assert not connected(by_index["without a link"])
    assert connected(by_index["Algorithm 1"])


@pytest.mark.parametrize("seed", range(20))
def test_algorithm_1_connects_arms_in_environments_as_short_as_the_examples(seed):
    world = tp.World(tp.mdm(5).means, lengths=tp.worlds.Lengths([2, 3, 2]))
    run = replay(world, "linlucb", seed, 0, 40)
    first = [run.arm[run.environment == j].tolist() for j in range(3)]
    for before, after in pairwise(first):
        assert before[-1] == after[0]
    assert len(set(first[0] + first[1] + first[2])) == 5
    assert connected(first)


def test_limits_are_normal_intervals_of_what_was_simulated():
    table = Table({"exact": [1.0, 2.0], "simulated": [None, 3.0], "stderr": [None, 0.5]})
    z = stats.norm.ppf(0.9)
    assert with_interval_bounds(table, 0.8).to_dicts() == [
        {"exact": 1.0, "simulated": None, "stderr": None, "low": None, "high": None},
        {"exact": 2.0, "simulated": 3.0, "stderr": 0.5, "low": 3.0 - z * 0.5, "high": 3.0 + z * 0.5},
    ]
    (row,) = with_interval_bounds(Table({"simulated": [1.0], "stderr": [1.0]}))
    assert row["high"] == pytest.approx(1.0 + stats.norm.ppf(0.975))


def test_figures_that_say_95_are_drawn_so(monkeypatch):
    drawn = {}
    monkeypatch.setattr(
        "tideproof.research.paper.figure_entries.draw_theorem", lambda table: drawn.update(theorem1=table)
    )
    monkeypatch.setattr(
        "tideproof.research.paper.figure_entries.draw_conjecture",
        lambda table: drawn.update(conjecture=table),
    )
    for figure in FIGURES:
        if figure.name in ("theorem1", "conjecture"):
            assert "95 % confidence intervals" in figure.caption
            figure.draw(Table({"simulated": [2.0], "stderr": [1.0]}))
            assert drawn[figure.name]["low"] == [pytest.approx(2.0 - stats.norm.ppf(0.975))]


def test_ours_stands_beside_the_oracle_in_all_sixteen_panels(tmp_path):
    wanted = [panel for name, panel in named.panels().items() if name in NEEDS]
    assert len(wanted) == 20
    found = run_panels(wanted, 3, 1, tmp_path)
    table = comparison_table({**found, "yardstick": yardstick(1, 3)})
    assert list(dict.fromkeys(table["panel"])) == list(SIXTEEN)
    for panel in ("mdm-10-worst-case", "sc-5-general"):
        here = [row for row in table if row["panel"] == panel]
        means, arms, _ = panel.split("-", 2)
        still = found[named.contrast_panel_name(f"{means}-{arms}-stationary")]
        shifted = found[named.contrast_panel_name(panel)]
        for label, values in {
            "LinLUCB": shifted.pics("LinLUCB"),
            "contrast": shifted.pics("contrast"),
            "contrast, stationary": still.pics("contrast"),
            ORACLE: [best_plan(still.world.means, T, FRACTION).pics for T in still.budgets],
        }.items():
            rows = [row for row in here if row["policy"] == label]
            if label == ORACLE:
                assert {row["errors"] for row in rows} == {None}
            else:
                study = still if label.endswith("stationary") else shifted
                assert [row["errors"] for row in rows] == study.errors(label.split(",")[0]).tolist()
            assert [row["samples"] for row in rows] == list(still.budgets)
            assert [row["pics"] for row in rows] == list(values)
            if label == "contrast":
                ends = shifted.interval(label, 0.95)
                assert [(row["low"], row["high"]) for row in rows] == list(zip(*ends, strict=True))
        assert len(here) == 4 * len(still.budgets)


def test_ours_is_drawn_as_multiples_of_the_oracles_errors():
    rows = []
    for panel in SIXTEEN:
        part = 2.0 if panel.startswith("sc-10") else 1.0  # the oracle errs the more, all others as often
        rows += [(panel, ORACLE, x, None, *[part * 0.1 / x] * 3) for x in (1, 2, 4)]
        for label, errors in ((named.CONTRAST, 10), (STATIONARY_CONTRAST, 9), (named.LINLUCB, 30)):
            rows += [(panel, label, 1, 99, 0.3, 0.2, 0.4), (panel, label, 2, errors, 0.05, 0.03, 0.08)]
    columns = ("panel", "policy", "samples", "errors", "pics", "low", "high")
    drawn = comparison_facets(Table(dict(zip(columns, zip(*rows, strict=True), strict=True))))
    above, below = drawn[:4], drawn[4:]
    assert [facet.title for facet in above] == [facet.row for facet in below[::4]]
    assert [[curve.label for curve in facet.curves] for facet in above] == [[ORACLE]] * 4
    assert [facet.curves[0].value.tolist() for facet in above] == [[0.1, 0.05, 0.025]] * 3 + [
        [0.2, 0.1, 0.05]
    ]
    assert [facet.axis for facet in drawn] == [""] * 4 + ["PICS / oracle's"] * 16
    for facet, part in ((below[0], 1.0), (below[11], 1.0), (below[12], 2.0), (below[15], 2.0)):
        oracle, ours, still, theirs = facet.curves
        assert oracle.value.tolist() == oracle.low.tolist() == oracle.high.tolist() == [1.0, 1.0, 1.0]
        assert list(ours.x) == list(theirs.x) == [1, 2]
        assert ours.value == pytest.approx(np.array([3.0, 1.0]) / part)
        assert ours.low == pytest.approx(np.array([2.0, 0.6]) / part)
        assert ours.high == pytest.approx(np.array([4.0, 1.6]) / part)
        assert list(still.x) == [1]  # fewer than ten errors after it
