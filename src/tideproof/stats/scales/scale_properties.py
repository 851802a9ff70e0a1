"""Scales on which arms can be compared: the name, the texts and the properties of each.

Reports, recommendations, warnings, charts, tests of scales and the union of scales read them from
`SCALE_PROPERTIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.text import PERCENT, PLAIN, NumberFormat

Scale = Literal["difference", "ratio", "odds"]
ScaleName = Literal["difference", "ratio", "odds", "log"]  # "log": ratios, by logarithms


@dataclass(frozen=True, slots=True)
class ScaleProperties:
    """Properties of one scale on which arms are compared, such as ratios, and texts about it.

    Attributes
    ----------
    plural : differences between arms on this scale, as a noun in the plural.
    lifts : whether arms are compared by lifts (0.12 for 12 %); arm values are then logarithms.
    model : the statistical model, as a sentence.
    contrast_label : label of an axis for the contrast of the arms {a} and {b}; {unit} is the unit of means.
    shift_label : label of an axis for the shifts of environments.
    lead_prefix : text before the lead of the best arm.
    margin_format : number format of the margin of a recommendation.
    tested_as : the scale that is tested in place of this one.
    level_dependence : for each other scale, how a small difference between arms that is constant on the other
        scale varies on this scale with the level x of the environment.
    gap_over_traffic : function that returns the gap of two arms on this scale from the share of each
        environment in the traffic, and from the means of the arms in each environment; NaN if undefined.
    """

    plural: str
    lifts: bool
    model: str
    contrast_label: str
    shift_label: str
    margin_format: NumberFormat
    tested_as: Scale
    level_dependence: Mapping[Scale, Callable[[Floats], Floats]]
    gap_over_traffic: Callable[[Floats, Floats, Floats], float]
    lead_prefix: str = ""


def _mean_gap(share: Floats, x: Floats, y: Floats) -> float:
    """Return the difference of the means of two arms over all traffic."""
    return float(share @ (x - y))


def _log_ratio_gap(share: Floats, x: Floats, y: Floats) -> float:
    """Return the logarithm of the ratio of the means of two arms over all traffic."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(max(float(share @ x), 0.0)) - np.log(max(float(share @ y), 0.0)))


def _log_odds_gap(share: Floats, x: Floats, y: Floats) -> float:
    """Return the mean log odds ratio of two arms over the traffic in which both rates are inside (0, 1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = (x > 0.0) & (x < 1.0) & (y > 0.0) & (y < 1.0)
        apart = np.log(x / (1.0 - x)) - np.log(y / (1.0 - y))
    return float(np.average(apart[inside], weights=share[inside])) if share[inside].any() else float("nan")


_RATIO_LEVELS: Mapping[Scale, Callable[[Floats], Floats]] = {
    "difference": lambda x: 1.0 / x,
    "odds": lambda x: 1.0 - x,
}

SCALE_PROPERTIES: Mapping[ScaleName, ScaleProperties] = {
    "difference": ScaleProperties(
        plural="differences",
        lifts=False,
        model="reward = arm + environment + noise; an environment adds the same amount to all arms.",
        contrast_label="{a} minus {b}{unit}",
        shift_label="shift of all arms{unit}",
        margin_format=PLAIN,
        tested_as="difference",
        level_dependence={"ratio": lambda x: x, "odds": lambda x: x * (1.0 - x)},
        gap_over_traffic=_mean_gap,
    ),
    "ratio": ScaleProperties(
        plural="ratios",
        lifts=True,
        model="mean reward = arm * environment; an environment multiplies all arms by the same factor.",
        contrast_label="lift of {a} over {b}",
        shift_label="shift of all arms, relative to an average environment",
        margin_format=PERCENT,
        tested_as="ratio",
        level_dependence=_RATIO_LEVELS,
        gap_over_traffic=_log_ratio_gap,
    ),
    "odds": ScaleProperties(
        plural="odds ratios",
        lifts=True,
        model="odds of a 1 = arm * environment; an environment multiplies all arms by the same factor.",
        contrast_label="lift of the odds of {a} over {b}",
        shift_label="shift of the odds of all arms, relative to an average environment",
        margin_format=NumberFormat(100.0, " %", " in odds"),
        tested_as="odds",
        level_dependence={
            "difference": lambda x: 1.0 / (x * (1.0 - x)),
            "ratio": lambda x: 1.0 / (1.0 - x),
        },
        gap_over_traffic=_log_odds_gap,
        lead_prefix="odds ",
    ),
    "log": ScaleProperties(
        plural="ratios",
        lifts=True,
        model="reward = arm * environment * noise; an environment multiplies all arms by the same factor.",
        contrast_label="lift of {a} over {b}",
        shift_label="shift of all arms, relative to an average environment",
        margin_format=PERCENT,
        tested_as="ratio",
        level_dependence=_RATIO_LEVELS,
        gap_over_traffic=_log_ratio_gap,
    ),
}
