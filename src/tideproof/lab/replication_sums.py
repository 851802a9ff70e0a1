"""Sums over replications: all that comes back of a simulation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.kernels.simulate.replication_loop import ARMS, SAMPLES, SQUARES, STOPPED, UNIDENTIFIED


class ReplicationSums(NamedTuple):
    """Sums over replications, for P policies, B budgets, K arms and P(P-1)/2 pairs of policies.

    Attributes
    ----------
    chosen : (P, B, K) how often each arm was selected.
    unidentified : (P, B) how often the selection did not rest on comparable arms.
    pulls : (P, B, K) pulls of each arm.
    samples, squares : (P, B) pulls in all, and their squares.
    stopped : (P, B) how often the policy had stopped by itself.
    stops : (P, B, K) how often it had, with each arm selected.
    both : (pairs, B) how often both policies of a pair were wrong.
    cost_gap_squares : (pairs, B) squared difference of what the two selections of a pair cost.
    selected : (P, budgets kept, R) the arm that each replication selected: no sum, but all of them.
    """

    chosen: Ints
    unidentified: Ints
    pulls: Ints
    samples: Ints
    squares: Ints
    stopped: Ints
    stops: Ints
    both: Ints
    cost_gap_squares: Floats
    selected: NDArray[np.int16] = np.zeros((0, 0, 0), np.int16)

    @classmethod
    def of_counts(
        cls, counts: Ints, both: Ints, cost_gap_squares: Floats, selected: NDArray[np.int16]
    ) -> ReplicationSums:
        """Name the columns of (P, B, columns) counts, and add what is known of pairs."""
        chosen, pulls, stops = np.split(counts[..., ARMS:], 3, axis=-1)
        return cls(
            chosen=chosen,
            unidentified=counts[..., UNIDENTIFIED],
            pulls=pulls,
            samples=counts[..., SAMPLES],
            squares=counts[..., SQUARES],
            stopped=counts[..., STOPPED],
            stops=stops,
            both=both,
            cost_gap_squares=cost_gap_squares,
            selected=selected,
        )

    @classmethod
    def shapes(cls, policies: int, budgets: int, arms: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each of the sums, of which the last field is none."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(cls._fields[:-1], (policies, budgets))
        shapes["chosen"] = shapes["pulls"] = shapes["stops"] = policies, budgets, arms
        shapes["both"] = shapes["cost_gap_squares"] = policies * (policies - 1) // 2, budgets
        return shapes

    def sums(self) -> dict[str, Any]:
        """Return the sums by name."""
        return {name: value for name, value in self._asdict().items() if name != "selected"}

    def plus(self, other: ReplicationSums) -> ReplicationSums:
        """Return the sums over both sets of replications; the selections stay these."""
        theirs = other.sums()
        return self._replace(**{name: mine + theirs[name] for name, mine in self.sums().items()})
