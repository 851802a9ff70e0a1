"""Curves of PICS and EOC for several panels: as a table, and from it as what `draw.curves` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tideproof.draw.panel_grid import Facet
from tideproof.draw.policy_curves import PolicyCurve
from tideproof.lab.budget_curves import curves
from tideproof.lab.study import Study
from tideproof.research.paper import panels as named
from tideproof.research.paper.measurements import Of
from tideproof.table import Table

FEWEST = 10  # errors that a point of a picture rests on


def curve_table(found: Mapping[str, Study], wanted: Mapping[str, Sequence[str]], of: Of) -> Table:
    """Return one row a point: panel, policy, samples, errors, value and the ends of its 95 % interval.

    `wanted` names the policies of each panel; SER3 comes from the panel's sweep, at the average of its
    samples, and a stationary twin from the panel without shifts.
    """
    rows: list[tuple[Any, ...]] = []
    for panel, labels in wanted.items():
        for label in labels:
            if label == named.SER3:
                sweep = found[named.ser3(_world(panel))]
                rows += [
                    (panel, label, sweep.samples(each)[0], *point[1:])
                    for each in sweep.policies
                    for point in points(sweep, each, of)
                ]
            elif label.endswith(", stationary"):
                twin = found[f"{panel.split('-')[0]}-5-stationary"]
                base = label.removesuffix(", stationary")
                rows += [(panel, label, *point) for point in points(twin, base, of)]
            else:
                rows += [(panel, label, *point) for point in points(found[panel], label, of)]
    columns = ("panel", "policy", "samples", "errors", of, "low", "high")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _world(panel: str) -> str:
    return "mdm-5-general" if panel == "existing" else panel


def points(study: Study, label: str, of: Of) -> list[tuple[Any, ...]]:
    """Return budget, errors, value and the ends of its interval, at each budget of a policy."""
    curve = next(each for each in curves(study, of, 0.95) if each.label == label)
    errors = study.errors(label).tolist()
    return list(zip(curve.x, errors, curve.value, curve.low, curve.high, strict=True))


def facets(table: Table, of: Of) -> list[Facet]:
    """Return the curves of each panel of such a table; SER3's samples may lie beyond the budgets.

    A curve ends before its first point with fewer than ten errors; one that is exact has no errors counted.
    """
    found = []
    for panel in dict.fromkeys(table["panel"]):
        rows = [row for row in table if row["panel"] == panel]
        longest = max(row["samples"] for row in rows if row["policy"] != named.SER3)
        drawn = [_curve(label, rows, of) for label in dict.fromkeys(row["policy"] for row in rows)]
        worlds, _, scenario = named.panels()[panel].title.rpartition(", ")
        found.append(Facet(scenario.capitalize(), drawn, longest, worlds.replace(", ", ",\n")))
    return found


def _curve(label: str, rows: list[dict[str, Any]], of: Of) -> PolicyCurve:
    mine = [row for row in rows if row["policy"] == label]
    few = (i for i, row in enumerate(mine) if row["errors"] is not None and row["errors"] < FEWEST)
    shown = mine[: next(few, len(mine))]
    x, value, low, high = (
        np.array([row[key] for row in shown], float) for key in ("samples", of, "low", "high")
    )
    return PolicyCurve(label, x.tolist(), value, low, high)
