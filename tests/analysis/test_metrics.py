"""Several metrics: the first decides, the others are compared with the control or the best others."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.analysis import Fit
from tideproof.analysis.several_metrics import combine_metrics
from tideproof.analysis.versus_control import against
from tideproof.errors import UnknownName


def fits(seed=0, rows=600):
    """B sells more than A and C, is as often clicked, and is slower."""
    random = np.random.default_rng(seed)
    arm, day = random.integers(3, size=rows), random.integers(5, size=rows)
    names = np.array(list("ABC"))[arm]
    noise = random.normal(size=(3, rows))
    sales = Fit.from_arrays(names, day, 1.0 * (arm == 1) + day + noise[0])
    clicks = Fit.from_arrays(names, day, 2.0 * day + noise[1])
    latency = Fit.from_arrays(names, day, 100.0 + 2.0 * (arm == 1) + noise[2], direction="minimize")
    return {"sales": sales, "clicks": clicks, "latency": latency}


def test_against_a_control():
    found = combine_metrics(fits(), control="A")
    rows = {(row["metric"], row["arm"]): row for row in found.table}
    assert [rows[m, "B"]["conclusion"] for m in ("sales", "clicks", "latency")] == [
        "better",
        "unclear",
        "worse",
    ]
    assert "A" not in found.table["arm"]
    wanted = {row["arm"]: row for row in against(fits()["latency"], "A")}["B"]
    assert rows["latency", "B"]["low"] == wanted["low"]
    assert found.verdict.startswith("B compared with A, the control: no clear difference in clicks (")
    assert "; worse in latency (+" in found.verdict
    assert found.harmed == ["latency"]
    assert found.deciding.best == "B"


def test_against_the_best_of_the_others():
    found = combine_metrics(fits())
    rows = {(row["metric"], row["arm"]): row["conclusion"] for row in found.table}
    assert rows["sales", "B"] == "better"
    assert rows["sales", "A"] == "worse"
    assert rows["clicks", "A"] == "unclear"
    assert rows["latency", "B"] == "worse"
    assert found.verdict.startswith("B compared with the best other arm: no clear difference in clicks")
    assert found.harmed == ["latency"]


def test_the_control_itself_may_lead():
    swapped = combine_metrics(fits(), control="B")
    assert swapped.verdict.startswith("guardrails are not compared, because the control B leads")
    assert swapped.harmed == []


def test_one_metric_has_no_guardrails_and_strangers_no_readings():
    alone = combine_metrics({"sales": fits()["sales"]})
    assert (alone.verdict, alone.harmed) == ("", [])
    strangers = Fit.from_arrays(list("AB"), [1, 2], [1.0, 2.0])
    found = combine_metrics({"sales": strangers, "clicks": strangers})
    assert found.verdict == ""
    assert set(found.table["conclusion"]) == {"not comparable"}


def test_without_noise_it_is_unclear():
    bare = Fit.from_arrays(list("AB"), [1, 1], [1.0, 2.0])
    assert (
        combine_metrics({"sales": bare, "clicks": bare}).verdict
        == "B compared with the best other arm: no clear difference in clicks (+1)"
    )


def test_an_unknown_control_is_an_error_at_once():
    with pytest.raises(UnknownName, match="unknown control 'D'"):
        combine_metrics(fits(), control="D")
