"""How a claim is judged: from intervals, never by eye.

A claim is a list of parts, a part a list of comparisons. All intervals of a claim hold together with
probability 99.9 % (Bonferroni: each of m has level 1 - 0.001/m), so a wrong word on any of its
comparisons has a chance of at most 0.001. A comparison speaks for its part if its whole interval lies on
the wanted side, against it if the whole interval lies on the other side, and is open otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tideproof.research.paper.measurements import Comparison

FAMILY = 0.999

Outcome = Literal["holds", "holds in part", "does not hold", "not decided"]
Check = Callable[[Mapping[str, Any], float], list["ClaimPart"]]


@dataclass(frozen=True)
class ClaimPart:
    """Comparisons that should all come out on one side of `bar`.

    Attributes
    ----------
    some : at least one of them is enough.
    universal : the part says "for all", as a theorem does; one comparison against it refutes it.
    """

    what: str
    comparisons: list[Comparison]
    side: Literal["below", "above"]
    bar: float = 0.0
    some: bool = False
    universal: bool = False

    def says(self, one: Comparison) -> Literal["for", "against", "open"]:
        """Return what one comparison says."""
        low, high = one.measured.low, one.measured.high
        if self.side == "below":
            far, near = high < self.bar, low > self.bar
        else:
            far, near = low > self.bar, high < self.bar
        return "for" if far else "against" if near else "open"

    @property
    def counts(self) -> dict[str, int]:
        """How many comparisons speak for it, against it, and are open."""
        words = [self.says(one) for one in self.comparisons]
        return {word: words.count(word) for word in ("for", "against", "open")}

    @property
    def outcome(self) -> Outcome:
        """What the comparisons say together.

        It holds if none is against and at least half are for; with `some`, if one is for. It is open if
        none is against and fewer are for. With both it holds in part; a universal one does not hold then.
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


def between_bars(what: str, compared: list[Comparison], low: float, high: float) -> list[ClaimPart]:
    """Return the two parts that say together that all comparisons lie between two bars."""
    return [
        ClaimPart(f"{what} < {high:g}", compared, "below", high),
        ClaimPart(f"{what} > {low:g}", compared, "above", low),
    ]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can be checked.

    Attributes
    ----------
    name : what it is called here.
    says : the sentence, in short.
    section : where the paper says it.
    needs : the panels and side studies it is checked on.
    check : returns the parts, given those and the level of each interval.
    how : what the words were taken to mean.
    ours : whether it is a question of ours that the paper does not speak of.
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
        """Where the paper says it, in words."""
        where = f"section {self.section}" if self.section[0].isdigit() else self.section
        return f"ours, on {where}" if self.ours else where


@dataclass(frozen=True)
class Judged:
    """A claim with its parts; `level` is that of each interval."""

    claim: Claim
    parts: list[ClaimPart]
    level: float

    @property
    def verdict(self) -> Outcome:
        """What the parts say together.

        It holds if all parts hold. It does not if none does, not even in part, and one fails. It is not
        decided if all parts are open, and holds in part otherwise.
        """
        outcomes = [part.outcome for part in self.parts]
        for same in ("holds", "not decided"):
            if all(outcome == same for outcome in outcomes):
                return same
        if any(outcome in ("holds", "holds in part") for outcome in outcomes):
            return "holds in part"
        return "does not hold"


def judge(claim: Claim, found: Mapping[str, Any]) -> Judged:
    """Check a claim on what was found, all of its intervals together at the level FAMILY."""
    comparisons = sum(len(part.comparisons) for part in claim.check(found, 0.5))
    level = 1.0 - (1.0 - FAMILY) / max(comparisons, 1)
    return Judged(claim, claim.check(found, level), level)
