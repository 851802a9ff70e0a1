"""What we would use instead: `contrast` on the paper's sixteen panels, beside LinLUCB and a yardstick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tideproof.paper.curves import points
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
