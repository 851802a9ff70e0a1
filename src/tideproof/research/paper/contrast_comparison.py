"""What we would use instead: `contrast` on the paper's sixteen panels, beside LinLUCB and a yardstick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tideproof.draw.panel_grid import Facet
from tideproof.draw.policy_curves import PolicyCurve
from tideproof.research.paper.panels import ARMS, CONFIGURATIONS, CONTRAST, LINLUCB, SCENARIOS, ours
from tideproof.research.paper.pics_curves import facets, points
from tideproof.table import Table

STILL = f"{CONTRAST}, stationary"
ORACLE = "oracle's fixed plan, stationary"
NEEDS = (
    *(
        ours(f"{means}-{arms}-{scenario}")
        for means in CONFIGURATIONS
        for arms in ARMS
        for scenario in (*SCENARIOS, "stationary")
    ),
    "yardstick",
)


def instead_table(found: Mapping[str, Any]) -> Table:
    """Return one row a point: panel, policy, samples, errors, PICS and the ends of its 95 % interval.

    Without shifts there are no scenarios: `contrast, stationary` and the oracle's plan, which is exact and
    so has no errors counted, are the same in the four panels of a configuration.
    """
    rows: list[tuple[Any, ...]] = []
    for means in CONFIGURATIONS:
        for arms in ARMS:
            still = points(found[ours(f"{means}-{arms}-stationary")], CONTRAST, "pics")
            plans = [
                row["pics"]
                for row in found["yardstick"]
                if (row["configuration"], row["arms"]) == (means, arms)
            ]
            for scenario in SCENARIOS:
                panel = f"{means}-{arms}-{scenario}"
                here = found[ours(panel)]
                rows += [(panel, LINLUCB, *point) for point in points(here, LINLUCB, "pics")]
                rows += [(panel, CONTRAST, *point) for point in points(here, CONTRAST, "pics")]
                rows += [(panel, STILL, *point) for point in still]
                rows += [(panel, ORACLE, x, None, y, y, y) for (x, *_), y in zip(still, plans, strict=True)]
    columns = ("panel", "policy", "samples", "errors", "pics", "low", "high")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def instead_facets(table: Table) -> list[Facet]:
    """Return the oracle's PICS in each configuration, and each panel's curves as multiples of it.

    Its plan is exact, so that the ends of an interval of PICS, divided by it, are those of the ratio.
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
    """Return a curve as multiples of the plan's, which has all of its budgets."""
    at = dict(zip(plan.x, plan.value, strict=True))
    whole = np.array([at[x] for x in curve.x])
    return PolicyCurve(curve.label, curve.x, curve.value / whole, curve.low / whole, curve.high / whole)
