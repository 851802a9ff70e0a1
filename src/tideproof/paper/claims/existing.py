"""Section 2.3, figure 2: what shifts do to existing policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tideproof.paper.measured import Comparison, level_of_each, measure, minus_ser3, paired_difference
from tideproof.paper.panels import EXISTING, PSS, ROUND_ROBIN, SR, ser3
from tideproof.paper.verdicts import Check, Claim, Part

ADAPTIVE = tuple(label for label in EXISTING if label != ROUND_ROBIN)
ROBUST = ("P1, mean", "P1, IPS", "EXP4.P, mean", "EXP4.P, IPS", PSS)
HIGHER = (300, 400, 600, 800, 1000)
SLIGHTLY = 1.25  # times as many errors
SWEEP = ser3("mdm-5-general")

Found = Mapping[str, Any]


def _worse_than_round_robin(labels: tuple[str, ...]) -> Check:
    def check(found: Found, level: float) -> list[Part]:
        study = found["existing"]
        return [
            Part(
                f"{label} minus {ROUND_ROBIN}",
                paired_difference(study, label, ROUND_ROBIN, HIGHER, "pics", level),
                "above",
            )
            for label in labels
        ]

    return check


def _times(found: Found, a: str, b: str, level: float) -> list[Comparison]:
    """Return how many times as often `a` errs as `b`."""
    study, each = found["existing"], level_of_each(level, 2)
    return [
        Comparison(f"{t} pulls", measure(study, a, t, "pics", each).over(measure(study, b, t, "pics", each)))
        for t in study.budgets
    ]


def _sr(found: Found, level: float) -> list[Part]:
    study = found["existing"]
    worse = paired_difference(study, SR, ROUND_ROBIN, study.budgets, "pics", level)
    return [
        Part(f"{SR} minus {ROUND_ROBIN}", worse, "above"),
        Part(
            f"{SR} errs less than {SLIGHTLY} times as often",
            _times(found, SR, ROUND_ROBIN, level),
            "below",
            SLIGHTLY,
        ),
    ]


def _pss(found: Found, level: float) -> list[Part]:
    study = found["existing"]
    return [
        Part(f"{PSS} minus {SR}", paired_difference(study, PSS, SR, study.budgets, "pics", level), "above"),
        Part(
            f"{PSS} errs more than {SLIGHTLY} times as often as {ROUND_ROBIN}",
            _times(found, PSS, ROUND_ROBIN, level),
            "above",
            SLIGHTLY,
        ),
    ]


def _ser3(found: Found, level: float) -> list[Part]:
    return [
        Part(
            f"{label} minus SER3",
            minus_ser3(found["existing"], label, found[SWEEP], "pics", level),
            "above",
        )
        for label in EXISTING
    ]


def _in_the_end(found: Found, level: float) -> list[Part]:
    study = found["existing"]
    compared = [Comparison(f"{t} pulls", measure(study, ROUND_ROBIN, t, "pics", level)) for t in (800, 1000)]
    return [Part(f"PICS of {ROUND_ROBIN}", compared, "below", 0.01)]


CLAIMS = (
    Claim(
        "adaptive-slower",
        "The PICS of the existing adaptive policies decreases significantly slower "
        "than that of round robin when the budget is higher.",
        "2.3",
        ("existing",),
        _worse_than_round_robin(ADAPTIVE),
        "Each errs more often than round robin at every budget from 300 on.",
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
        f"It errs more often at every budget, but less than {SLIGHTLY} times as often.",
    ),
    Claim(
        "pss-clearly-worse",
        "PSS differs significantly from them although it samples in the same way.",
        "2.3",
        ("existing",),
        _pss,
        f"It errs more often than SR, and more than {SLIGHTLY} times as often as round robin, "
        "at every budget.",
    ),
    Claim(
        "ser3-best-existing",
        "SER3 is the best of the existing policies.",
        "2.3",
        ("existing", SWEEP),
        _ser3,
        "At each average of its samples every other policy errs more often, "
        "even if given the next larger budget of the grid. "
        "SER3 is told the gap of the two best arms, which the others are not.",
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
