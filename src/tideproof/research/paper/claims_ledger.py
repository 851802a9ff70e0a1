"""Verdicts on the claims of a reproduced paper, as a table of measured values and as a Markdown page."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, get_args

from tideproof.research.paper.claim_verdicts import FAMILY, ClaimPart, ClaimVerdict, Outcome
from tideproof.research.paper.measurement_intervals import Measurement
from tideproof.table import Table
from tideproof.text import format_count

RULES_INTRODUCTION = (
    f"All intervals of a claim hold simultaneously at the confidence level {100 * FAMILY:g} % (Bonferroni). "
    "Differences are paired by run if both numbers come from one study, or if the selections of all runs are "
    "stored. Other intervals are valid for any dependence between the two numbers."
)
RULES_HEADER = ("what is judged", "verdict", "rule")
RULES = (
    ("comparison", "for", "the whole interval is on the side that the paper says"),
    ("comparison", "against", "the whole interval is on the other side"),
    ("comparison", "open", "otherwise"),
    ("part", "holds", "no comparison is against, and at least half are for"),
    ("part", "does not hold", "some comparisons are against, and none is for"),
    ("part", "holds in part", "some comparisons are for, and some against"),
    ("part", "not decided", "otherwise (at this number of replications)"),
    ("part that one comparison can establish", "holds", "at least one comparison is for"),
    ("part that one comparison can establish", "does not hold", "all comparisons are against"),
    ("part that one comparison can establish", "not decided", "otherwise"),
    ("part about all designs, such as a theorem", "does not hold", "at least one comparison is against"),
    ("part about all designs, such as a theorem", "other verdicts", "as for any other part"),
    ("claim", "holds", "all parts hold"),
    ("claim", "not decided", "all parts are not decided"),
    ("claim", "holds in part", "some parts hold, or hold in part, but not all parts hold"),
    ("claim", "does not hold", "otherwise: no part holds, not even in part, and at least one does not hold"),
)


def claim_table(judged: list[ClaimVerdict]) -> Table:
    """Return the verdicts on a paper's claims as a table with one row for each measurement."""
    rows = [
        {
            "claim": each.claim.name,
            "verdict": each.verdict,
            "part": part.what,
            "outcome": part.outcome,
            "wanted": f"{_how_many(part)}{part.side} {part.bar:g}",
            "where": one.where,
            **one.measured._asdict(),
            "says": part.says(one),
        }
        for each in judged
        for part in each.parts
        for one in part.comparisons
    ]
    names = ("claim", "verdict", "part", "outcome", "wanted", "where", "estimate", "low", "high", "says")
    return Table({name: [row[name] for row in rows] for name in names})


def summary(judged: list[ClaimVerdict]) -> str:
    """Return a sentence that says how many claims of a reproduced paper received each verdict."""
    if not judged:
        return "no claim can be checked with these figures alone: reproduce all figures to check the claims"
    theirs = [each for each in judged if not each.claim.ours]
    found = Counter(each.verdict for each in theirs)
    said = [f"{found[word]} {_plural(word, found[word])}" for word in get_args(Outcome) if found[word]]
    ours = len(judged) - len(theirs)
    beside = f"; in addition, {format_count(ours, 'question')} that the paper does not ask" if ours else ""
    return f"{format_count(len(theirs), 'claim')}: {', '.join(said)}{beside}"


def _plural(word: str, count: int) -> str:
    if count == 1:
        return word
    return {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}.get(word, word)


def markdown(judged: list[ClaimVerdict], facts: dict[str, Any]) -> str:
    """Return the verdicts on all claims of a reproduced paper as a Markdown page.

    `facts` are the replications, the seed and the versions of the simulations.
    """
    made = ", ".join(f"{name} {value}" for name, value in facts.items())
    times = f", {facts['replications']} replications" if "replications" in facts else ""
    lines = [f"# Ledger of claims{times}", "", f"{summary(judged)}.", "", f"Made with {made}.", ""]
    lines += [RULES_INTRODUCTION, ""]
    lines += [f"| {' | '.join(RULES_HEADER)} |", "|---|---|---|"]
    lines += [*(f"| {' | '.join(rule)} |" for rule in RULES), ""]
    lines += ["| claim | verdict | the paper says (section) |", "|---|---|---|"]
    lines += [
        f"| [{each.claim.name}](#{each.claim.name}) | {each.verdict} | {each.claim.says} "
        f"({each.claim.place}) |"
        for each in judged
    ]
    for each in judged:
        lines += [
            "",
            f"## {each.claim.name}",
            "",
            f"> {each.claim.says}",
            "",
            f"**{each.verdict}.** Criterion: {each.claim.how}",
            "",
        ]
        lines += [
            "| part | outcome | for, against, open | least favourable comparison "
            "| comparisons against the claim |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {_cell(part.what)}{_of_how_many(part)} | {part.outcome} | {_counts(part)} "
            f"| {least_favourable(part)} | {where_against(part)} |"
            for part in each.parts
        ]
    return "\n".join(lines) + "\n"


def least_favourable(part: ClaimPart) -> str:
    """Return a text with the measurement that supports a claim of a reproduced paper least."""
    if not part.comparisons:
        return "none"
    if part.side == "below":
        one = max(part.comparisons, key=lambda one: one.measured.high)
    else:
        one = min(part.comparisons, key=lambda one: one.measured.low)
    return f"{one.where}: {with_interval(one.measured)}"


def where_against(part: ClaimPart) -> str:
    """Return a text that lists the measurements that contradict a claim of a reproduced paper."""
    return ", ".join(one.where for one in part.comparisons if part.says(one) == "against")


def with_interval(measured: Measurement) -> str:
    """Format a number with its confidence interval.

    >>> with_interval(Measurement(-0.01234567, -0.02, 0.001))
    '-0.0123 (-0.02 to 0.001)'
    >>> with_interval(Measurement(math.nan, 0.0, math.inf))
    'too few errors'
    """
    if math.isnan(measured.estimate):  # a ratio with too few errors
        return "too few errors"
    estimate, low, high = (f"{x:.3g}" for x in measured)
    return estimate if low == high else f"{estimate} ({low} to {high})"


def _of_how_many(part: ClaimPart) -> str:
    return " (one is enough)" if part.some else " (of all)" if part.universal else ""


def _how_many(part: ClaimPart) -> str:
    return "at least one " if part.some else "all " if part.universal else ""


def _counts(part: ClaimPart) -> str:
    return ", ".join(str(count) for count in part.counts.values())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
