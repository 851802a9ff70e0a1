"""Sums over replications: all that comes back of a simulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.kernels.replicate import ARMS, SAMPLES, SQUARES, STOPPED, UNIDENTIFIED


class Tally(NamedTuple):
    """Sums over replications, for P policies, B budgets, K arms and P(P-1)/2 pairs of policies.

    Attributes
    ----------
    chosen : (P, B, K) how often each arm was selected.
    unidentified : (P, B) how often the selection did not rest on comparable arms.
    pulls : (P, B, K) pulls of each arm.
    samples, squares : (P, B) pulls in all, and their squares.
    stopped : (P, B) how often the policy had stopped by itself.
    both : (pairs, B) how often both policies of a pair were wrong.
    cost_gap_squares : (pairs, B) squared difference of what the two selections of a pair cost.
    """

    chosen: Ints
    unidentified: Ints
    pulls: Ints
    samples: Ints
    squares: Ints
    stopped: Ints
    both: Ints
    cost_gap_squares: Floats

    @classmethod
    def of_counts(cls, counts: Ints, both: Ints, cost_gap_squares: Floats) -> Tally:
        """Name the columns of (P, B, columns) counts, and add what is known of pairs."""
        chosen, pulls = np.split(counts[..., ARMS:], 2, axis=-1)
        return cls(
            chosen=chosen,
            unidentified=counts[..., UNIDENTIFIED],
            pulls=pulls,
            samples=counts[..., SAMPLES],
            squares=counts[..., SQUARES],
            stopped=counts[..., STOPPED],
            both=both,
            cost_gap_squares=cost_gap_squares,
        )

    def plus(self, other: Tally) -> Tally:
        """Return the sums over both sets of replications."""
        return Tally._make(mine + theirs for mine, theirs in zip(self, other, strict=True))
