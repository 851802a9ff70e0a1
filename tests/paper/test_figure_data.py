"""What the paper's figures are told to draw, from the tables that lie beside them."""

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.paper import panels as named
from tideproof.paper.curves import curve_table, facets
from tideproof.paper.figures import FIGURES, SIXTEEN, with_limits
from tideproof.paper.instead import NEEDS, ORACLE, instead_table
from tideproof.paper.runs import run_panels
from tideproof.paper.yardstick import FRACTION, best_plan, yardstick
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
    (facet,) = facets(rows, "pics")
    assert facet.title == "Monotone decreasing means, five arms, general"
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


def test_limits_are_normal_intervals_of_what_was_simulated():
    table = Table({"exact": [1.0, 2.0], "simulated": [None, 3.0], "stderr": [None, 0.5]})
    z = stats.norm.ppf(0.9)
    assert with_limits(table, 0.8).to_dicts() == [
        {"exact": 1.0, "simulated": None, "stderr": None, "low": None, "high": None},
        {"exact": 2.0, "simulated": 3.0, "stderr": 0.5, "low": 3.0 - z * 0.5, "high": 3.0 + z * 0.5},
    ]
    (row,) = with_limits(Table({"simulated": [1.0], "stderr": [1.0]}))
    assert row["high"] == pytest.approx(1.0 + stats.norm.ppf(0.975))


def test_figures_that_say_95_are_drawn_so(monkeypatch):
    drawn = {}
    monkeypatch.setattr("tideproof.paper.figures.draw_theorem", lambda table: drawn.update(theorem1=table))
    monkeypatch.setattr(
        "tideproof.paper.figures.draw_conjecture", lambda table: drawn.update(conjecture=table)
    )
    for figure in FIGURES:
        if figure.name in ("theorem1", "conjecture"):
            assert "95 % intervals" in figure.caption
            figure.draw(Table({"simulated": [2.0], "stderr": [1.0]}))
            assert drawn[figure.name]["low"] == [pytest.approx(2.0 - stats.norm.ppf(0.975))]


def test_ours_stands_beside_the_oracle_in_all_sixteen_panels(tmp_path):
    wanted = [panel for name, panel in named.panels().items() if name in NEEDS]
    assert len(wanted) == 20
    found = run_panels(wanted, 3, 1, tmp_path)
    table = instead_table({**found, "yardstick": yardstick(1, 3)})
    assert list(dict.fromkeys(table["panel"])) == list(SIXTEEN)
    for panel in ("mdm-10-worst-case", "sc-5-general"):
        here = [row for row in table if row["panel"] == panel]
        means, arms, _ = panel.split("-", 2)
        still = found[named.ours(f"{means}-{arms}-stationary")]
        shifted = found[named.ours(panel)]
        for label, values in {
            "LinLUCB": shifted.pics("LinLUCB"),
            "contrast": shifted.pics("contrast"),
            "contrast, stationary": still.pics("contrast"),
            ORACLE: [best_plan(still.world.means, T, FRACTION).pics for T in still.budgets],
        }.items():
            rows = [row for row in here if row["policy"] == label]
            assert [row["samples"] for row in rows] == list(still.budgets)
            assert [row["pics"] for row in rows] == list(values)
            if label == "contrast":
                ends = shifted.interval(label, 0.95)
                assert [(row["low"], row["high"]) for row in rows] == list(zip(*ends, strict=True))
        assert len(here) == 4 * len(still.budgets)
