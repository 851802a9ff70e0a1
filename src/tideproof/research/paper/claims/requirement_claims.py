"""Claims of a reproduced paper about the pulls that least squares needs, and about its policy LinLUCB.

The former are in section 3.2, the latter in section 4 and appendix A.
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
            "with a penalty: bias of arm 1 minus arm 4, the third shift being 20 sigma",
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
    """Return a function that checks if an event never happens in runs of the policy LinLUCB.

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
            ClaimPart(f"share of runs, {where}", compared, "below", NEVER)
            for where, compared in parts.items()
        ]

    return check


def _any_budget(found: Found, level: float) -> list[ClaimPart]:
    compared = [
        Comparison(panels()[row["panel"]].title, exact_measurement(row["value"]))
        for row in rows_of(found["adaptive"], quantity=OTHER_PULLS)
    ]
    return [ClaimPart("share of runs with other pulls, of those looked at", compared, "below", NEVER)]


_NEVER = f"It fails in less than {NEVER:.2%} of runs: in the initialisation, across its end, and after it."

CLAIMS = (
    Claim(
        "disconnected-arms",
        "Arms seen as {1, 2}, {1, 2, 3} and {4, 5} fall into two parts that cannot be compared, "
        "and regularisation does not help.",
        "3.2",
        ("identities",),
        _apart,
        "The graph of the arms has two groups, X'X lacks a rank, and with a penalty the difference of arms 1 "
        f"and 4 is wrong by more than {BIASED:g} sigma however many pulls there are.",
    ),
    Claim(
        "chained-arms",
        "Played as 1 2, then 2 3 5, then 5 4, all arms can be compared.",
        "3.2",
        ("identities",),
        _chained,
        "The graph of the arms is connected and X'X has full rank.",
    ),
    Claim(
        "unaware-policies",
        "A policy that does not know of environments cannot, in general, be combined with regression.",
        "3.2",
        ("identities",),
        _unaware,
        "Ten arms in turn, two in each environment, are never connected: an example is enough for this.",
    ),
    Claim(
        "one-arm-environment",
        "An environment in which one arm only is played changes no estimate.",
        "2.1, 3.2",
        ("identities",),
        identities_hold("one-arm environment, means", "one-arm environment, shifts"),
        "Means and earlier shifts stay as they were, on ten designs drawn at random. "
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
        "With LUCB every environment sees two arms at least.",
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
