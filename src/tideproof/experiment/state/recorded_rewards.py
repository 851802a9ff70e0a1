"""Statistics of all recorded rewards, by which a policy decides.

Pending pulls are not counted here, see `pending_pulls.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tideproof.core.kernel_array_access import wrap_state
from tideproof.core.kernel_state_arrays import Ints, allocate
from tideproof.experiment.state.environment_rows import EnvironmentTable
from tideproof.experiment.state.ratio_odds_fit import RescaledFit, rescaled_fit
from tideproof.experiment.state.running_laplacian import RunningLaplacian, Values
from tideproof.experiment.state.saved_fields import SavedFields
from tideproof.kernels.simulate.threefry import SELECT, TELL, Draw
from tideproof.policies.policy_spec import PolicySpec
from tideproof.stats.scales.scale_properties import Scale
from tideproof.stats.solve.least_squares import Solution, group_components

_ZERO = np.uint64(0)
BATCHES_PER_SOLVE = 4096  # batches between two new solutions; a million updates drift by 2e-8 without


class RecordedRewards(SavedFields):
    """Policy, and the statistics of all recorded rewards by which it decides.

    The statistics are those of the active arms.

    Attributes
    ----------
    spec, program, params : the policy with its options, its linked kernels, and its parameters.
    seed, sign : seed of the random draws; 1, or -1 if low rewards are good.
    scale : scale on which the policy compares arms; `memory` always has the original rewards.
    to_kernel : converts arrays to the form that the kernels take.
    active, arm_index : numbers of the active arms in the experiment; the index of each in the kernels.
    environments : cells of the rewards of all arms, and kernel statistics of each environment.
    memory, run : statistics of the active arms, as arrays and in the form that the kernels take.
    uses_fit : whether the policy reads the least-squares fit of the default model.
    batches : number of recorded batches so far; a single reward and a summary are one batch each.
    """

    SAVED = ("environments", "memory", "batches", "_sums")

    def __init__(
        self, spec: PolicySpec, arms: int, seed: int, sign: float, horizon: int | None, scale: Scale
    ) -> None:
        self.spec, self.seed, self.sign, self.scale = spec, seed, sign, scale
        plain_program = spec.plain_program()
        self.program = plain_program or spec.program()
        self.to_kernel: Callable[[Any], Any] = (lambda view: view) if plain_program is None else wrap_state
        self.uses_fit = "fit" in spec.reads and spec.policy.tide == "labels"
        self.active = list(range(arms))
        self.params = spec.params(arms, horizon)
        self.environments = EnvironmentTable(arms, arms, self.to_kernel)
        self.reset()

    def reset(self) -> None:
        """Set the statistics of the active arms to zero; the summaries of the rewards are kept."""
        arms = len(self.active)
        self.memory = allocate(self.spec.layout(), arms)
        self.run = self.to_kernel(self.memory.view)
        self.arm_index = {arm: i for i, arm in enumerate(self.active)}
        self.batches = 0
        self._sums = RunningLaplacian(arms)

    def resize(self, arms: int) -> None:
        """Change the number of arms: set all statistics to zero, but keep the summaries of the rewards.

        `arms` is the number of arms in the experiment.
        """
        self.environments.resize(arms, len(self.active))
        self.reset()

    @property
    def fit(self) -> Any:
        """Least-squares fit of the active arms' rewards, negated if low rewards are good."""
        return self.run.data.fit

    def draw(self, purpose: np.uint64, step: int) -> Draw:
        """Return the key of the random numbers for one purpose, such as the choice of one arm.

        It depends on the purpose, the step and the seed alone.
        """
        return Draw(np.uint64(self.seed), _ZERO, purpose, np.uint64(step))

    def process(self, row: int, position: int, n: int, mean: float, squares: float) -> bool:
        """Update the statistics with `n` new rewards of an arm.

        Return whether all estimates are new. Estimates are updated recursively, and sometimes all are
        computed anew.
        """
        run, slot = self.run, self.environments.slot(row).kernels
        draw = self.draw(TELL, self.batches)
        self.program.take(
            self.params, run.state, run.data, slot, position, n, self.sign * mean, squares, draw
        )
        self.batches += 1
        self._sums.changed.add(row)
        if self.uses_fit and self.batches % BATCHES_PER_SOLVE == 0:
            self._solve_anew()
            return True
        return False

    def replace_reward(self, row: int, position: int, change: float) -> bool:
        """Update the statistics after a recorded reward was replaced.

        Return False if they must be rebuilt instead.
        """
        merges = self.spec.policy.merges
        if self.spec.reads != {"fit"} or merges is None or not merges(self.run.state):
            return False
        slot = self.environments.slot(row).kernels
        slot.mean[0] += self.sign * change / slot.size[0]
        self._sums.changed.add(row)
        self._solve_anew()
        self.notify(slot, position, 0, self.batches)
        return True

    def notify(self, slot: Any, position: int, n: int, step: int) -> None:
        """Call the policy's function that reacts to `n` new pulls of an arm.

        The statistics include these pulls already. `n` is 0 after a recorded reward was replaced.
        """
        draw = self.draw(TELL, step)
        self.program.notice(self.params, self.run.state, self.run.data, slot, position, n, draw)

    def _solve_anew(self) -> None:
        """Replace recursively updated estimates by a new least-squares solution, to limit rounding errors."""
        fresh = self.solve()
        fit = self.memory.view.data.fit
        fit.P[:], fit.mu[:], fit.rss[0], fit.group[:] = fresh.P, self.sign * fresh.mu, fresh.rss, fresh.group

    def solve(self) -> Solution:
        """Return the least-squares solution for all rewards of the active arms."""
        rows = self.environments.rows

        def read(which: Ints) -> Values:
            at = self.environments.at(which, self.active)
            return rows.n[at], rows.mean[at], rows.squares[at]

        return self._sums.solve(read)

    def laplacian_of(self, arms: Sequence[int]) -> RunningLaplacian:
        """Compute the normal equations of a least-squares fit of these arms anew, from all rewards."""
        rows, found = self.environments.rows, RunningLaplacian(len(arms))
        found.changed = set(self.environments.with_rewards)

        def read(which: Ints) -> Values:
            at = self.environments.at(which, list(arms))
            return rows.n[at], self.sign * rows.mean[at], rows.squares[at]

        found.update(read)
        return found

    def rebuild(self, arms: int) -> None:
        """Compute all statistics again from the summaries of the rewards by arm and environment.

        `arms` is the number of arms in the experiment.
        """
        batches, merges = self.batches, self.spec.policy.merges
        self.resize(arms)
        if self.spec.reads == {"fit"} and merges is not None:
            self._process_at_once(merges)
        else:
            self._process_cells()
        self.batches = max(batches, self.batches)
        self._sums.changed = set(self.environments.with_rewards)

    def _process_cells(self) -> None:
        rows = self.environments.rows
        for row in self.environments.with_rewards:
            for arm in np.flatnonzero(rows.n[row]).tolist():
                if arm in self.arm_index:
                    n, mean, squares = (table.item(row, arm) for table in (rows.n, rows.mean, rows.squares))
                    self.process(row, self.arm_index[arm], int(n), mean, squares)

    def _process_at_once(self, merges: Callable[[Any], bool]) -> None:
        """Compute the statistics from the rewards of all environments by a single least-squares solution."""
        self._sums.changed = set(self.environments.with_rewards)
        if not self._sums.changed:
            return
        told, rows = np.array(self.environments.with_rewards), self.environments.rows
        at = self.environments.at(told, self.active)
        n = rows.n[at]
        first = self.environments.fill(told, n, self.sign * rows.mean[at])
        found, data = self.solve(), self.memory.view.data
        fit = data.fit
        fit.P[:], fit.mu[:], fit.rss[0] = found.P, self.sign * found.mu, found.rss
        fit.group[:], fit.joins[0] = found.group, found.joins
        fit.told[0], fit.environments[0] = found.told, found.environments
        fit.first[:], fit.first_size[0] = n[first], n[first].sum()
        data.pulls[:] = n.sum(axis=0)
        for position, pulls in enumerate(data.pulls.tolist()):  # until it has begun
            if pulls and not merges(self.run.state):
                self.notify(self.environments.slot(int(told[first])).kernels, position, pulls, position)

    def rescaled(self) -> RescaledFit | None:
        """Return the fit of ratios or odds of the arms, or None if arms are compared by differences.

        It is also None if it is not available yet.
        """
        merges = self.spec.policy.merges
        if self.scale == "difference" or merges is None or not merges(self.run.state):
            return None
        rows = self.environments.rows
        at = np.ix_(np.array(self.environments.with_rewards), np.array(self.active))
        return rescaled_fit(self.scale, rows.n[at], rows.mean[at], rows.squares[at])

    def select(self, found: RescaledFit | None) -> int:
        """Return the arm that the policy would select as the best now.

        It uses a fit of ratios or odds if one is given.
        """
        run = self.run
        if found is not None:
            copy = allocate(self.spec.layout(), len(self.active))
            copy.copy_from(self.memory)
            found.write(copy.view.data.fit, self.sign)
            run = self.to_kernel(copy.view)
        draw = self.draw(SELECT, self.batches)
        return self.active[int(self.program.select(self.params, run.state, run.data, draw))]

    def known(self) -> tuple[int, Ints]:
        """Return the number of rewards, and the group of comparable arms to which each arm belongs.

        Only active arms count. The second result has the number of a group of comparable arms for each arm.
        """
        if self.spec.policy.tide == "labels" and not self.uses_fit:
            found = self.solve()
            return found.told, group_components(found.group)
        fit = self.memory.view.data.fit
        return int(fit.told[0]), group_components(fit.group)
