"""Checkpoints of an experiment at which its e-process (an anytime-valid test) may start.

The formulas are in `kernels/fit/e_process.py`. Checkpoints are part of the state. They are taken at the end
of an event from the cells alone, so that a replay gives identical bits, and reading an experiment changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints, Memory, allocate
from tideproof.experiment.state.running_laplacian import RunningLaplacian
from tideproof.kernels.choose.leader_lead import MINIMUM_FREEDOM
from tideproof.kernels.fit.e_process import CHECKPOINTS, EProcess, log_marginal, store_checkpoint
from tideproof.kernels.fit.fixed_effects import FixedEffects, connected, degrees_of_freedom


class ProofCheckpoints(NamedTuple):
    """Immutable list of checkpoints at which an e-process (an anytime-valid test of arms) may start.

    Attributes
    ----------
    arms : numbers of the arms. A retired arm stays among them, because rewards of other arms are compared
        with its rewards. An added arm joins once it shares an environment with one of them.
    proof : statistics at each checkpoint.
    """

    arms: tuple[int, ...]
    proof: Memory[EProcess]

    @classmethod
    def begin(cls, arms: Sequence[int]) -> ProofCheckpoints:
        """Return an empty list of start points for an e-process (an anytime-valid test) of these arms."""
        return cls(tuple(arms), allocate(EProcess, len(arms)))

    @classmethod
    def of(cls, arms: Sequence[int], floats: Floats, ints: Ints) -> ProofCheckpoints:
        """Return e-process checkpoints restored from the arm numbers and arrays that `contents` returned."""
        found = cls.begin(arms)
        found.proof.floats[:], found.proof.ints[:] = floats, ints
        return found

    def contents(self) -> list[Any]:
        """Return all e-process checkpoints as lists and arrays, from which the method `of` restores them."""
        return [list(self.arms), self.proof.floats, self.proof.ints]

    def with_active(self, active: Sequence[int]) -> ProofCheckpoints:
        """Return the start points of the e-process if it compares an active arm, else an empty list.

        The start points (checkpoints) can be used if there is one and the e-process compares an active arm.
        """
        goes_on = self.proof.view.moments[0] > 0 and not set(active).isdisjoint(self.arms)
        return self if goes_on else ProofCheckpoints.begin(active)

    def newly_met(self, active: Sequence[int], group: Ints) -> list[int]:
        """Return the arms that can now, but could not before, be compared with the arms of the e-process.

        Retired arms are not returned. `group` has the number of the comparable group of each active arm; 0 is
        no group.
        """
        if set(self.arms).issuperset(active):  # the usual case
            return []
        own = {group[i] for i, arm in enumerate(active) if arm in self.arms} - {0}
        return [arm for i, arm in enumerate(active) if arm not in self.arms and group[i] in own]

    def with_arms(
        self, new: Sequence[int], laplacian_of: Callable[[Sequence[int]], RunningLaplacian]
    ) -> ProofCheckpoints:
        """Return the checkpoints of the e-process with `new` arms added to its comparisons.

        The new arms have become comparable with the earlier arms. The rewards that connected the arms do not
        count as evidence (see `kernels/fit/e_process.py`).
        """
        wider = self.begin([*self.arms, *new])
        (before, alone), (after, fit) = (
            self.current_proof(laplacian_of(self.arms)),
            wider.current_proof(laplacian_of(wider.arms)),
        )
        if min(alone.rss[0], fit.rss[0]) <= 0.0:  # no noise, only rounding errors
            return self.begin(wider.arms)
        old, found, own = self.proof.view, wider.proof.view, np.s_[..., : len(self.arms)]
        past = np.s_[: old.moments[0]]
        square = np.s_[..., : len(self.arms), : len(self.arms)]
        found.checkpoint_L[past], found.checkpoint_b[past] = after.L, after.b
        found.checkpoint_L[past][square] += old.checkpoint_L[past] - before.L
        found.checkpoint_b[past][own] += old.checkpoint_b[past] - before.b
        found.checkpoint_c[past] = old.checkpoint_c[past] + (after.c - before.c)
        found.checkpoint_n[past] = old.checkpoint_n[past] + (after.n - before.n)
        gained = log_marginal(after, fit) - log_marginal(before, alone)
        found.checkpoint_marginal[past] = old.checkpoint_marginal[past] + gained
        found.moments[:], found.next[:] = old.moments, old.next
        return wider

    def is_due(self, fit: Any) -> bool:
        """Return whether necessary conditions for another start point of the e-process hold.

        `fit` is the fit of the active arms.
        """
        proof = self.proof.view
        due = proof.moments[0] < CHECKPOINTS and fit.told[0] >= proof.next[0]
        return bool(due and connected(fit) and degrees_of_freedom(fit) >= MINIMUM_FREEDOM)

    def current_proof(self, sums: RunningLaplacian) -> tuple[EProcess, FixedEffects]:
        """Return a copy of the e-process that includes all rewards.

        Also return the fit of these rewards.
        """
        found, solved, Q = self.begin(self.arms).proof, sums.solution(), sums.quadratic
        found.copy_from(self.proof)
        proof, fit = found.view, allocate(FixedEffects, len(self.arms)).view
        proof.L[:], proof.b[:], proof.c[0], proof.n[0] = Q
        fit.P[:], fit.mu[:], fit.rss[0], fit.group[:] = solved.P, solved.mu, solved.rss, solved.group
        fit.told[0], fit.environments[0], fit.joins[0] = solved.told, solved.environments, solved.joins
        return proof, fit

    def with_checkpoint(self, sums: RunningLaplacian) -> ProofCheckpoints:
        """Return a copy of the e-process checkpoints, with the next one added if it is due."""
        proof, fit = self.current_proof(sums)
        store_checkpoint(proof, fit)
        found = self.begin(self.arms)
        for name in (
            "checkpoint_L",
            "checkpoint_b",
            "checkpoint_c",
            "checkpoint_n",
            "checkpoint_marginal",
            "moments",
            "next",
        ):
            getattr(found.proof.view, name)[:] = getattr(proof, name)
        return found
