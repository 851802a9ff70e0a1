"""Comparison of the wall time or CPU time of one command in a race with that of another."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from tideproof.races.race_options import RaceOptions
from tideproof.races.ratio_evidence import estimate_ratio, log_evidence, noise_scales, ratio_bounds


class RaceComparison(NamedTuple):
    """Estimated difference of one command's time from that of another, with its interval.

    Attributes
    ----------
    command, reference : the two commands; the reference is the fastest command, or the baseline of a gate.
    clock : "wall" or "cpu".
    estimate, low, high : relative difference of the times; -0.02 means that the command takes 2 % less time.
    slower, faster : whether the command surely takes more, or less, time.
    same : whether the times surely differ by less than the option `same_within`.
    over_limit, within_limit : with a gate, whether the slowdown is surely above, or below, its limit.
    rounds : number of rounds that were compared.
    """

    command: str
    reference: str
    clock: Literal["wall", "cpu"]
    estimate: float
    low: float
    high: float
    slower: bool
    faster: bool
    same: bool
    over_limit: bool
    within_limit: bool
    rounds: int


def compare_times(
    names: tuple[str, str],
    clock: Literal["wall", "cpu"],
    differences: np.ndarray,
    alpha: float,
    options: RaceOptions,
) -> RaceComparison:
    """Compare a command's time with a reference command's.

    `differences` are those of the logarithms of their times, one for each round. `alpha` is the error of each
    one-sided claim, at all looks.
    """
    scales = noise_scales(differences)

    def is_above(point: float, sign: float = 1.0) -> bool:
        return log_evidence(sign * differences, scales, sign * point) >= -math.log(alpha)

    low, high = ratio_bounds(differences, alpha)
    same, limit = math.log1p(options.same_within), math.log1p(options.gate or 0.0)
    return RaceComparison(
        command=names[0],
        reference=names[1],
        clock=clock,
        estimate=relative_difference(min(max(estimate_ratio(differences), low), high)),
        low=relative_difference(low),
        high=relative_difference(high),
        slower=is_above(0.0),
        faster=is_above(0.0, -1.0),
        same=is_above(-same) and is_above(same, -1.0),
        over_limit=is_above(limit),
        within_limit=is_above(limit, -1.0),
        rounds=len(differences),
    )


def relative_difference(logarithm: float) -> float:
    """Return the relative difference of two times from the logarithm of their ratio.

    >>> relative_difference(-math.inf), relative_difference(0.0), relative_difference(1e9)
    (-1.0, 0.0, inf)
    """
    return math.expm1(logarithm) if logarithm < 700.0 else math.inf
