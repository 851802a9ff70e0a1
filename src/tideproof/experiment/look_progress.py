"""How far the planned looks of an experiment are: those that were made, and when the next one is due."""

from __future__ import annotations

from typing import NamedTuple

from tideproof.text import format_count


class LookProgress(NamedTuple):
    """Planned looks of an experiment: which were made, what they spent, and when the next one is due.

    Attributes
    ----------
    planned : planned number of looks.
    spending : name of the spending function.
    made : the looks that were made, in their order.
    spent : error probability that they have spent.
    is_current : whether no reward has been recorded since the last look, so that its results still hold.
    next : the next look; None after the last one.
    due : number of rewards at which the next look is due; None without a budget.
    """

    planned: int
    spending: str
    made: tuple[float, ...]
    spent: float
    is_current: bool
    next: float | None
    due: int | None

    @property
    def text(self) -> str:
        """The progress as text.

        >>> LookProgress(14, "pocock", (1.0, 2.0), 0.01, False, 3.0, 600).text
        'look 2 of 14 was made, and look 3 is due at 600 rewards'
        """
        before = f"look {self.made[-1]:g} of {self.planned} was made" if self.made else ""
        if self.next is None:
            return f"{before}, the last one"
        due = f"is due at {format_count(self.due, 'reward')}" if self.due is not None else "is next"
        if not before:
            return f"look {self.next:g} of {self.planned} {due}"
        return f"{before}, and look {self.next:g} {due}"
