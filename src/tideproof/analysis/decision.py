"""Who wins in a log, decided once: sentences, reports, JSON and exit codes all read it here.

Which arm a run selects is the choice of its policy: `policies.selections`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Standing = Literal["winner", "open", "not_comparable"]
Doubt = Literal["no freedom", "exact", "too few events", "several candidates", "groups"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a fit says of its best arm.

    Attributes
    ----------
    best, runner_up : the arms with the best two adjusted means; None if arms cannot be compared.
    candidates : the arms that may be the best, the best first; empty if arms cannot be compared.
    doubt : why no winner can be named, None if one can: "no freedom" (no degree of freedom is left to say
        how sure anything is), "exact" (no noise is left to say it), "too few events" (so few that nothing
        holds what it promises), "several candidates", or "groups" (no chain of shared environments connects
        all arms).
    """

    best: Any
    runner_up: Any
    candidates: tuple[Any, ...]
    doubt: Doubt | None

    @property
    def standing(self) -> Standing:
        """Where the race stands: "winner", "open" (several arms may be the best), "not_comparable"."""
        if self.doubt is None:
            return "winner"
        return "not_comparable" if self.doubt == "groups" else "open"


NOT_COMPARABLE = Decision(None, None, (), "groups")


def decide(
    ranked: Sequence[Any], candidates: Sequence[Any], freedom: int, exact: bool, few: bool = False
) -> Decision:
    """Decide between arms that can be compared, `ranked` the best first.

    >>> decide("BAC", "B", freedom=9, exact=False).standing
    'winner'
    >>> decide("BAC", "BA", freedom=9, exact=False).doubt
    'several candidates'
    """
    best, runner_up = ranked[:2]
    doubt: Doubt | None = None
    if not freedom:
        doubt = "no freedom"
    elif exact:
        doubt = "exact"
    elif any(arm != best for arm in candidates):
        doubt = "too few events" if few else "several candidates"
    return Decision(best, runner_up, tuple(candidates), doubt)
