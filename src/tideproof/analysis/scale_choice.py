"""Automatic choice of the scale on which arms are compared, and intervals that cover every possible scale.

Users request the choice of scale and variance model with "auto".

If arms met in different environments, different scales give different estimates: with an additive tide, a 20
% lift at low tide is a smaller relative lift at high tide. If the tests do not decide between scales, an
interval on one of them alone is too narrow. A gap on another scale implies means of both arms in each
environment; over all traffic these imply a gap on this scale. So `ScaleUnion` extends the interval to the
bounds of every such scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tideproof.analysis.scales.scale_fits import DifferenceScale, LogScale, OddsScale, RatioScale
from tideproof.analysis.scales.scale_protocol import ScaleFit
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import DifferencePairScale, WaldPairs
from tideproof.stats.scales.reward_logarithms import require_logs
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES, Scale, ScaleName
from tideproof.stats.scales.scale_test import (
    REJECTION_P,
    ScaleDecision,
    ScaleTest,
    noise_grows,
    run_scale_test,
)
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Estimate, Variance
from tideproof.text import join_names

ScaleChoice = Literal["auto", ScaleName]

_AGREE = 0.2  # Differences between scales below this many standard errors are ignored.
MOST_SCORE_CELLS = 20_000  # With more cells, Wald tests replace the slower score tests.
_FAR = 50.0  # A log ratio that is practically infinite without overflow in exp.
_MANY_ARMS = 500  # With more arms, testing scales would take longer than all else.
_RARE = 0.1  # Below this overall rate odds and ratios are nearly equal.

_SCALES: dict[ScaleName, Callable[[Cells, Solution, Variance, bool], ScaleFit]] = {
    "difference": DifferenceScale,
    "ratio": RatioScale,
    "odds": OddsScale,
    "log": LogScale,
}


def resolve_variance(cells: Cells, variance: Variance) -> Variance:
    """Return the variance model: the requested one or, with "auto", the one that the data need.

    "auto" is replaced for data with units.
    """
    return "by-unit" if variance == "auto" and cells.units is not None else variance


def select_scale(cells: Cells, scale: ScaleChoice | ScaleDecision, variance: Variance) -> ScaleDecision:
    """Return the scale for comparing arms: the requested one or, with "auto", one that fits the data."""
    if isinstance(scale, ScaleDecision):
        return scale
    if scale not in get_args(ScaleChoice):
        allowed = ", ".join(map(repr, get_args(ScaleChoice)))
        raise InputError(f"scale must be one of {allowed}, not {scale!r}")
    if scale == "auto" and np.ptp(cells.mean) == 0.0 and not cells.squares.any():
        return ScaleDecision("difference", {}, False, "All rewards are equal.")
    if cells.factors is not None or cells.slope is not None:
        return _only_differences(cells, scale)
    aggregated = variance == "by-unit" and cells.units is not None and cells.units.rows
    if scale == "auto" and (variance == "auto" or aggregated):
        return choose_scale(cells)
    if scale == "auto":
        reason = f"Arms are compared by differences, because variance={variance!r} requires it."
        if variance == "by-unit":  # also without this option, if there are units
            unit = "units such as people"
            reason = f"Arms are compared by differences, the default if rewards belong to {unit}."
        return ScaleDecision("difference", {}, False, reason)
    by_unit = variance == "by-unit" and (scale != "log" or aggregated)
    if scale != "difference" and variance != "auto" and not by_unit:
        raise InputError(
            f"variance={variance!r} requires scale='difference'; with scale={scale!r} use variance='auto'"
        )
    if scale == "log":
        require_logs(cells)
    said = f"Arms are compared by {_plural(scale)} (scale={scale!r})."
    return ScaleDecision(scale, {}, False, said, requested=True)


def _only_differences(cells: Cells, scale: ScaleChoice) -> ScaleDecision:
    """Return differences: the only scale that allows for covariates and two environment factors."""
    what = "covariates" if cells.factors is None else "two columns of environments"
    if scale == "auto":
        reason = f"Arms are compared by differences, because {what} require it."
    elif scale == "difference":
        reason = f"Arms are compared by {_plural(scale)} (scale={scale!r})."
    else:
        raise InputError(f"{what} require scale='difference', not scale={scale!r}")
    return ScaleDecision("difference", {}, False, reason, requested=scale != "auto")


def choose_scale(cells: Cells) -> ScaleDecision:
    """Return the scale (differences, ratios or odds) on which arms differ equally in all environments.

    Logarithms are never chosen: if two arms have equal means but different tails, logarithms name a winner.

    If the tests do not decide: ratios for 0/1 rewards (conversions usually change by factors) and for noise
    that grows with the level, as multiplicative noise does; differences otherwise.

    All scales are tested under one distribution of the rewards: 0 or 1 if they are, otherwise a variance that
    is a power of the mean, as measured inside the cells. Odds are tested for 0/1 rewards with an overall rate
    above 0.1: below it, ratios and odds are nearly equal.
    """
    if np.any(cells.mean < 0.0):
        test = run_scale_test(cells, "difference", "ratio")
        said = "Arms are compared by differences, because some rewards are below 0."
        if test.p < REJECTION_P:
            said = (
                f"A test of the scale (whether shifts add or multiply) rejects differences "
                f"({_p_text(test.p)}), but arms are compared by them, because some rewards are below 0."
            )
        return ScaleDecision("difference", {"difference": test}, False, said)
    if cells.K > _MANY_ARMS:
        conventional: Scale = "ratio" if cells.binary or noise_grows(cells) else "difference"
        used = _plural(conventional)
        said = f"With more than {_MANY_ARMS} arms, no scale is tested; arms are compared by {used}."
        return ScaleDecision(conventional, {}, False, said, (conventional,))
    rare = float(np.average(cells.mean, weights=cells.n)) < _RARE
    multiplies = cells.binary or noise_grows(cells)
    scales: list[Scale] = ["ratio", "difference"] if multiplies else ["difference", "ratio"]
    if cells.binary and not rare:
        scales.append("odds")
    tests = {
        scale: _smallest_p(cells, scale, [other for other in scales if other != scale]) for scale in scales
    }
    wrong = [scale for scale in scales if tests[scale].p < REJECTION_P]
    right = [scale for scale in scales if scale not in wrong]
    name: Scale = right[0] if right else max(scales, key=lambda scale: tests[scale].p)
    possible = tuple(scale for scale in scales if scale == name or REJECTION_P <= tests[scale].p < 1.0)
    sentence = _sentence(name, tests, wrong, right)
    if len(possible) > 1:
        others = " or by ".join(_plural(scale) for scale in possible if scale != name)
        sentence += (
            f" The verdict and the intervals of comparisons are also valid if arms are compared by {others}."
        )
    return ScaleDecision(name, tests, bool(wrong) and bool(right), sentence, possible)


def _smallest_p(cells: Cells, scale: Scale, rivals: list[Scale]) -> ScaleTest:
    """Test a scale of comparison, such as ratios, against each rival scale; return the most significant test.

    The p-value is corrected for the number of rivals.

    Differences are tested against odds alone if odds are possible: from differences, odds and ratios look
    almost equal.
    """
    if scale == "difference":
        rivals = rivals[-1:]
    found = min((run_scale_test(cells, scale, other) for other in rivals), key=lambda test: test.p)
    return ScaleTest(found.z, min(1.0, len(rivals) * found.p))


def _sentence(name: Scale, tests: dict[Scale, ScaleTest], wrong: list[Scale], right: list[Scale]) -> str:
    """Return the sentence on which scale for comparing arms was chosen, and which scales were rejected."""
    what, used = "Tests of the scale (whether shifts add or multiply)", f"compared by {_plural(name)}"
    kept = [_plural(scale) for scale in right]
    if not wrong:
        none = f"neither {' nor '.join(kept)}" if len(kept) == 2 else f"none of {join_names(kept)}"
        return f"{what} reject {none}; arms are {used}."
    said = join_names(f"{_plural(scale)} ({_p_text(tests[scale].p)})" for scale in wrong)
    if not right:
        rough = "which fit best, so take the interval as approximate"
        return f"{what} reject all scales: {said}; arms are {used}, {rough}."
    # Against odds, a positive statistic means larger differences near a rate of 1/2.
    grow = wrong == ["difference"] and "odds" not in tests and tests["difference"].z > 0.0
    how = ": differences between arms are larger where rewards are higher" if grow else ""
    return f"{what} reject {said} but not {join_names(kept, 'or')}{how}. Arms are {used}."


def explain_misfits(choice: ScaleDecision) -> str:
    """Return the sentence on why arms are compared on the chosen scale, although it does not fit the data."""
    wrong = [scale for scale, test in choice.tests.items() if test.p < REJECTION_P]
    if not wrong and len(choice.tests) > 1:
        others = join_names((_plural(scale) for scale in choice.tests if scale != choice.name), "or")
        return (
            f"Arms are compared by {_plural(choice.name)}, which vary from environment to environment; "
            f"comparing arms by {others} instead would not explain this variation."
        )
    if not choice.told or not wrong:
        return choice.sentence
    worse = " and by ".join(f"{_plural(scale)} ({_p_text(choice.tests[scale].p)})" for scale in wrong)
    chosen = _plural(choice.name)
    return (
        f"Comparing arms by {chosen} fits the data better than by {worse}, but not well: {chosen} vary from "
        f"environment to environment, too (test of additivity)."
    )


def _plural(scale: ScaleName) -> str:
    """Return the plural noun for differences of arms on a scale of comparison, such as "ratios"."""
    return SCALE_PROPERTIES[scale].plural


def _p_text(p: float) -> str:
    """Return a p-value as text for a sentence."""
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def fit_on_scale(
    name: ScaleName, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False
) -> ScaleFit:
    """Estimate arms and environments on one scale for comparing arms, such as differences or ratios."""
    return _SCALES[name](cells, solution, variance, adaptive)


class _OtherScale(NamedTuple):
    """Estimate and tests of pairs of arms on an alternative scale (differences, ratios or odds)."""

    found: Estimate
    pairs: Pairs


class ScaleUnion(Pairs):
    """Tests of two arms on the chosen scale, whose confidence bounds also cover the other possible scales.

    Scales whose estimates agree to a fifth of a standard error count as one.
    """

    def __init__(self, scale: ScaleName, shown: Estimate, others: Sequence[Estimate]) -> None:
        self._scale, self._shown = scale, shown
        self._others = [_OtherScale(found, quick_tests(found)) for found in others]
        self._near: dict[tuple[int, int], list[_OtherScale]] = {}

    def gap(self, i: int, k: int) -> float:
        """Return the estimated difference of two arms' effects on the chosen scale of comparison.

        It is theta_i - theta_k.
        """
        return self._shown.pairs.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that two arms differ by `gap` on the chosen scale of comparison.

        For a gap of 0 it is the z-score nearest to 0 over all possible scales, and 0 if scales disagree on
        which arm is better.
        """
        found = self._shown.pairs.deviate(i, k, gap)
        if gap or math.isnan(found):
            return found
        rest = [other.pairs.deviate(i, k) for other in self._apart(i, k)]
        scores = [found, *(z for z in rest if not math.isnan(z))]
        return min(scores, key=abs) if min(scores) > 0.0 or max(scores) < 0.0 else 0.0

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self._shown.pairs.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the largest upper confidence bound of two arms' difference over all scales of comparison."""
        found = self._shown.pairs.upper(i, k, z)
        rest = (self._seen(other, i, k, other.pairs.upper(i, k, z)) for other in self._apart(i, k))
        return max((found, *(bound for bound in rest if bound > found)))

    def _apart(self, i: int, k: int) -> list[_OtherScale]:
        """Return the other scales of comparison, such as ratios, that disagree noticeably about two arms.

        Their estimates differ noticeably from that of the chosen scale.
        """
        pair = min(i, k), max(i, k)
        if pair not in self._near:
            C = self._shown.covariance
            near = _AGREE * math.sqrt(max(0.0, float(C[i, i] + C[k, k] - 2.0 * C[i, k])))
            own = self.gap(*pair)
            self._near[pair] = [
                other
                for other in self._others
                if not abs(self._seen(other, *pair, other.pairs.gap(*pair)) - own) <= near
            ]
        return self._near[pair]

    def _seen(self, other: _OtherScale, i: int, k: int, gap: float) -> float:
        """Convert a difference of two arms from another scale of comparison to the chosen one.

        The result is NaN if it is undefined.
        """
        scale = _scale(other.found)
        if math.isnan(gap) or (math.isinf(gap) and isinstance(scale, DifferencePairScale)):
            return gap
        if not isinstance(scale, DifferencePairScale):
            gap = min(max(gap, -_FAR), _FAR)
        x, y = scale.met(i, k, gap)
        share = _traffic(other.found, scale.cells, i)
        return SCALE_PROPERTIES[self._scale].gap_over_traffic(share, x, y)


def _scale(found: Estimate) -> Any:
    """Return the fitted scale (differences, ratios or odds) on which an estimate compares arms."""
    pairs: Any = found.pairs
    return pairs.scale


def quick_tests(found: Estimate) -> Pairs:
    """Return the tests of pairs of arms that belong to an estimate of the arm effects.

    For very large data these are the quicker Wald tests.
    """
    many = _scale(found).cells.n.size > MOST_SCORE_CELLS
    return WaldPairs(found.mu, found.covariance, found.freedom) if many else found.pairs


def _traffic(found: Estimate, cells: Cells, i: int) -> Floats:
    """Return each environment's share of all rewards of the arms that are comparable with arm i.

    The shares, (J,), add up to 1.
    """
    here = np.zeros(cells.J)
    here[cells.environment[found.component[cells.arm] == found.component[i]]] = 1.0
    return np.asarray(here * cells.sizes / float(here @ cells.sizes))
