"""What we would use instead: `contrast` on the paper's sixteen panels, beside LinLUCB and a yardstick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tideproof.draw.curves import Curve
from tideproof.lab.curves import curves
from tideproof.paper.panels import ARMS, CONFIGURATIONS, CONTRAST, LINLUCB, SCENARIOS, ours
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
    """Return one row a point: panel, policy, samples, PICS and the ends of its 95 % interval.

    Without shifts there are no scenarios: `contrast, stationary` and the oracle's plan, which is exact,
    are the same in the four panels of a configuration.
    """
    rows: list[tuple[Any, ...]] = []
    for means in CONFIGURATIONS:
        for arms in ARMS:
            still = _curves(found, f"{means}-{arms}-stationary")[CONTRAST]
            plans = [
                row["pics"]
                for row in found["yardstick"]
                if (row["configuration"], row["arms"]) == (means, arms)
            ]
            for scenario in SCENARIOS:
                panel = f"{means}-{arms}-{scenario}"
                here = _curves(found, panel)
                for label, curve in ((LINLUCB, here[LINLUCB]), (CONTRAST, here[CONTRAST]), (STILL, still)):
                    points = zip(curve.x, curve.value, curve.low, curve.high, strict=True)
                    rows += [(panel, label, *point) for point in points]
                rows += [(panel, ORACLE, x, y, y, y) for x, y in zip(still.x, plans, strict=True)]
    columns = ("panel", "policy", "samples", "pics", "low", "high")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _curves(found: Mapping[str, Any], panel: str) -> dict[str, Curve]:
    return {curve.label: curve for curve in curves(found[ours(panel)], "pics", 0.95)}
