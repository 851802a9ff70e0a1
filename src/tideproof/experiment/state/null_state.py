"""Replacement for a policy state that only counts pending pulls, for replaying events quickly."""

from __future__ import annotations

from typing import Any

from tideproof.experiment.pull import Label


class NullState:
    """Replacement for a policy state that counts pending pulls and computes no statistics."""

    def __init__(self) -> None:
        self._pending_counts: dict[tuple[Label, int], int] = {}

    @property
    def environments(self) -> NullState:
        """The table of environments; this object stands for it, too."""
        return self

    def pending_count(self, label: Label, arm: int) -> int:
        """Return the number of pending pulls of an arm in an environment."""
        return self._pending_counts.get((label, arm), 0)

    def row(self, label: Label) -> Label:
        """Return the key of an environment, which is its label."""
        return label

    def expect(self, row: Label, arm: int) -> None:
        """Count one more pending pull."""
        self._pending_counts[row, arm] = self.pending_count(row, arm) + 1

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Count fewer pending pulls after rewards were recorded."""
        self._pending_counts[label, arm] = self.pending_count(label, arm) - settles

    def forget(self, label: Label, arm: int) -> None:
        """Count one pending pull less after a cancellation."""
        self.take(label, arm, 0, 0.0, 0.0, 1)

    def make_ready(self) -> None:
        """Do nothing: there is no design of pending pulls."""

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Do nothing: replacing a reward leaves the pending pulls as they are."""

    def set_params(self, params: Any) -> None:
        """Do nothing: no policy is asked."""

    def set_arms(self, arms: int, active: list[int], params: Any) -> None:
        """Do nothing: pulls of retired arms stay pending."""

    def finish(self) -> None:
        """Do nothing: an event needs no completion."""
