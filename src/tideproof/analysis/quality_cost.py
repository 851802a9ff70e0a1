"""Panel that shows the quality of each arm against what it costs, such as tokens, seconds or dollars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.words.fit_text import mean_format
from tideproof.draw.quality_cost_chart import QualityCostInfo, draw_quality_cost
from tideproof.draw.svg_elements import Axis

COSTS = ("dollars", "tokens", "seconds")  # names of metrics that are costs, the most useful first
_MOST_ARMS = 30


class QualityCostPanel(NamedTuple):
    """Title, explanation and drawing of a chart of quality against a cost."""

    title: str
    words: str
    picture: str


def quality_cost_panel(fit: Fit, costs: Mapping[str, Fit]) -> QualityCostPanel | None:
    """Return the chart of the arms' scores against the first cost that is known; None without a cost.

    `costs` are the fits of all metrics by name. At most 30 arms are drawn, those that are best.
    """
    name = next((cost for cost in COSTS if cost in costs), None)
    if name is None or len(fit.groups) > 1 or fit.lifts:
        return None
    prices = {row["arm"]: row for row in costs[name].arms}
    rows = {row["arm"]: row for row in fit.arms}
    shown = [arm for arm in fit.ranking[0] if arm in prices and prices[arm]["mean"] is not None][:_MOST_ARMS]
    if not shown:
        return None
    sign = 1.0 if fit.direction == "maximize" else -1.0
    points = {arm: (sign * rows[arm]["mean"], prices[arm]["mean"]) for arm in shown}
    infos = [
        QualityCostInfo(
            str(arm),
            rows[arm]["mean"],
            _bounds(rows[arm]),
            prices[arm]["mean"],
            _bounds(prices[arm]),
            arm in fit.decision.candidates,
            _is_efficient(points[arm], list(points.values())),
        )
        for arm in shown
    ]
    top = 1.0 if fit.cells.binary else math.inf
    bottom = 0.0 if fit.cells.mean.min() >= 0.0 else -math.inf
    picture = draw_quality_cost(infos, Axis("score", mean_format(fit), bottom, top), Axis(name, low=0.0))
    words = (
        f"The mean score of each arm, upwards, and its mean {name} per sample, to the right, each with its "
        f"{100 * fit.confidence:g} % confidence interval. Green arms can be the best. The line connects "
        f"the arms of which no other is both better and cheaper."
    )
    return QualityCostPanel(f"Quality against {name}", words, picture)


def _is_efficient(point: tuple[float, float], others: list[tuple[float, float]]) -> bool:
    """Return whether no other arm has at least the same score at no higher cost.

    >>> [_is_efficient(p, [(0.8, 2.0), (0.7, 1.0), (0.6, 1.5)]) for p in ((0.8, 2.0), (0.6, 1.5))]
    [True, False]
    """
    score, cost = point
    return not any(s >= score and c <= cost and (s, c) != point for s, c in others)


def _bounds(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the bounds of the confidence interval of a mean; None if they are unknown."""
    return None if row["low"] is None or row["high"] is None else (row["low"], row["high"])
