"""Policy state of an experiment whose policy chooses arm and environment of each pull, from a fixed set.

Each pair of an arm and an environment is asked for at most once, pending pairs included. A pair whose pull
has expired may be asked for again; one whose pull was cancelled may not. The choice depends on the recorded
events and the seed alone: what is kept between two asks is a cache.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.experiment.pull import Label
from tideproof.experiment.settings import ExperimentSettings
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.policies.environment_choice.arm_environment_pairs import PairStatus, PairTable
from tideproof.policies.environment_choice.arm_race import ArmRace, RaceRule
from tideproof.policies.environment_choice.pair_values import next_pair
from tideproof.policies.environment_choice.score_model import ScoreModel, fit_scores
from tideproof.policies.policy_spec import PolicySpec


class EnvironmentChoiceState(PolicyState):
    """Policy state in which the policy chooses both the arm and the environment of each pull.

    With a confidence level, a race chooses: each environment in a random order is asked of all remaining
    arms. Otherwise the most valuable pair is chosen.

    Attributes
    ----------
    pairs : which pairs were asked for, and their scores; high scores are good.
    """

    SAVED: ClassVar[tuple[str, ...]] = ("rewards", "pending", "checkpoints", "pairs")

    def __init__(
        self, spec: PolicySpec, arms: int, seed: int, sign: float, settings: ExperimentSettings
    ) -> None:
        super().__init__(spec, arms, seed, sign, None)
        labels = settings.environments or ()
        self._sign = sign
        self.pairs = PairTable(labels, arms, seed)
        self._labels, self._index = labels, {label: i for i, label in enumerate(labels)}
        self._rule: RaceRule | None = None
        if settings.confidence is not None:
            low, high = settings.limits or (0.0, 1.0)
            self._rule = RaceRule(
                settings.confidence, settings.rule == "proven", settings.tolerance, (low, high)
            )
        self._race: ArmRace | None = None
        self._model: tuple[int, ScoreModel] | None = None

    # -- what others read

    def race(self) -> ArmRace | None:
        """Return the elimination race of the arms given all scores; None without a confidence level."""
        if self._rule is None:
            return None
        if self._race is None:
            self._race = ArmRace(self._rule, self.pairs)
        self._race.advance()
        return self._race

    def model(self) -> ScoreModel:
        """Return the estimated means of the active arms, with signs such that high means are good."""
        if self._model is None or self._model[0] != self.pairs.score_version:
            self._model = self.pairs.score_version, fit_scores(*self.pairs.recorded())
        return self._model[1]

    def known(self) -> tuple[int, Ints]:
        """Return the number of recorded scores, and for each active arm the group of arms comparable with it.

        All arms with a score are comparable, because environments are drawn at random.
        """
        has_score, _ = self.pairs.recorded()
        group = np.where(has_score.any(axis=0), 0, 1 + np.arange(len(self.active)))
        return int(has_score.sum()), np.unique(group, return_inverse=True)[1]

    def select(self, found: Any = None) -> int:
        """Return the arm that the policy would select as the best now."""
        race = self.race()
        if race is not None and race.n:
            return race.leader()
        return self.active[int(np.argmax(self.model().mean))]

    def estimates(self) -> dict[int, float]:
        """Return the estimated mean reward of each active arm that has been scored in any environment."""
        has_score, _ = self.pairs.recorded()
        known: Any = has_score.any(axis=0)
        means: Floats = self._sign * self.model().mean
        return {arm: float(means[i]) for i, arm in enumerate(self.active) if known[i]}

    def is_complete(self) -> bool:
        """Return whether every active arm has a score in every environment."""
        return bool((self.pairs.status[:, self.pairs.active] == PairStatus.RECORDED).all())

    def is_free(self, arm: int, environment: int) -> bool:
        """Return whether an arm may still be played in an environment, given by its index."""
        row = self.pairs.row[self._labels[environment]]
        return bool(self.pairs.status[row, arm] == PairStatus.FREE)

    # -- choices

    def choose_pairs(self, n: int, budget: int | None) -> list[tuple[int, int]]:
        """Choose the arms and the environments (as indices) of the next `n` pulls, without recording them.

        There are fewer if the race has ended or if no pair is left.
        """
        table, chosen = self.pairs, list[tuple[int, int]]()
        race = self.race()
        model = self.model() if race is None and table.has_score else None
        every = len(table.labels) * len(self.active)
        try:
            for _ in range(n):
                whole = every if budget is None else min(budget, every)
                pair = next_pair(table, model, whole) if race is None else race.next_pair()
                if pair is None:
                    break
                row, arm = pair[0], self.active[pair[1]]
                chosen.append((row, arm))
                table.set(row, arm, PairStatus.PENDING)
        finally:
            for row, arm in chosen:
                table.set(row, arm, PairStatus.FREE)
        return [(arm, self._index[table.labels[row]]) for row, arm in chosen]

    def make_ready(self) -> None:
        """Do nothing: choices do not use the design matrix of the least-squares fit."""

    # -- changes by events

    def expect(self, row: int, arm: int) -> None:
        """Mark an arm as pending in an environment: its reward is awaited."""
        super().expect(row, arm)
        self.pairs.set(self.pairs.row[self.environments.labels[row]], arm, PairStatus.PENDING)

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Record a score of an arm in an environment; several scores of the same cell are averaged."""
        super().take(label, arm, n, mean, squares, settles, pull)
        self._set_score(label, arm)

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace the recorded score of an arm in an environment by a corrected one."""
        super().correct(label, arm, old, new, pull)
        self._set_score(label, arm)

    def _set_score(self, label: Label, arm: int) -> None:
        row, cells = self.environments.row(label), self.environments.rows
        place = self.pairs.row[label]
        if self.pairs.status[place, arm] == PairStatus.RECORDED:
            self._race = None  # the race must be run again with the new score
        self.pairs.set(place, arm, PairStatus.RECORDED, self._sign * cells.mean.item(row, arm))

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Allow an arm to be played again in an environment after its pull there has expired."""
        super().forget(label, arm, n)
        place, row = self.pairs.row[label], self.environments.row(label)
        if (
            self.pairs.status[place, arm] == PairStatus.PENDING
            and not self.environments.rows.pending[row, arm]
        ):
            self.pairs.set(place, arm, PairStatus.FREE)

    def exclude(self, label: Label, arm: int) -> None:
        """Exclude an arm from an environment in which its pull was cancelled: it is not played there."""
        place = self.pairs.row[label]
        if self.pairs.status[place, arm] == PairStatus.FREE:
            self.pairs.set(place, arm, PairStatus.EXCLUDED)

    def rebuild(self, arms: int | None = None) -> None:
        """Recompute the policy's statistics after arms were added or deactivated."""
        super().rebuild(arms)
        self.pairs.set_active(self.active, arms)
        self._race = None

    def refill(self, contents: Any) -> None:
        """Restore the saved fields of the policy state, and discard results computed from older fields."""
        super().refill(contents)
        self._race, self._model = None, None

    def restore(self, arms: int, active: list[int], params: Any, contents: Any) -> None:
        """Restore the policy state from the data that `contents` returned."""
        self.pairs.set_active(active, arms)
        super().restore(arms, active, params, contents)

    def buffers(self) -> list[bytes]:
        """Return the scores and the status of all cells as bytes, to compare two policy states exactly."""
        return [self.pairs.status.tobytes(), self.pairs.score.tobytes()]
