"""Replacement for a policy state while events are replayed: counts pending pulls, computes no statistics."""

from __future__ import annotations

from typing import Any

from tideproof.experiment.pull import Label


class PullCounter:
    """Counter of pending pulls that replaces the policy state during a replay and computes no statistics."""

    def __init__(self) -> None:
        self._pending_counts: dict[tuple[Label, int], int] = {}

    @property
    def environments(self) -> PullCounter:
        """The counter itself, which also replaces the table of environments during a replay."""
        return self

    def pending_count(self, label: Label, arm: int) -> int:
        """Return the number of pending pulls of an arm in an environment."""
        return self._pending_counts.get((label, arm), 0)

    def row(self, label: Label) -> Label:
        """Return the environment label itself, because this class needs no row numbers."""
        return label

    def expect(self, row: Label, arm: int) -> None:
        """Increase the number of pending pulls by one."""
        self._pending_counts[row, arm] = self.pending_count(row, arm) + 1

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Decrease the number of pending pulls after rewards were recorded."""
        self._pending_counts[label, arm] = self.pending_count(label, arm) - settles

    def forget(self, label: Label, arm: int) -> None:
        """Decrease the number of pending pulls by one after a cancellation."""
        self.take(label, arm, 0, 0.0, 0.0, 1)

    def exclude(self, label: Label, arm: int) -> None:
        """Do nothing after a pull was cancelled: which cells may be played again is stored elsewhere."""

    def make_ready(self) -> None:
        """Do nothing: there is no design matrix to update."""

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Do nothing: replacing a reward leaves the pending pulls as they are."""

    def set_params(self, params: Any) -> None:
        """Do nothing: this replacement for a policy state has no parameters."""

    def set_arms(self, arms: int, active: list[int], params: Any) -> None:
        """Do nothing after a change of the arms: pulls of retired arms stay pending."""

    def finish(self) -> None:
        """Do nothing: there are no statistics to update after an event."""
