"""Definitions of a reproduced paper's claims on how shifts affect existing bandit policies.

They are in section 2.3 and figure 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tideproof.lab.share_intervals import binomial
from tideproof.research.paper.claim_verdicts import Check, Claim, ClaimPart, between_thresholds
from tideproof.research.paper.elimination_variants import (
    ALL_REWARDS,
    HALVES,
    LAST_PHASE,
    LOST,
    LOST_FIRST,
    NO_SHIFTS,
    ONE_AT_A_TIME,
)
from tideproof.research.paper.measurement_intervals import (
    Comparison,
    Measurement,
    difference_across_worlds,
    difference_to_ser3,
    measure,
    normal_interval,
    paired_difference,
    simultaneous_level,
)
from tideproof.research.paper.panels import EXISTING, P1_IPS, PSS, ROUND_ROBIN, SR, ser3_panel_name

ADAPTIVE = tuple(label for label in EXISTING if label not in (ROUND_ROBIN, PSS, SR))
ROBUST = ("P1, mean", "P1, IPS", "EXP4.P, mean", "EXP4.P, IPS", PSS)
HIGHER = (300, 400, 600, 800, 1000)
SLIGHTLY = 1.25  # largest ratio of errors that counts as slightly worse
CENTRED = 0.25  # in units of rewards; half the gap of two neighbouring arms
SWEEP = ser3_panel_name("mdm-5-general")

Found = Mapping[str, Any]


def _worse_than_round_robin(labels: tuple[str, ...]) -> Check:
    def check(found: Found, level: float) -> list[ClaimPart]:
        study = found["existing"]
        return [
            ClaimPart(
                f"PICS of {label} minus {ROUND_ROBIN}",
                paired_difference(study, label, ROUND_ROBIN, HIGHER, "pics", level),
                "above",
            )
            for label in labels
        ]

    return check


def _times(found: Found, a: str, b: str, level: float) -> list[Comparison]:
    """Return the ratio of the error rates of policies `a` and `b` at each budget."""
    study, each = found["existing"], simultaneous_level(level, 2)
    return [
        Comparison(f"{t} pulls", measure(study, a, t, "pics", each).over(measure(study, b, t, "pics", each)))
        for t in study.budgets
    ]


def _sr(found: Found, level: float) -> list[ClaimPart]:
    study = found["existing"]
    worse = paired_difference(study, SR, ROUND_ROBIN, study.budgets, "pics", level)
    return [
        ClaimPart(f"PICS of {SR} minus {ROUND_ROBIN}", worse, "above"),
        ClaimPart(
            f"PICS of {SR} divided by that of {ROUND_ROBIN}",
            _times(found, SR, ROUND_ROBIN, level),
            "below",
            SLIGHTLY,
        ),
    ]


def _slower(found: Found, level: float) -> list[ClaimPart]:
    """Return measurements of whether adaptive policies err more than round robin and improve more slowly."""
    study, each = found["existing"], simultaneous_level(level, 4)

    def left(label: str) -> Measurement:
        last, first = (measure(study, label, t, "pics", each) for t in (HIGHER[-1], HIGHER[0]))
        return last.over(first)

    parts = _worse_than_round_robin(ADAPTIVE)(found, level)
    for label in ADAPTIVE:
        only = Comparison(f"{HIGHER[-1]} relative to {HIGHER[0]} pulls", left(label).minus(left(ROUND_ROBIN)))
        parts.append(
            ClaimPart(f"{label}: remaining share of PICS minus that of {ROUND_ROBIN}", [only], "above")
        )
    return parts


def _pss(found: Found, level: float) -> list[ClaimPart]:
    study = found["existing"]
    return [
        ClaimPart(
            f"PICS of {PSS} minus {other}",
            paired_difference(study, PSS, other, study.budgets, "pics", level),
            "above",
        )
        for other in (SR, ROUND_ROBIN)
    ]


def _why_pss(found: Found, level: float) -> list[ClaimPart]:
    """Return measurements that test two explanations for the high error rate of the policy PSS.

    PSS errs more often than the policy SR (successive rejects).
    """
    rows = {(row["policy"], row["quantity"], row["budget"]): row for row in found["elimination"]}
    budgets = sorted({row["budget"] for row in found["elimination"]})

    def minus(quantity: str, a: str, b: str) -> list[Comparison]:
        compared = []
        for budget in budgets:
            first, second = (
                _share(rows[one, quantity, budget], simultaneous_level(level, 2)) for one in (a, b)
            )
            compared.append(Comparison(f"{budget} pulls", first.minus(second)))
        return compared

    halves, one = f"{HALVES}, {ALL_REWARDS}", f"{ONE_AT_A_TIME}, {ALL_REWARDS}"
    last = f"{HALVES}, {LAST_PHASE}"
    return [
        ClaimPart(
            f"best arm eliminated in the first phase: {halves} minus {one}",
            minus(LOST_FIRST, halves, one),
            "above",
        ),
        ClaimPart(f"PICS: {halves} minus {one}", minus(LOST, halves, one), "above"),
        ClaimPart(f"PICS: {last} minus {halves}", minus(LOST, last, halves), "above"),
    ]


def _elimination_suffers(found: Found, level: float) -> list[ClaimPart]:
    rows = {(row["policy"], row["quantity"], row["budget"]): row for row in found["elimination"]}
    name, each = f"{ONE_AT_A_TIME}, {ALL_REWARDS}", simultaneous_level(level, 2)
    compared = []
    for budget in sorted({row["budget"] for row in found["elimination"]}):
        shifted, still = (_share(rows[one, LOST, budget], each) for one in (name, f"{name}{NO_SHIFTS}"))
        compared.append(Comparison(f"{budget} pulls", shifted.minus(still)))
    return [ClaimPart(f"PICS of {SR}: with shifts minus without", compared, "above")]


def _ips_suffers(found: Found, level: float) -> list[ClaimPart]:
    return [
        ClaimPart(
            f"{P1_IPS}: PICS with shifts minus without",
            difference_across_worlds(found["existing"], found["ips-stationary"], P1_IPS, HIGHER, level),
            "above",
        )
    ]


def _ips_mean(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for row in found["propensities"]:
        near = normal_interval(row["mean"], row["stderr"], level)
        compared = [Comparison(f"{row['budget']} pulls", near)]
        parts += between_thresholds(
            f"arm {row['arm'] + 1}: propensity-weighted mean minus average reward",
            compared,
            -CENTRED,
            CENTRED,
        )
    return parts


def _share(row: Mapping[str, Any], level: float) -> Measurement:
    ends = binomial(np.array([row["events"]]), row["runs"], level)
    return Measurement(row["events"] / row["runs"], *(float(end[0]) for end in ends))


def _ser3(found: Found, level: float) -> list[ClaimPart]:
    return [
        ClaimPart(
            f"{label} minus SER3",
            difference_to_ser3(found["existing"], label, found[SWEEP], "pics", level),
            "above",
        )
        for label in EXISTING
    ]


def _in_the_end(found: Found, level: float) -> list[ClaimPart]:
    study = found["existing"]
    compared = [Comparison(f"{t} pulls", measure(study, ROUND_ROBIN, t, "pics", level)) for t in (800, 1000)]
    return [ClaimPart(f"PICS of {ROUND_ROBIN}", compared, "below", 0.01)]


CLAIMS = (
    Claim(
        "elimination-suffers",
        "Under shifts, elimination by sample means can go wrong even if it samples uniformly.",
        "2.3",
        ("elimination",),
        _elimination_suffers,
        "SR, which pulls all arms that are not yet eliminated equally often, errs more often with shifts.",
    ),
    Claim(
        "ips-unbiased",
        "The propensity-weighted mean of an arm's rewards is an unbiased estimate of its average reward.",
        "2.2",
        ("propensities",),
        _ips_mean,
        f"Over runs of P1, its mean differs from the average reward by less than {CENTRED:g}, with shifts up "
        "to 20. This threshold is half the gap between two neighbouring arms.",
    ),
    Claim(
        "ips-still-biased",
        "Selecting by propensity-weighted means does not help: rewards of a favourable environment weigh "
        "too much.",
        "2.3",
        ("existing", "ips-stationary"),
        _ips_suffers,
        f"P1 with this selection errs more often with shifts than without, from {HIGHER[0]} pulls on.",
    ),
    Claim(
        "adaptive-slower",
        "With larger budgets, PICS of the adaptive policies falls much more slowly than that of round robin.",
        "2.3",
        ("existing",),
        _slower,
        f"UCB, LUCB, P1, EXP4.P and 0-1_1 err more often than round robin at every budget from {HIGHER[0]} "
        f"on. A larger share of their PICS at {HIGHER[0]} pulls remains at {HIGHER[-1]} pulls. "
        "The paper discusses PSS and SR separately; they have their own claims.",
    ),
    Claim(
        "robust-less-efficient",
        "Robust algorithms for adversarial or corrupted bandits can be less efficient than round robin.",
        "1, 2.2",
        ("existing",),
        _worse_than_round_robin(ROBUST),
        "P1, EXP4.P and PSS err more often than round robin at every budget from 300 on.",
    ),
    Claim(
        "sr-slightly-worse",
        "SR performs slightly worse than round robin.",
        "2.3",
        ("existing",),
        _sr,
        f"SR errs more often than round robin at every budget, but less than {SLIGHTLY} times as often.",
    ),
    Claim(
        "pss-clearly-worse",
        "PSS differs significantly from SR and round robin, although it samples in the same way.",
        "2.3",
        ("existing",),
        _pss,
        "PSS errs more often than SR and than round robin, at every budget.",
    ),
    Claim(
        "why-pss-is-worse",
        "PSS is worse because it eliminates half of the arms at once, "
        "and because it uses only the rewards of the last phase.",
        "2.3",
        ("elimination",),
        _why_pss,
        "One rule is changed at a time, in a separate simulation. Eliminating half of the arms loses the "
        "best "
        "arm in the first phase more often than eliminating one arm, and errs more often in the end. "
        "Eliminating half by means of the last phase errs more often than by means of all rewards.",
    ),
    Claim(
        "ser3-best-existing",
        "SER3 is the best of the existing policies.",
        "2.3",
        ("existing", SWEEP),
        _ser3,
        "At each of SER3's average numbers of pulls, every other policy errs more often, "
        "even with the next larger budget that was simulated. "
        "SER3 knows the gap between the two best arms, which the others do not.",
    ),
    Claim(
        "round-robin-gets-there",
        "Under such shifts, existing algorithms that sample all arms sufficiently identify the best arm "
        "with high probability in the long run.",
        "2.3",
        ("existing",),
        _in_the_end,
        "Round robin with raw means errs in less than 1 % of runs from 800 pulls on.",
    ),
)
