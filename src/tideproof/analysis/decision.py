"""Decision about the best arm of a log, made once for verdicts, reports, JSON and exit codes.

The arm that a live experiment selects is chosen by its policy, in `policies.selection_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Standing = Literal["winner", "open", "not_comparable"]
Doubt = Literal["no freedom", "exact", "too few events", "several candidates", "groups"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Conclusion of a fit about its best arm.

    Attributes
    ----------
    best, runner_up : the arms with the best two adjusted means; None if arms cannot be compared.
    candidates : the arms that the data do not exclude as the best, ordered by adjusted mean, the best first.
        Empty if arms cannot be compared.
    doubt : the reason why no winner can be named, or None if one can. "no freedom": no degrees of freedom are
        left to estimate the noise. "exact": arms and environments explain all rewards, so that the noise
        cannot be estimated. "too few events": confidence intervals are not reliable. "several candidates":
        the data do not separate the best arms. "groups": no chain of shared environments connects all arms.
    """

    best: Any
    runner_up: Any
    candidates: tuple[Any, ...]
    doubt: Doubt | None

    @property
    def standing(self) -> Standing:
        """State of the comparison: "winner", "open" (several candidates) or "not_comparable"."""
        if self.doubt is None:
            return "winner"
        return "not_comparable" if self.doubt == "groups" else "open"


NOT_COMPARABLE = Decision(None, None, (), "groups")


def decide(
    ranked: Sequence[Any], candidates: Sequence[Any], freedom: int, exact: bool, few: bool = False
) -> Decision:
    """Decide between arms that can be compared; `ranked` lists them by adjusted mean, the best first.

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
