"""Policy state: the statistics by which a policy decides, changed by events.

It has three parts: statistics of recorded rewards (`recorded_rewards.py`), pending pulls with the statistics
that count them (`pending_pulls.py`), and the choice of the next arms (`next_arms.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tideproof.core.kernel_state_arrays import Ints, Memory, find_scratch
from tideproof.experiment.lookahead import Lookahead
from tideproof.experiment.pull import Label
from tideproof.experiment.state.environment_rows import EnvironmentTable
from tideproof.experiment.state.next_arms import NextArms
from tideproof.experiment.state.pending_pulls import PendingPulls
from tideproof.experiment.state.ratio_odds_fit import RescaledFit
from tideproof.experiment.state.recorded_rewards import RecordedRewards
from tideproof.experiment.state.saved_fields import SavedFields
from tideproof.experiment.stopping.e_process_checkpoints import ProofCheckpoints
from tideproof.policies.policy_spec import PolicySpec
from tideproof.stats.scales.scale_properties import Scale


class PolicyState(SavedFields):
    """Statistics of recorded rewards and pending pulls by which a policy decides, changed by events.

    Attributes
    ----------
    rewards : the policy with the statistics of recorded rewards.
    pending : pending pulls, and the statistics that count them.
    environments : cells of all rewards, and kernel statistics of each environment.
    checkpoints : checkpoints of the e-process; None without a proven stopping rule.
    """

    PENDING: ClassVar[type[PendingPulls]] = PendingPulls
    SAVED: ClassVar[tuple[str, ...]] = ("rewards", "pending", "checkpoints")

    def __init__(
        self,
        spec: PolicySpec,
        arms: int,
        seed: int,
        sign: float,
        horizon: int | None,
        scale: Scale = "difference",
        proves: bool = False,
    ) -> None:
        self.rewards = RecordedRewards(spec, arms, seed, sign, horizon, scale)
        self.pending = self.PENDING(self.rewards)
        self.environments: EnvironmentTable = self.rewards.environments
        self.checkpoints = ProofCheckpoints.begin(self.active) if proves else None
        self._next_arms = NextArms(self.rewards, self.pending)

    # -- what others read

    @property
    def active(self) -> list[int]:
        """Indices of the active arms among all arms of the experiment."""
        return self.rewards.active

    @property
    def scale(self) -> Scale:
        """Scale on which the policy compares arms: `"difference"`, `"ratio"` or `"odds"`."""
        return self.rewards.scale

    @property
    def batches(self) -> int:
        """Number of batches of rewards that were recorded so far."""
        return self.rewards.batches

    @property
    def memory(self) -> Memory[Any]:
        """Arrays with the policy's statistics of recorded rewards."""
        return self.rewards.memory

    @property
    def memory_with_pending(self) -> Memory[Any]:
        """Arrays with the policy's statistics that also include pending pulls.

        Call `look_ahead` before reading them.
        """
        return self.pending.memory

    @property
    def fit(self) -> Any:
        """Least-squares fit of the active arms' rewards, negated if low rewards are good."""
        return self.rewards.fit

    def known(self) -> tuple[int, Ints]:
        """Return the number of rewards, and the group of comparable arms to which each arm belongs.

        Only active arms count. The second result has the number of a group of comparable arms for each arm.
        """
        return self.rewards.known()

    def rescaled(self) -> RescaledFit | None:
        """Return the fit of ratios or odds of the arms, or None if arms are compared by differences.

        It is also None if it is not available yet.
        """
        return self.rewards.rescaled()

    def select(self, found: RescaledFit | None = None) -> int:
        """Return the arm that the policy would select as the best now.

        It uses a fit of ratios or odds if one is given.
        """
        return self.rewards.select(found)

    @property
    def behind(self) -> bool:
        """Whether the policy still has recorded rewards to process: always False in this class."""
        return False

    def catch_up(self) -> None:
        """Do nothing: this class processes each reward when it is recorded; subclasses may do so later."""

    def buffers(self) -> list[bytes]:
        """Return the bytes of all numbers of the policy state, to compare two states exactly."""
        self.look_ahead()
        memories = self.memory, self.memory_with_pending
        for memory in memories:
            for array in find_scratch(memory.view):
                array.fill(0.0)  # scratch arrays have no meaning
        count = len(self.environments.labels)
        rows = (array[:count].tobytes() for array in self.environments.rows)
        both = (each.tobytes() for memory in memories for each in (memory.floats, memory.ints))
        checkpoints = () if self.checkpoints is None else (self.checkpoints.proof.floats.tobytes(),)
        return [*both, *rows, *checkpoints]

    # -- choices of the policy

    def look_ahead(self) -> None:
        """Bring the policy's statistics that include pending pulls up to date."""
        self.pending.look_ahead()

    def make_ready(self) -> None:
        """Update the design matrix of the least-squares fit before a past choice of arms is replayed.

        The original ask did the same.
        """
        self.pending.make_ready()

    def ask(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Choose arms for the next `n` pulls, and mark the pulls as pending unless the policy stops.

        Return the numbers of these arms, fewer than `n` if the policy stops. `first` is the number of the
        first of these pulls, which selects the random draws. `play` maps the arm that the policy chooses to
        the arm that is played.
        """
        return self._next_arms.ask(label, n, first, play)

    def choose(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Return the arms of the next `n` pulls without recording the pulls.

        There are fewer arms if the policy stops.
        """
        return self._next_arms.choose(label, n, first, play)

    def next_arm(self, label: Label, step: int) -> int:
        """Return the next arm, or -1 if the policy has stopped."""
        return self._next_arms.next_arm(label, step)

    def lookahead(self, label: Label, step: int) -> Lookahead:
        """Return a copy of the policy state, on which the next choices can be simulated."""
        return self._next_arms.lookahead(label, step)

    # -- changes by events

    def expect(self, row: int, arm: int) -> None:
        """Add one to the number of pending pulls of an arm in an environment.

        The design matrix is updated before the next choice.
        """
        self.pending.add(row, arm)

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Add `n` rewards of an arm to the policy's statistics.

        `settles` of them belong to pending pulls.
        """
        row = self.environments.row(label)
        self.environments.record(row, arm, n, mean, squares)
        self.pending.remove(row, arm, settles)
        position = self.rewards.arm_index.get(arm)
        if position is None:
            return
        if self.rewards.process(row, position, n, mean, squares):
            self.pending.note_solution()
        if settles < n:
            self.pending.note_counts(row)
        else:
            self.pending.note_rewards(row)

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one recorded reward by another."""
        row = self.environments.row(label)
        self.environments.replace_reward(row, arm, old, new)
        if self.checkpoints is not None:
            self.checkpoints = ProofCheckpoints.begin(self.active)
        position = self.rewards.arm_index.get(arm)
        if position is None:
            return
        if self.rewards.replace_reward(row, position, new - old):
            self.pending.note_rewards(row)
            self.pending.note_solution()
        else:
            self.rebuild()

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Remove `n` pending pulls, whose rewards will not arrive."""
        row = self.environments.row(label)
        self.pending.remove(row, arm, n)
        if arm in self.rewards.arm_index:
            self.pending.note_counts(row)

    def exclude(self, label: Label, arm: int) -> None:
        """Do nothing after a pull was cancelled: the arm may be played in its environment again."""

    def set_params(self, params: Any) -> None:
        """Change the parameters of the policy, such as the number of rewards for which it plans."""
        if params != self.rewards.params:
            self.rewards.params = params
            self.pending.note_params()

    def set_arms(self, arms: int, active: list[int], params: Any) -> None:
        """Rebuild the policy state from the summaries of all rewards after a change of the arms.

        `arms` is the number of arms in the experiment, and `active` has the numbers of the active arms.
        """
        self.rewards.active, self.rewards.params = active, params
        if self.checkpoints is not None:
            self.checkpoints = self.checkpoints.with_active(active)
        self.rebuild(arms)

    def rebuild(self, arms: int | None = None) -> None:
        """Rebuild the policy state from the summaries of all rewards by arm and environment.

        `arms` is the number of arms in the experiment; None if it has not changed.
        """
        self.rewards.rebuild(arms or self.environments.rows.n.shape[1])
        self.pending.rebuild()

    def finish(self) -> None:
        """Finish applying an event: update the data on pending pulls and on an anytime-valid test.

        The data on pending pulls are sums that determine the design matrix. The data on the test are the
        e-process checkpoints, at which it may start; one is added if it is due.
        """
        self.pending.finish()
        checkpoints, rewards = self.checkpoints, self.rewards
        if checkpoints is None:
            return
        if new := checkpoints.newly_met(rewards.active, rewards.fit.group):
            checkpoints = checkpoints.with_arms(new, rewards.laplacian_of)
        if checkpoints.is_due(rewards.fit):
            checkpoints = checkpoints.with_checkpoint(rewards.laplacian_of(checkpoints.arms))
        self.checkpoints = checkpoints

    def restore(self, arms: int, active: list[int], params: Any, contents: Any) -> None:
        """Restore the policy state from the data that `contents` returned.

        It has `arms` arms, of which some may be retired.
        """
        self.rewards.active, self.rewards.params = active, params
        self.rewards.resize(arms)
        self.pending.reset()
        self.refill(contents)
