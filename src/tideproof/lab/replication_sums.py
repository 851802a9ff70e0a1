"""Sums over simulated runs, such as how often each arm was selected; all results are computed from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.simulate.replication_loop import ARMS, SAMPLES, SQUARES, STOPPED, UNIDENTIFIED


class ReplicationSums(NamedTuple):
    """Sums of simulation results over replications, for each policy, budget, arm and pair of policies.

    There are P policies, B budgets, K arms, P(P-1)/2 pairs of policies and R replications.

    Attributes
    ----------
    chosen : (P, B, K) how many replications selected each arm.
    unidentified : (P, B) how many selections compared arms that no environments connected.
    pulls : (P, B, K) total pulls of each arm.
    samples, squares : (P, B) sums of the pulls per replication and of their squares.
    stopped : (P, B) how many replications the policy had stopped by itself.
    stops : (P, B, K) how many of those selected each arm.
    both : (pairs, B) how many replications both policies of a pair ended with a wrong selection.
    cost_gap_squares : (pairs, B) sum of the squared differences between the opportunity costs of a pair.
    selected : (P, kept budgets, R) the arm that each replication selected; not a sum.
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
        """Return sums of simulation results, from counts by policy and comparisons of pairs of policies."""
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
        """Return the array shape of each sum over replications, by the name of the sum.

        The field `selected` is left out, because it is not a sum.
        """
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(cls._fields[:-1], (policies, budgets))
        shapes["chosen"] = shapes["pulls"] = shapes["stops"] = policies, budgets, arms
        shapes["both"] = shapes["cost_gap_squares"] = policies * (policies - 1) // 2, budgets
        return shapes

    def sums(self) -> dict[str, Any]:
        """Return the sums of simulation results by name: all fields except `selected`, which is not a sum."""
        return {name: value for name, value in self._asdict().items() if name != "selected"}

    def plus(self, other: ReplicationSums) -> ReplicationSums:
        """Add up the results of two sets of replications; the selected arms remain those of the first set."""
        theirs = other.sums()
        return self._replace(**{name: mine + theirs[name] for name, mine in self.sums().items()})
