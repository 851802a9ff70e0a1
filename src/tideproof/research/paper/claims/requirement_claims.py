"""Claims of a reproduced paper about the pulls that are needed to compare all arms by least squares.

They are in section 3.2. Other claims are about the pulls of its policy LinLUCB, in section 4 and appendix A.
"""

from __future__ import annotations

import numpy as np

from tideproof.lab.share_intervals import binomial
from tideproof.research.paper.claim_verdicts import Check, Claim, ClaimPart
from tideproof.research.paper.claims.estimator_claims import identities_hold
from tideproof.research.paper.claims.table_lookup import Found, exact_measurement, identity_errors, rows_of
from tideproof.research.paper.linlucb_runs import OTHER_PULLS, SAME_ARM_TWICE, SINGLE_ARM
from tideproof.research.paper.measurement_intervals import Comparison, Measurement
from tideproof.research.paper.panels import REDUCTION, panels

NEVER = 0.0025  # largest share of runs that counts as never
BIASED = 1.0  # in units of sigma


def _where(found: Found, quantity: str, words: str) -> list[Comparison]:
    return [one for one in identity_errors(found, quantity) if one.where.startswith(words)]


def _apart(found: Found, level: float) -> list[ClaimPart]:
    example = "{1, 2}"
    return [
        ClaimPart("groups of arms", _where(found, "groups of arms", example), "above", 1.5),
        ClaimPart("rank missing in X'X", _where(found, "rank missing in X'X", example), "above", 0.5),
        ClaimPart(
            "with a ridge penalty: bias of arm 1 minus arm 4 if the third shift is 20 sigma",
            _where(found, "ridge: bias of arm 1 minus arm 4", example),
            "above",
            BIASED,
        ),
    ]


def _chained(found: Found, level: float) -> list[ClaimPart]:
    example = "1 2"
    return [
        ClaimPart("groups of arms", _where(found, "groups of arms", example), "below", 1.5),
        ClaimPart("rank missing in X'X", _where(found, "rank missing in X'X", example), "below", 0.5),
    ]


def _unaware(found: Found, level: float) -> list[ClaimPart]:
    return [ClaimPart("groups of arms", _where(found, "groups of arms", "ten arms"), "above", 1.5)]


def _share(quantity: str) -> Check:
    """Return a function that computes the share of runs of the policy LinLUCB in which an event happens.

    The event is named `quantity`. Every world and every phase of a run is checked.
    """

    def check(found: Found, level: float) -> list[ClaimPart]:
        parts: dict[str, list[Comparison]] = {}
        for name in REDUCTION:
            for row in rows_of(found["adaptive"], panel=name, quantity=quantity):
                ends = binomial(np.array([round(row["value"] * row["runs"])]), row["runs"], level)
                measured = Measurement(row["value"], float(ends.low[0]), float(ends.high[0]))
                parts.setdefault(row["where"], []).append(Comparison(panels()[name].title, measured))
        return [
            ClaimPart(f"share of runs in which it fails {where}", compared, "below", NEVER)
            for where, compared in parts.items()
        ]

    return check


def _any_budget(found: Found, level: float) -> list[ClaimPart]:
    compared = [
        Comparison(panels()[row["panel"]].title, exact_measurement(row["value"]))
        for row in rows_of(found["adaptive"], quantity=OTHER_PULLS)
    ]
    return [ClaimPart("share of examined runs in which the pulls differ", compared, "below", NEVER)]


_NEVER = (
    f"The share of runs in which this fails is below {NEVER:.2%} in each of three phases: "
    "during the initialisation, across its end, and after it."
)

CLAIMS = (
    Claim(
        "disconnected-arms",
        "If three environments contain the arms {1, 2}, {1, 2, 3} and {4, 5}, there are two groups of arms "
        "that cannot be compared with each other, and regularisation does not help.",
        "3.2",
        ("identities",),
        _apart,
        "The graph of the arms has two groups, and X'X does not have full rank. With a ridge penalty, the "
        f"estimated difference of arms 1 and 4 is wrong by more than {BIASED:g} sigma for any number of "
        "pulls.",
    ),
    Claim(
        "chained-arms",
        "If three environments contain the arms 1 2, then 2 3 5, then 5 4, all arms can be compared.",
        "3.2",
        ("identities",),
        _chained,
        "The graph of the arms is connected and X'X has full rank.",
    ),
    Claim(
        "unaware-policies",
        "A policy that ignores environments cannot, in general, be combined with regression.",
        "3.2",
        ("identities",),
        _unaware,
        "Counterexample: ten arms that are pulled in turn, two in each environment, are never connected.",
    ),
    Claim(
        "one-arm-environment",
        "An environment in which only one arm is pulled changes no estimate.",
        "2.1, 3.2",
        ("identities",),
        identities_hold("one-arm environment, means", "one-arm environment, shifts"),
        "Estimated means and earlier shifts do not change, on ten random designs. "
        "The estimate of the noise does change.",
    ),
    Claim(
        "first-two-distinct",
        "LinLUCB guarantees that the first two pulls of a new environment are distinct.",
        "4, appendix A",
        ("adaptive",),
        _share(SAME_ARM_TWICE),
        _NEVER,
    ),
    Claim(
        "two-arms-in-every-environment",
        "With LUCB, every environment contains at least two arms.",
        "4",
        ("adaptive",),
        _share(SINGLE_ARM),
        _NEVER,
    ),
    Claim(
        "adaptive-budget",
        "LinLUCB allows for a budget that is not known beforehand.",
        "4",
        ("adaptive",),
        _any_budget,
        "The first 100 pulls are the same whether the budget is 100 or 200.",
    ),
)
