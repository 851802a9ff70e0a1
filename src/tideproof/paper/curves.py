"""Curves of PICS and EOC for several panels: as a table, and from it as what `draw.curves` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tideproof.draw.curves import Curve, Facet
from tideproof.lab.curves import curves
from tideproof.lab.study import Study
from tideproof.paper import panels as named
from tideproof.paper.measured import Of
from tideproof.table import Table


def curve_table(found: Mapping[str, Study], wanted: Mapping[str, Sequence[str]], of: Of) -> Table:
    """Return one row a point: panel, policy, samples, value and the ends of its 95 % interval.

    `wanted` names the policies of each panel; SER3 comes from the panel's sweep, at the average of its
    samples, and a stationary twin from the panel without shifts.
    """
    rows: list[tuple[Any, ...]] = []
    for panel, labels in wanted.items():
        drawn = {curve.label: curve for curve in curves(found[panel], of, 0.95)}
        for label in labels:
            if label == named.SER3:
                rows += _sweep(panel, found[named.ser3(_world(panel))], of)
                continue
            if label.endswith(", stationary"):
                twin = found[f"{panel.split('-')[0]}-5-stationary"]
                base = label.removesuffix(", stationary")
                curve = next(each for each in curves(twin, of, 0.95) if each.label == base)
            else:
                curve = drawn[label]
            points = zip(curve.x, curve.value, curve.low, curve.high, strict=True)
            rows += [(panel, label, *point) for point in points]
    columns = ("panel", "policy", "samples", of, "low", "high")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _world(panel: str) -> str:
    return "mdm-5-general" if panel == "existing" else panel


def _sweep(panel: str, study: Study, of: Of) -> list[tuple[Any, ...]]:
    return [
        (panel, named.SER3, study.samples(curve.label)[0], curve.value[0], curve.low[0], curve.high[0])
        for curve in curves(study, of, 0.95)
    ]


def facets(table: Table, of: Of) -> list[Facet]:
    """Return the curves of each panel of such a table; SER3's samples may lie beyond the budgets."""
    found = []
    for panel in dict.fromkeys(table["panel"]):
        rows = [row for row in table if row["panel"] == panel]
        longest = max(row["samples"] for row in rows if row["policy"] != named.SER3)
        drawn = [_curve(label, rows, of) for label in dict.fromkeys(row["policy"] for row in rows)]
        found.append(Facet(named.panels()[panel].title, drawn, longest))
    return found


def _curve(label: str, rows: list[dict[str, Any]], of: Of) -> Curve:
    mine = [row for row in rows if row["policy"] == label]
    x, value, low, high = (
        np.array([row[key] for row in mine], float) for key in ("samples", of, "low", "high")
    )
    return Curve(label, x.tolist(), value, low, high)
