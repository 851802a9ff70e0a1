"""Decide from simultaneous confidence intervals whether the claims of a reproduced paper hold.

A claim is a list of parts, and a part is a list of comparisons. All intervals of a claim hold together with
probability 99.9 % (Bonferroni: each of m has the confidence level 1 - 0.001/m), so that the probability of
a wrong statement about any comparison of a claim is at most 0.001. A comparison is for its part if its
whole interval lies on the wanted side of a threshold, against it if the whole interval lies on the other
side, and open otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tideproof.research.paper.measurement_intervals import Comparison

FAMILY = 0.999

Outcome = Literal["holds", "holds in part", "does not hold", "not decided"]
Check = Callable[[Mapping[str, Any], float], list["ClaimPart"]]


@dataclass(frozen=True)
class ClaimPart:
    """Testable part of a paper's claim: a measured quantity is always above (or below) a threshold.

    Attributes
    ----------
    what : description of the compared quantity.
    comparisons : the comparisons with their intervals.
    side, bar : the wanted side, and the threshold.
    some : whether one comparison on the wanted side is enough.
    universal : whether the part speaks of all cases, as a theorem does; one comparison against it refutes it.
    """

    what: str
    comparisons: list[Comparison]
    side: Literal["below", "above"]
    bar: float = 0.0
    some: bool = False
    universal: bool = False

    def says(self, one: Comparison) -> Literal["for", "against", "open"]:
        """Return whether a measurement is "for" or "against" a claim of a paper, or leaves it "open"."""
        low, high = one.measured.low, one.measured.high
        if self.side == "below":
            far, near = high < self.bar, low > self.bar
        else:
            far, near = low > self.bar, high < self.bar
        return "for" if far else "against" if near else "open"

    @property
    def counts(self) -> dict[str, int]:
        """Counts of the measurements that support a claim of a paper, contradict it, or leave it open."""
        words = [self.says(one) for one in self.comparisons]
        return {word: words.count(word) for word in ("for", "against", "open")}

    @property
    def outcome(self) -> Outcome:
        """Verdict on one part of a paper's claim, derived from all measurements for this part.

        It holds if no comparison is against and at least half are for, or with `some` if one is for. It is
        not decided if none is against and fewer than half are for. With comparisons on both sides, it holds
        in part; a universal part then does not hold.
        """
        for_, against, _ = self.counts.values()
        if self.some:
            return (
                "holds"
                if for_
                else "does not hold"
                if against == len(self.comparisons) > 0
                else "not decided"
            )
        if against:
            return "holds in part" if for_ and not self.universal else "does not hold"
        return "holds" if 2 * for_ >= len(self.comparisons) > 0 else "not decided"


def between_thresholds(what: str, compared: list[Comparison], low: float, high: float) -> list[ClaimPart]:
    """Split the claim that a quantity lies between two thresholds into two one-sided claims."""
    return [
        ClaimPart(f"{what} < {high:g}", compared, "below", high),
        ClaimPart(f"{what} > {low:g}", compared, "above", low),
    ]


@dataclass(frozen=True)
class Claim:
    """A sentence of a reproduced paper that simulations can check.

    Attributes
    ----------
    name : short name of the claim.
    says : the sentence, shortened.
    section : the section of the paper.
    needs : the panels and side studies that the check uses.
    check : function that returns the parts, given those results and the confidence level of each interval.
    how : how the words of the paper are interpreted.
    ours : whether the claim is a question of tideproof's authors rather than a sentence of the paper.
    """

    name: str
    says: str
    section: str
    needs: tuple[str, ...]
    check: Check
    how: str
    ours: bool = False

    @property
    def place(self) -> str:
        """Place of a claim in the reproduced paper, in words such as "section 3.1"."""
        where = f"section {self.section}" if self.section[0].isdigit() else self.section
        return f"our question on {where}" if self.ours else where


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim of a reproduced paper with the results of checking it.

    `level` is the confidence level of each interval.
    """

    claim: Claim
    parts: list[ClaimPart]
    level: float

    @property
    def verdict(self) -> Outcome:
        """Verdict on a claim of a reproduced paper, derived from the verdicts on its parts.

        It holds if all parts hold. It does not hold if no part holds, not even in part, and one fails. It is
        not decided if all parts are open, and it holds in part otherwise.
        """
        outcomes = [part.outcome for part in self.parts]
        for same in ("holds", "not decided"):
            if all(outcome == same for outcome in outcomes):
                return same
        if any(outcome in ("holds", "holds in part") for outcome in outcomes):
            return "holds in part"
        return "does not hold"


def judge(claim: Claim, found: Mapping[str, Any]) -> ClaimVerdict:
    """Decide whether a claim of a reproduced paper holds, by simultaneous confidence intervals.

    All intervals of the claim hold together at the confidence level FAMILY.
    """
    comparisons = sum(len(part.comparisons) for part in claim.check(found, 0.5))
    level = 1.0 - (1.0 - FAMILY) / max(comparisons, 1)
    return ClaimVerdict(claim, claim.check(found, level), level)
