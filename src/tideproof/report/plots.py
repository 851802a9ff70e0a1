"""The four pictures of a report: arms, tide, gaps by environment, and who met whom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tideproof.draw.svg import WIDTH, drawing, element, hint, labels, scale, short, text, ticks
from tideproof.estimate import Fit
from tideproof.stats.solve import sums
from tideproof.words import counted

MOST = 30  # arms in a picture


def arms(fit: Fit, order: list[Any]) -> str:
    """Draw adjusted means with intervals, and where the raw mean stands."""
    rows = {row["arm"]: row for row in fit.arms}
    shown = [rows[arm] for arm in order[:MOST] if rows[arm]["mean"] is not None]
    if not shown:
        return ""
    ends = [
        x for row in shown for x in (row["low"], row["high"], row["mean"], row["raw_mean"]) if x is not None
    ]
    left, line = 30.0 + 8.6 * max(len(short(row["arm"], 16)) for row in shown), 26.0
    bottom = 10.0 + line * len(shown)
    x = _padded(ends, left, WIDTH - 14.0)
    parts = _below(x, ends, bottom)
    for i, row in enumerate(shown):
        y = 10.0 + line * (i + 0.5)
        parts.append(text(short(row["arm"], 16), left - 10.0, y + 4.5, "end", "name"))
        kind = "best" if i == 0 and len(fit.groups) == 1 else "arm"
        said = f"{row['arm']}: adjusted {row['mean']:.4g}, raw {row['raw_mean']:.4g}"
        if row["low"] is not None:
            said += f", interval {row['low']:.4g} to {row['high']:.4g}"
            parts.append(
                element("line", x1=x(row["low"]), x2=x(row["high"]), y1=y, y2=y, class_=f"bar {kind}")
            )
        raw, d = x(row["raw_mean"]), 4.0
        parts.append(element("path", d=f"M{raw - d:.1f} {y - d:.1f}l8 8m0 -8l-8 8", class_="raw"))
        dot = hint(said)
        parts.append(element("circle", dot, cx=x(row["mean"]), cy=y, r=5.0, class_=f"dot {kind}"))
    return drawing(parts, bottom + 28.0, "adjusted means with intervals, raw means as crosses")


def tide(fit: Fit) -> str:
    """Draw the shift of each environment with its interval."""
    rows = [row for row in fit.shifts if row["shift"] is not None]
    shift = np.array([row["shift"] for row in rows], float)
    reach = 1.96 * np.array([row["se"] if row["se"] is not None else 0.0 for row in rows], float)
    left, top, bottom, right = 60.0, 10.0, 190.0, WIDTH - 12.0
    at = scale(0, max(len(rows) - 1, 1), left + 6.0, right - 6.0)
    low, high = _ends([*(shift - reach), *(shift + reach), 0.0])
    y = scale(low, high, bottom, top)
    parts = _beside(y, low, high, left, right)
    upper = [f"{at(i):.1f},{y(v):.1f}" for i, v in enumerate(shift + reach)]
    lower = [f"{at(i):.1f},{y(v):.1f}" for i, v in enumerate(shift - reach)]
    parts.append(element("polygon", points=" ".join(upper + lower[::-1]), class_="band"))
    parts.append(element("line", x1=left, x2=right, y1=y(0.0), y2=y(0.0), class_="zero"))
    parts.append(
        element(
            "polyline", points=" ".join(f"{at(i):.1f},{y(v):.1f}" for i, v in enumerate(shift)), class_="tide"
        )
    )
    if len(rows) <= 120:
        for i, row in enumerate(rows):
            said = hint(f"{row['environment']}: {row['shift']:+.4g}, {counted(row['n'], 'reward')}")
            parts.append(element("circle", said, cx=at(i), cy=y(row["shift"]), r=3.0, class_="dot tide-dot"))
    for i in _sparse(len(rows), 4):
        anchor = "start" if i == 0 else "end" if i == len(rows) - 1 else "middle"
        parts.append(text(short(rows[i]["environment"], 16), at(i), bottom + 20.0, anchor))
    return drawing(parts, bottom + 28.0, "the shift of each environment")


def gaps(fit: Fit, a: Any, b: Any) -> str:
    """Draw, for each environment that saw both, how far arm `a` was above arm `b`."""
    c = fit.cells
    i, k = c.arms.index(a), c.arms.index(b)
    means: dict[int, dict[int, tuple[float, float]]] = {}
    for cell in np.flatnonzero((c.arm == i) | (c.arm == k)):
        means.setdefault(int(c.environment[cell]), {})[int(c.arm[cell])] = (c.mean[cell], c.n[cell])
    met = sorted(j for j, seen in means.items() if len(seen) == 2)
    if not met or fit.sigma is None:
        return ""
    gap = np.array([means[j][i][0] - means[j][k][0] for j in met])
    error = fit.sigma * np.array([math.sqrt(1 / means[j][i][1] + 1 / means[j][k][1]) for j in met])
    overall = fit.contrast(a, b)
    left, top, bottom, right = 60.0, 10.0, 190.0, WIDTH - 12.0
    at = scale(0, max(len(met) - 1, 1), left + 8.0, right - 8.0)
    low, high = _ends([*(gap - 1.96 * error), *(gap + 1.96 * error), 0.0])
    y = scale(low, high, bottom, top)
    parts = _beside(y, low, high, left, right)
    parts.append(element("line", x1=left, x2=right, y1=y(0.0), y2=y(0.0), class_="zero"))
    if overall.low is not None and overall.high is not None:
        height = abs(y(overall.low) - y(overall.high))
        parts.append(
            element("rect", x=left, y=y(overall.high), width=right - left, height=height, class_="band")
        )
    parts.append(
        element("line", x1=left, x2=right, y1=y(overall.estimate), y2=y(overall.estimate), class_="tide")
    )
    for m, j in enumerate(met):
        x, reach = at(m), 1.96 * error[m]
        parts.append(
            element("line", x1=x, x2=x, y1=y(gap[m] - reach), y2=y(gap[m] + reach), class_="bar thin arm")
        )
        said = hint(f"{c.environments[j]}: {gap[m]:+.4g} ± {reach:.2g}")
        radius = 3.2 if len(met) <= 120 else 1.8
        parts.append(element("circle", said, cx=x, cy=y(gap[m]), r=radius, class_="dot arm"))
    for m in _sparse(len(met), 4):
        anchor = "start" if m == 0 else "end" if m == len(met) - 1 else "middle"
        parts.append(text(short(c.environments[met[m]], 16), at(m), bottom + 20.0, anchor))
    return drawing(parts, bottom + 28.0, f"{a} minus {b} in each environment that saw both")


def graph(fit: Fit, order: list[Any]) -> str:
    """Draw who met whom: a thicker line for more that is known from direct comparisons."""
    c, K = fit.cells, len(fit.cells.arms)
    shown = [c.arms.index(arm) for arm in order[:MOST]]
    size = sums(c.environment, c.n, len(c.environments))
    known = np.zeros((K, K))
    by = np.argsort(c.environment, kind="stable")
    bounds = np.searchsorted(c.environment[by], np.arange(len(c.environments) + 1))
    for j in range(len(c.environments)):
        cells = by[bounds[j] : bounds[j + 1]]
        share = c.n[cells] / math.sqrt(size[j]) if size[j] else c.n[cells]
        known[np.ix_(c.arm[cells], c.arm[cells])] += np.outer(share, share)
    np.fill_diagonal(known, 0.0)
    middle_x, middle_y, radius = WIDTH / 2.0, 135.0, 98.0
    angle = [2.0 * math.pi * m / len(shown) - math.pi / 2.0 for m in range(len(shown))]
    place = {
        i: (middle_x + 1.25 * radius * math.cos(t), middle_y + radius * math.sin(t))
        for i, t in zip(shown, angle, strict=True)
    }
    most = known[np.ix_(shown, shown)].max() or 1.0
    parts = []
    for m, i in enumerate(shown):
        for k in shown[m + 1 :]:
            if known[i, k] > 0.0:
                width = 0.6 + 5.0 * math.sqrt(known[i, k] / most)
                (x1, y1), (x2, y2) = place[i], place[k]
                parts.append(element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, class_="edge"))
    for m, (i, t) in enumerate(zip(shown, angle, strict=True)):
        x, y = place[i]
        kind = "best" if m == 0 and len(fit.groups) == 1 else "arm"
        parts.append(element("circle", cx=x, cy=y, r=6.0, class_=f"dot {kind}"))
        side = "middle" if abs(math.cos(t)) < 0.25 else "start" if math.cos(t) > 0.0 else "end"
        push = {"middle": 0.0, "start": 11.0, "end": -11.0}[side]
        lower = 4.5 if side != "middle" else (20.0 if math.sin(t) > 0.0 else -12.0)
        parts.append(text(short(c.arms[i], 14), x + push, y + lower, side, "name"))
    return drawing(parts, 256.0, "arms that met in an environment are joined")


def _padded(values: list[float], start: float, stop: float) -> Any:
    low, high = _ends(values)
    return scale(low, high, start, stop)


def _ends(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return low - pad, high + pad


def _below(x: Any, values: list[float], bottom: float) -> list[str]:
    low, high = _ends(values)
    at = ticks(low, high)
    parts = []
    for value, said in zip(at, labels(at), strict=True):
        parts.append(element("line", x1=x(value), x2=x(value), y1=6.0, y2=bottom, class_="grid"))
        parts.append(text(said, x(value), bottom + 20.0, "middle"))
    return parts


def _beside(y: Any, low: float, high: float, left: float, right: float) -> list[str]:
    at = ticks(low, high, 6)
    parts = []
    for value, said in zip(at, labels(at), strict=True):
        parts.append(element("line", x1=left, x2=right, y1=y(value), y2=y(value), class_="grid"))
        parts.append(text(said, left - 6.0, y(value) + 4.5, "end"))
    return parts


def _sparse(length: int, most: int) -> list[int]:
    """Return a few positions, the first and the last among them."""
    if length <= most:
        return list(range(length))
    return sorted({round(m * (length - 1) / (most - 2)) for m in range(most - 1)})
