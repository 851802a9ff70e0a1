"""Definitions of a reproduced paper's claims on bandit policies that use rewards minus estimated shifts.

The claims are in section 5.2, figure 5 and the conclusion. Some are about stationary worlds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tideproof.research.paper.claim_verdicts import Claim, ClaimPart, between_thresholds
from tideproof.research.paper.claims.benchmark_claims import CANNOT, CLOSE, DECAY, GENERAL, minus
from tideproof.research.paper.claims.existing_policy_claims import SLIGHTLY
from tideproof.research.paper.measurement_intervals import (
    Comparison,
    KeptSelections,
    Measurement,
    normal_interval,
    paired_difference,
    paired_log_ratio,
    paired_selection_difference,
    paired_sum,
    simultaneous_level,
)
from tideproof.research.paper.panels import (
    CONFIGURATIONS,
    LEAST_PLAYED,
    LINLUCB,
    PRINTED,
    REDUCED,
    REDUCED_ROBIN,
    REDUCTION,
    ROBIN_OLS,
    ROUND_ROBIN,
    STATIONARY,
    panels,
)
from tideproof.research.paper.side_studies import BOUND_BUDGETS

VERY_SMALL = (30, 40, 50, 60, 80, 100)
LARGER = (120, 150, 200, 300, 480, 500)
GAPS = (*DECAY, 300, 500)
AHEAD = 0.001  # difference in PICS
FACTOR = 3.0  # ratio of errors

TWINS = {LINLUCB: LINLUCB, REDUCED: LINLUCB, REDUCED_ROBIN: ROUND_ROBIN}

Found = Mapping[str, Any]


def _twin(name: str) -> str:
    return f"{name.split('-')[0]}-5-stationary"


def _gap(found: Found, name: str, label: str, budget: int) -> list[tuple[float, KeptSelections]]:
    """Return a policy's selections with and without shifts, from which the effect of shifts is computed.

    The difference between the error rates with and without shifts is a sum of two weighted terms. Each term
    is a weight with the policy's kept selections.
    """
    twin = KeptSelections(found[_twin(name)], TWINS.get(label, label), budget)
    return [(1.0, KeptSelections(found[name], label, budget)), (-1.0, twin)]


def _times(factor: float, parts: list[tuple[float, KeptSelections]]) -> list[tuple[float, KeptSelections]]:
    return [(factor * weight, kept) for weight, kept in parts]


def _small_gaps(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for name in REDUCTION:
        for label in TWINS:
            compared = []
            for budget in GAPS:
                raw = _gap(found, name, ROUND_ROBIN, budget)
                both = [*_gap(found, name, label, budget), *_times(-0.5, raw)]
                compared.append(Comparison(f"{budget} pulls", paired_sum(both, level)))
            what = (
                f"{panels()[name].title}: gap of {label} minus half the gap of {ROUND_ROBIN} with raw means"
            )
            parts.append(ClaimPart(what, compared, "below"))
            compared = [
                Comparison(f"{budget} pulls", paired_log_ratio(_gap(found, name, label, budget), level))
                for budget in GAPS
            ]
            what = f"{panels()[name].title}: PICS of {label} divided by that without shifts"
            parts.append(ClaimPart(what, compared, "below", FACTOR))
    return parts


def _smaller_when_long(found: Found, level: float) -> list[ClaimPart]:
    """Return measurements of whether shifts increase errors more in short environments than in long ones.

    Both gaps subtract the same errors without shifts, which therefore cancel.
    """
    parts = []
    for means in CONFIGURATIONS:
        short, long = (f"{means}-5-{scenario}" for scenario in (CANNOT, GENERAL))
        for label in TWINS:
            compared = [
                Comparison(
                    f"{budget} pulls",
                    paired_selection_difference(
                        KeptSelections(found[short], label, budget),
                        KeptSelections(found[long], label, budget),
                        level,
                    ),
                )
                for budget in DECAY
            ]
            what = f"gap of {label}: {panels()[short].title} minus general"
            parts.append(ClaimPart(what, compared, "above"))
    return parts


def _smallest_gap(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for name in REDUCTION:
        for other in (LINLUCB, REDUCED):
            apart, ratio = [], []
            for budget in DECAY:
                robin = _gap(found, name, REDUCED_ROBIN, budget)
                both = [*robin, *_times(-1.0, _gap(found, name, other, budget))]
                apart.append(Comparison(f"{budget} pulls", paired_sum(both, level)))
                ratio.append(Comparison(f"{budget} pulls", paired_log_ratio(both, level)))
            title = panels()[name].title
            parts.append(ClaimPart(f"{title}: gap of {REDUCED_ROBIN} minus gap of {other}", apart, "below"))
            what = f"{title}: PICS divided by that without shifts, {REDUCED_ROBIN} relative to {other}"
            parts.append(ClaimPart(what, ratio, "below", 1.0))
    return parts


def _only_very_small(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for name in REDUCTION:
        title, every = panels()[name].title, (*VERY_SMALL, *LARGER)
        if CANNOT in name:
            compared = paired_difference(found[name], REDUCED, LINLUCB, VERY_SMALL, "pics", level)
            what = f"{title}: PICS of {REDUCED} minus {LINLUCB}, up to 100 pulls"
            parts.append(ClaimPart(what, compared, "below", some=True))
        at, since = (LARGER, "from 120 pulls on") if CANNOT in name else (every, "at every budget")
        compared = paired_difference(found[name], REDUCED, LINLUCB, at, "pics", level)
        what = f"{title}: PICS of {REDUCED} minus {LINLUCB}, {since}"
        parts.append(ClaimPart(what, compared, "above"))
        compared = paired_difference(found[name], REDUCED, LINLUCB, every, "pics", level)
        what = f"{title}: PICS of {REDUCED} is at most {CLOSE} below that of {LINLUCB}"
        parts.append(ClaimPart(what, compared, "above", -CLOSE))
    return parts


def _bounds(found: Found, policy: str, quantity: str, name: str, level: float) -> dict[int, Measurement]:
    limits = {}
    for row in found["bounds"]:
        if (row["panel"], row["policy"], row["quantity"]) == (name, policy, quantity):
            limits[row["budget"]] = normal_interval(row["mean"], row["stderr"], level)
    return limits


def _variance(found: Found, policy: str, quantity: str, name: str, level: float) -> list[Comparison]:
    """Return, for each budget, a policy's estimate of the noise variance, averaged over runs."""
    here = _bounds(found, policy, quantity, name, level)
    return [Comparison(f"{budget} pulls", measured) for budget, measured in here.items()]


def _too_small(found: Found, level: float) -> list[ClaimPart]:
    return [
        ClaimPart(
            f"{panels()[name].title}: mean of the variance estimate (true value 1)",
            _variance(found, REDUCED, "pooled", name, level),
            "below",
            1.0,
        )
        for name in REDUCTION
    ]


def _unbiased(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for name in (*REDUCTION, *STATIONARY):
        quantity = "pooled" if name in STATIONARY else "unbiased"
        compared = _variance(found, LINLUCB, quantity, name, level)
        parts += between_thresholds(
            f"{panels()[name].title}: mean of the variance estimate", compared, 0.95, 1.05
        )
    return parts


def _drops_faster(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for name in REDUCTION:
        ratio = _bounds(found, LINLUCB, "exploration", name, simultaneous_level(level, 2))
        first = ratio[BOUND_BUDGETS[0]]
        compared = [
            Comparison(f"{t} pulls minus {BOUND_BUDGETS[0]}", ratio[t].minus(first))
            for t in BOUND_BUDGETS[1:]
        ]
        what = f"{panels()[name].title}: exploration term of {REDUCED} divided by that of {LINLUCB}"
        parts.append(ClaimPart(what, compared, "below"))
    return parts


def _explores_less(found: Found, level: float) -> list[ClaimPart]:
    each, parts = simultaneous_level(level, 2), []
    for name in REDUCTION:
        reduced, lin = (_bounds(found, label, "least", name, each) for label in (REDUCED, LINLUCB))
        compared = [Comparison(f"{t} pulls", reduced[t].minus(lin[t])) for t in BOUND_BUDGETS]
        what = f"{panels()[name].title}: pulls of the least-pulled arm, {REDUCED} minus {LINLUCB}"
        parts.append(ClaimPart(what, compared, "below"))
    return parts


def _less_certain(found: Found, level: float) -> list[ClaimPart]:
    each, parts = simultaneous_level(level, 2), []
    for means in CONFIGURATIONS:
        short, long = (
            _bounds(found, LINLUCB, "shifts", f"{means}-5-{scenario}", each) for scenario in (CANNOT, GENERAL)
        )
        compared = [Comparison(f"{t} pulls", short[t].over(long[t])) for t in BOUND_BUDGETS]
        what = f"variance of a shift estimator: {panels()[f'{means}-5-{CANNOT}'].title} divided by general"
        parts.append(ClaimPart(what, compared, "above", 1.0))
    return parts


def _works_when_long(found: Found, level: float) -> list[ClaimPart]:
    parts = minus(REDUCED, ROUND_ROBIN, _LONG, "below", at=GAPS, note=" with raw means")(found, level)
    for name in _LONG:
        compared = [
            Comparison(
                f"{budget} pulls",
                paired_log_ratio(
                    [
                        (1.0, KeptSelections(found[name], REDUCED, budget)),
                        (-1.0, KeptSelections(found[name], LINLUCB, budget)),
                    ],
                    level,
                ),
            )
            for budget in GAPS
        ]
        what = f"{panels()[name].title}: PICS of {REDUCED} divided by that of {LINLUCB}"
        parts.append(ClaimPart(what, compared, "below", SLIGHTLY))
    return parts


def _mostly_better(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for other in (REDUCED, REDUCED_ROBIN, ROBIN_OLS):
        decided = [
            part.says(one)
            for part in minus(LINLUCB, other, REDUCTION, "below", at=(*VERY_SMALL, *LARGER))(found, level)
            for one in part.comparisons
        ]
        ahead, behind = decided.count("for"), decided.count("against")
        share = ahead / (ahead + behind) if ahead + behind else math.nan
        only = Comparison(
            f"{ahead} of {ahead + behind} decided comparisons", Measurement(share, share, share)
        )
        what = f"share of decided comparisons in which {LINLUCB} errs less often than {other}"
        parts.append(ClaimPart(what, [only], "above", 0.5))
    return parts


def _at_least_as_good(found: Found, level: float) -> list[ClaimPart]:
    at = (*VERY_SMALL, *LARGER)
    return [
        part
        for other in (REDUCED, REDUCED_ROBIN, ROBIN_OLS)
        for part in minus(LINLUCB, other, REDUCTION, "below", at=at)(found, level)
    ]


_LONG = [name for name in REDUCTION if GENERAL in name]
_BELOW = f" is below {AHEAD}"

CLAIMS = (
    Claim(
        "small-gaps",
        "The gaps between the policies and their performance "
        "in a stationary environment are relatively small.",
        "5.2",
        (*REDUCTION, *STATIONARY),
        _small_gaps,
        "A gap is the increase in PICS through shifts, judged in two ways at seven budgets up to 500. As a "
        "difference, it is less than half the gap of round robin with raw means. As a ratio (log scale), "
        "PICS "
        f"is less than {FACTOR:g} times that without shifts, half a decade.",
    ),
    Claim(
        "gaps-smaller-when-long",
        "The gaps are smaller in long environments (general) than in short ones (cannot-sample-all-arms).",
        "5.2",
        (*REDUCTION, *STATIONARY),
        _smaller_when_long,
        "For three policies, the gap (the increase in PICS through shifts) is larger in "
        "cannot-sample-all-arms, at each of five budgets up to 200.",
    ),
    Claim(
        "round-robin-smallest-gap",
        "Of all policies, round robin loses least if shifts have to be estimated: its gap is the smallest.",
        "5.2",
        (*REDUCTION, *STATIONARY),
        _smallest_gap,
        "Its gap (the increase in PICS through shifts) is smaller than those of LinLUCB and reduced LinLUCB. "
        "Gaps are compared in two ways: as differences of PICS, and as ratios (log scale).",
    ),
    Claim(
        "reduced-ahead-only-when-small",
        "The reduced variant is better than LinLUCB only by little, "
        "and only if the budget is very small (cannot-sample-all-arms).",
        "5.2",
        REDUCTION,
        _only_very_small,
        "In cannot-sample-all-arms, reduced LinLUCB errs less often at some budget up to 100 "
        "(20 pulls of each arm), but not from 120 on. In the general scenario, it errs less often at no "
        f"budget. Its PICS is nowhere more than {CLOSE} lower.",
    ),
    Claim(
        "exploration-drops-faster",
        "The exploration term of the reduced variant drops faster than that of LinLUCB.",
        "5.2",
        ("bounds",),
        _drops_faster,
        "On the data of the same LinLUCB runs, the ratio of the two terms decreases from 60 pulls on.",
    ),
    Claim(
        "variance-too-small",
        "Under shifts, the reduced variant's estimate of the variance is too small.",
        "5.2",
        ("bounds",),
        _too_small,
        "Its mean over runs of reduced LinLUCB is below the true value.",
    ),
    Claim(
        "reduced-explores-less",
        "Because its variance estimate is too small, the reduced variant explores less.",
        "5.2",
        ("bounds",),
        _explores_less,
        "Its least-pulled arm has fewer pulls than that of LinLUCB, on average over runs.",
    ),
    Claim(
        "shorter-less-certain",
        "Shift estimates are less certain in short environments.",
        "5.1",
        ("bounds",),
        _less_certain,
        "After the same number of pulls, the variance of a shift estimator, averaged over all environments "
        "but the first, is larger in cannot-sample-all-arms than in the general scenario.",
    ),
    Claim(
        "variance-unbiased",
        "RSS/(N - K - J + 1) is an unbiased estimator of the variance, and RSS/(N - K) without shifts.",
        "3.1, 5.2",
        ("bounds",),
        _unbiased,
        "Their means over runs of LinLUCB, whose design depends on the rewards, are within 5 % of the "
        "true value.",
    ),
    Claim(
        "reduction-works-when-long",
        "Reducing to a standard bandit works well if environments are sufficiently long.",
        "6",
        REDUCTION,
        _works_when_long,
        "In the general scenario reduced LinLUCB errs less often than round robin with raw means, "
        f"and less than {SLIGHTLY} times as often as LinLUCB.",
    ),
    Claim(
        "linlucb-at-least-as-good",
        "LinLUCB works at least as good as Reduce-to-MAB in all tested cases.",
        "6",
        REDUCTION,
        _at_least_as_good,
        "LinLUCB errs at no budget more often than reduced LinLUCB, reduced round robin, "
        "or randomised round robin with the OLS selection.",
    ),
    Claim(
        "linlucb-mostly-better",
        "LinLUCB mostly works better than Reduce-to-MAB.",
        "6",
        REDUCTION,
        _mostly_better,
        "In more than half of the decided comparisons, at twelve budgets in four panels, "
        "LinLUCB errs less often.",
    ),
    Claim(
        "printed-covariance-policy",
        "Is LinLUCB as good with the covariance that the paper prints as with that of least squares?",
        "3.1, 4",
        REDUCTION,
        minus(PRINTED, LINLUCB, REDUCTION, "below", AHEAD, (50, 100, 150, 200, 300), _BELOW),
        f"The answer is yes if the PICS of LinLUCB with the printed covariance is nowhere {AHEAD} higher.",
        ours=True,
    ),
    Claim(
        "least-played-instead",
        "If reduced LinLUCB would begin an environment with two pulls of one arm, is it better to pull the "
        "least-pulled arm instead of the other arm of the two that it compares?",
        "5.2",
        REDUCTION,
        minus(LEAST_PLAYED, REDUCED, REDUCTION, "below", at=(100, 200, 300, 500)),
        "The answer is yes if the policy errs less often with the least-pulled arm, as `reduce:linlucb` "
        "does it.",
        ours=True,
    ),
)
