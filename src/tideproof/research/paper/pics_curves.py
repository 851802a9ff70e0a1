"""Curves of error rate and opportunity cost against the number of pulls, as a table and as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tideproof.draw.panel_grid import Facet
from tideproof.draw.policy_curves import PolicyCurve
from tideproof.lab.budget_curves import curves
from tideproof.lab.study import Study
from tideproof.research.paper import panels as named
from tideproof.research.paper.measurement_intervals import ErrorMeasure
from tideproof.table import Table

FEWEST = 10  # errors that a drawn point needs


def curve_table(found: Mapping[str, Study], wanted: Mapping[str, Sequence[str]], of: ErrorMeasure) -> Table:
    """Return a table of error rates by simulated world, policy and number of pulls.

    The error measure `of` is the error rate or the opportunity cost, with a 95 % interval. `wanted` names the
    policies of each panel. SER3 comes from the panel with its variants, at their average samples. A label
    that ends in ", stationary" comes from the panel without shifts.
    """
    rows: list[tuple[Any, ...]] = []
    for panel, labels in wanted.items():
        for label in labels:
            if label == named.SER3:
                sweep = found[named.ser3_panel_name(_world(panel))]
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


def points(study: Study, label: str, of: ErrorMeasure) -> list[tuple[Any, ...]]:
    """Return the points of the curve of a policy's error rate against the budget.

    A point holds the budget, the number of errors, the error rate (or opportunity cost), and its bounds.
    """
    curve = next(each for each in curves(study, of, 0.95) if each.label == label)
    errors = study.errors(label).tolist()
    return list(zip(curve.x, errors, curve.value, curve.low, curve.high, strict=True))


def facets(table: Table, of: ErrorMeasure) -> list[Facet]:
    """Return one chart for each simulated world in a table of error curves.

    `curve_table` makes such tables. A curve ends before its first point with fewer than ten errors. Exact
    curves have no count of errors and are not cut. The x axis ends at the largest budget, although samples of
    SER3 may be larger.
    """
    found = []
    for panel in dict.fromkeys(table["panel"]):
        rows = [row for row in table if row["panel"] == panel]
        longest = max(row["samples"] for row in rows if row["policy"] != named.SER3)
        drawn = [_curve(label, rows, of) for label in dict.fromkeys(row["policy"] for row in rows)]
        worlds, _, scenario = named.panels()[panel].title.rpartition(", ")
        found.append(Facet(scenario.capitalize(), drawn, longest, worlds.replace(", ", ",\n")))
    return found


def _curve(label: str, rows: list[dict[str, Any]], of: ErrorMeasure) -> PolicyCurve:
    mine = [row for row in rows if row["policy"] == label]
    few = (i for i, row in enumerate(mine) if row["errors"] is not None and row["errors"] < FEWEST)
    shown = mine[: next(few, len(mine))]
    x, value, low, high = (
        np.array([row[key] for row in shown], float) for key in ("samples", of, "low", "high")
    )
    return PolicyCurve(label, x.tolist(), value, low, high)
