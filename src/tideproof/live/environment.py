"""What was told in one environment."""

from __future__ import annotations

from tideproof.core.arrays import Memory, allocate
from tideproof.kernels.moments import Moments
from tideproof.kernels.slot import Slot


class Environment:
    """One label: its slot for the kernels and its cells for fits, both of told rewards only."""

    def __init__(self, arms: int) -> None:
        self.slot: Memory[Slot] = allocate(Slot, arms)
        self.cells: Memory[Moments] = allocate(Moments, arms)
