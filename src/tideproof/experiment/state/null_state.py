"""Numbers that nobody adds up."""

from __future__ import annotations

from typing import Any

from tideproof.experiment.pull import Label


class Silent:
    """Numbers that nobody adds up: for who wants to know who was asked what."""

    def __init__(self) -> None:
        self._out: dict[tuple[Label, int], int] = {}

    @property
    def places(self) -> Silent:
        """Environments, of which only the pulls that are out are counted."""
        return self

    def out(self, label: Label, arm: int) -> int:
        """Return how many pulls of an arm are out in an environment."""
        return self._out.get((label, arm), 0)

    def row(self, label: Label) -> Label:
        """Return what stands for an environment."""
        return label

    def expect(self, row: Label, arm: int) -> None:
        """Note a pull that is out."""
        self._out[row, arm] = self.out(row, arm) + 1

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Note that pulls are not out any more."""
        self._out[label, arm] = self.out(label, arm) - settles

    def forget(self, label: Label, arm: int) -> None:
        """Note that a pull is not out any more."""
        self.take(label, arm, 0, 0.0, 0.0, 1)

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None
