"""Curves of PICS and EOC for several panels: the data as a table, and the drawing of that table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tideproof.draw.figure import INK, pyplot
from tideproof.lab.curves import curves
from tideproof.lab.study import Study
from tideproof.paper import panels as named
from tideproof.paper.measured import Of
from tideproof.table import Table

AXIS = {"pics": "PICS", "eoc": "EOC"}

# Colour, line and marker. Each differs from its neighbours in all three, and colours also in lightness,
# so that curves can be told apart in grey.
_STYLES: dict[str, tuple[str, Any, str]] = {
    named.LINLUCB: ("#08306b", "-", "o"),
    named.ROUND_ROBIN: ("#6b6b6b", "--", "s"),
    named.ZERO_ONE: ("#e6862d", ":", "^"),
    named.SER3: ("#1a9e77", "-.", "D"),
    named.REDUCED: ("#c2332d", "--", "v"),
    named.REDUCED_ROBIN: ("#8fa8c8", "-.", "P"),
    f"{named.LINLUCB}, stationary": ("#08306b", (0, (1, 1.2)), "o"),
    f"{named.ROUND_ROBIN}, stationary": ("#9a9a9a", (0, (1, 1.2)), "s"),
    "UCB": ("#7b4ea3", "-", "v"),
    "LUCB": ("#c2332d", "-.", "<"),
    "P1, mean": ("#3b8bc4", "-", "P"),
    "P1, IPS": ("#3b8bc4", ":", "P"),
    "EXP4.P, mean": ("#b59a00", "-", "X"),
    "EXP4.P, IPS": ("#b59a00", ":", "X"),
    named.PSS: ("#d46a9f", "--", "*"),
    named.SR: ("#111111", "--", ">"),
}


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
            points = zip(curve.budgets, curve.value, curve.low, curve.high, strict=True)
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


def draw_curves(table: Table, of: Of, columns: int, size: tuple[float, float], legend: int) -> Any:
    """Draw each panel of the table in a grid, with one legend below.

    A curve ends before the first budget without an error.
    """
    plt = pyplot()
    names = list(dict.fromkeys(table["panel"]))
    lines = -(-len(names) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)
    positive = [value for value in table[of] if value > 0.0]
    floor = 0.5 * min(positive, default=1e-5)
    for axes, name in zip(grid.flat, names, strict=False):
        rows = [row for row in table if row["panel"] == name]
        for label in dict.fromkeys(row["policy"] for row in rows):
            _line(axes, label, [row for row in rows if row["policy"] == label], of, floor)
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(plt.NullLocator())
        axes.set_ylim(floor, 1.5 * max(table[of]))
        axes.set_title(named.panels()[name].title, fontsize=9, loc="left")
        axes.grid(alpha=0.25, which="major", linewidth=0.6)
        axes.tick_params(labelsize=8)
        longest = max(row["samples"] for row in rows if row["policy"] != named.SER3)
        axes.set_xlim(0.0, 1.04 * longest)
    for axes in grid[-1]:
        axes.set_xlabel("samples", fontsize=9)
    for axes in grid[:, 0]:
        axes.set_ylabel(AXIS[of], fontsize=9)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=legend, frameon=False, fontsize=9)
    return figure


def _line(axes: Any, label: str, rows: list[dict[str, Any]], of: Of, floor: float) -> None:
    colour, line, marker = _STYLES[label]
    hollow = label.endswith(("IPS", "stationary"))  # twins of a policy with the same marker
    x, y, low, high = (np.array([row[key] for row in rows], float) for key in ("samples", of, "low", "high"))
    seen = np.logical_and.accumulate(y > 0.0)
    axes.plot(
        x[seen],
        y[seen],
        color=colour,
        linestyle=line,
        marker=marker,
        markevery=max(len(x) // 8, 1),
        markersize=4.5,
        markerfacecolor="white" if hollow else colour,
        markeredgecolor=colour if hollow else INK,
        markeredgewidth=1.0 if hollow else 0.3,
        linewidth=2.0 if label == named.LINLUCB else 1.4,
        label=label,
    )
    ends = np.maximum(low[seen], floor), np.maximum(high[seen], floor)
    axes.fill_between(x[seen], *ends, color=colour, alpha=0.2, linewidth=0)
