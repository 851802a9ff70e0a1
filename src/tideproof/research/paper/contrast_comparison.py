"""Figure that compares the policies `contrast` and LinLUCB with an oracle in sixteen simulated worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tideproof.draw.panel_grid import Facet
from tideproof.draw.policy_curves import PolicyCurve
from tideproof.research.paper.panels import (
    ARMS,
    CONFIGURATIONS,
    CONTRAST,
    LINLUCB,
    SCENARIOS,
    contrast_panel_name,
)
from tideproof.research.paper.pics_curves import facets, points
from tideproof.table import Table

STATIONARY_CONTRAST = f"{CONTRAST}, stationary"
ORACLE = "oracle's fixed plan, stationary"
NEEDS = (
    *(
        contrast_panel_name(f"{means}-{arms}-{scenario}")
        for means in CONFIGURATIONS
        for arms in ARMS
        for scenario in (*SCENARIOS, "stationary")
    ),
    "yardstick",
)


def comparison_table(found: Mapping[str, Any]) -> Table:
    """Return a table of the error rates of policies and an oracle, by simulated world and number of pulls.

    The error rate is PICS, with its 95 % interval.
    Without shifts there are no scenarios: `contrast, stationary` and the oracle's plan are the same in the
    four panels of a configuration. The plan's PICS is exact, so it has no count of errors.
    """
    rows: list[tuple[Any, ...]] = []
    for means in CONFIGURATIONS:
        for arms in ARMS:
            still = points(found[contrast_panel_name(f"{means}-{arms}-stationary")], CONTRAST, "pics")
            plans = [
                row["pics"]
                for row in found["yardstick"]
                if (row["configuration"], row["arms"]) == (means, arms)
            ]
            for scenario in SCENARIOS:
                panel = f"{means}-{arms}-{scenario}"
                here = found[contrast_panel_name(panel)]
                rows += [(panel, LINLUCB, *point) for point in points(here, LINLUCB, "pics")]
                rows += [(panel, CONTRAST, *point) for point in points(here, CONTRAST, "pics")]
                rows += [(panel, STATIONARY_CONTRAST, *point) for point in still]
                rows += [(panel, ORACLE, x, None, y, y, y) for (x, *_), y in zip(still, plans, strict=True)]
    columns = ("panel", "policy", "samples", "errors", "pics", "low", "high")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def comparison_facets(table: Table) -> list[Facet]:
    """Return charts of an oracle's error rates, and of policies' error rates divided by the oracle's.

    The oracle's PICS is exact, so the bounds of an interval of PICS divided by it are the bounds of the
    ratio.
    """
    every = facets(table, "pics")
    plans = {facet.row: curve for facet in every for curve in facet.curves if curve.label == ORACLE}
    first = [Facet(row, [plan], max(plan.x), "Oracle's plan,\nno shifts") for row, plan in plans.items()]
    return first + [
        facet._replace(
            curves=[_ratio(curve, plans[facet.row]) for curve in facet.curves], axis="PICS / oracle's"
        )
        for facet in every
    ]


def _ratio(curve: PolicyCurve, plan: PolicyCurve) -> PolicyCurve:
    """Return a policy's error rate divided by that of an oracle, at each budget."""
    at = dict(zip(plan.x, plan.value, strict=True))
    whole = np.array([at[x] for x in curve.x])
    return PolicyCurve(curve.label, curve.x, curve.value / whole, curve.low / whole, curve.high / whole)
