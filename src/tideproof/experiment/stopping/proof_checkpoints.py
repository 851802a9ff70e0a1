"""The moments from which a proof begins, as an experiment remembers them.

`e_process.py` says what they are. They are part of the fold: taken at the end of an event, from cells
alone, so that whoever replays the events has them to the last bit, and whoever looks changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints, Memory, allocate
from tideproof.experiment.state.running_laplacian import RunningLaplacian
from tideproof.kernels.choose.leader_lead import MINIMUM_FREEDOM
from tideproof.kernels.fit.e_process import CHECKPOINTS, EProcess, log_marginal, store_checkpoint
from tideproof.kernels.fit.fixed_effects import FixedEffects, connected, freedom


class Then(NamedTuple):
    """Moments that have passed; never changed, only replaced.

    Attributes
    ----------
    arms : numbers of the arms that it is about. One that is retired stays among them: rewards of others are
        judged beside its rewards. One that joins is among them once it has met one of them.
    proof : what was known at each moment.
    """

    arms: tuple[int, ...]
    proof: Memory[EProcess]

    @classmethod
    def begin(cls, arms: Sequence[int]) -> Then:
        """Return one without a moment."""
        return cls(tuple(arms), allocate(EProcess, len(arms)))

    @classmethod
    def of(cls, arms: Sequence[int], floats: Floats, ints: Ints) -> Then:
        """Return what has these contents."""
        found = cls.begin(arms)
        found.proof.floats[:], found.proof.ints[:] = floats, ints
        return found

    def contents(self) -> list[Any]:
        """Return everything, to be given to `of`."""
        return [list(self.arms), self.proof.floats, self.proof.ints]

    def seated(self, active: Sequence[int]) -> Then:
        """Return what goes on with these arms: a new one, if all of them are new or nothing has passed."""
        goes_on = self.proof.view.moments[0] > 0 and not set(active).isdisjoint(self.arms)
        return self if goes_on else Then.begin(active)

    def newly_met(self, active: Sequence[int], group: Ints) -> list[int]:
        """Return the arms that are not among its own but have met one of them; `group` is of these."""
        if set(self.arms).issuperset(active):  # as nearly always
            return []
        own = {group[i] for i, arm in enumerate(active) if arm in self.arms} - {0}
        return [arm for i, arm in enumerate(active) if arm not in self.arms and group[i] in own]

    def joined(self, new: Sequence[int], sums_of: Callable[[Sequence[int]], RunningLaplacian]) -> Then:
        """Return it with these arms, too, which met its own just now; what linked them is no evidence."""
        wider = self.begin([*self.arms, *new])
        (before, alone), (after, fit) = self.now(sums_of(self.arms)), wider.now(sums_of(wider.arms))
        if min(alone.rss[0], fit.rss[0]) <= 0.0:  # nothing but rounding
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
        """Tell whether the next moment may have come; `fit` is of the arms that are played."""
        proof = self.proof.view
        due = proof.moments[0] < CHECKPOINTS and fit.told[0] >= proof.next[0]
        return bool(due and connected(fit) and freedom(fit) >= MINIMUM_FREEDOM)

    def now(self, sums: RunningLaplacian) -> tuple[EProcess, FixedEffects]:
        """Return a copy that has what is known now, too, and the fit of it."""
        found, solved, Q = self.begin(self.arms).proof, sums.solution(), sums.quadratic
        found.copy_from(self.proof)
        proof, fit = found.view, allocate(FixedEffects, len(self.arms)).view
        proof.L[:], proof.b[:], proof.c[0], proof.n[0] = Q
        fit.P[:], fit.mu[:], fit.rss[0], fit.group[:] = solved.P, solved.mu, solved.rss, solved.group
        fit.told[0], fit.environments[0], fit.joins[0] = solved.told, solved.environments, solved.joins
        return proof, fit

    def later(self, sums: RunningLaplacian) -> Then:
        """Return it with this moment, if it is one."""
        proof, fit = self.now(sums)
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
