"""Policy state of recorded rewards: the kernels' statistics and the cells of all rewards.

`memory` has recorded rewards only. `memory_with_pending`, which `pending_pulls.py` updates, also counts
pending pulls; the methods here note which parts of it are outdated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import (
    Floats,
    Ints,
    Memory,
    allocate,
    count_elements,
    find_scratch,
    view_buffers,
)
from tideproof.core.interpreted_kernels import wrap_state
from tideproof.experiment.state.environment_rows import EnvironmentTable
from tideproof.experiment.state.rescaled_fit import RescaledFit, rescaled_fit
from tideproof.experiment.state.running_laplacian import RunningLaplacian, Values
from tideproof.experiment.stopping.proof_checkpoints import ProofCheckpoints
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.fit.reward_moments import record
from tideproof.kernels.simulate.threefry import SELECT, TELL, Draw
from tideproof.policies.policy_spec import PolicySpec
from tideproof.stats.scales.scale_test import Scale
from tideproof.stats.solve.least_squares import Solution, group_components

_ZERO = np.uint64(0)
BATCHES_PER_SOLVE = 4096  # batches between two new solutions; a million updates drift by 2e-8 without


class _Cell(NamedTuple):
    """Number, mean and squares of one cell, as lists that the kernel `record` changes."""

    told: Any
    mean: Any
    squares: Any


class DeferredUpdate(NamedTuple):
    """Pending pulls at the time of a deferred update, which `PendingPulls._apply_deferred` does later.

    All other data that the update reads must be unchanged, see `PendingPulls._can_defer`.
    """

    out: list[int]
    where: list[int]
    latest: int


class ToldRewards:
    """Policy state of recorded rewards, with the cells of all rewards.

    Attributes
    ----------
    active : numbers of the active arms in the experiment.
    memory, memory_with_pending : (state, data, slot) of the kernels, for recorded rewards and with pending
        pulls.
    environments : cells and kernel statistics of each environment.
    batches : number of recorded batches so far; a single reward and a summary are one batch each.
    scale : scale on which the policy compares arms; cells and `memory` always have the original rewards.
    checkpoints : checkpoints of the e-process; None without a proven stopping rule.
    """

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
        self.spec, self.seed, self.sign, self.scale = spec, seed, sign, scale
        self._seed = np.uint64(seed)
        plain_program = spec.plain_program()
        self.program = plain_program or spec.program()
        self._to_kernel: Callable[[Any], Any] = (lambda view: view) if plain_program is None else wrap_state
        self.active = list(range(arms))
        self.params = spec.params(arms, horizon)
        self.environments = EnvironmentTable(arms, arms, self._to_kernel)
        self.checkpoints = ProofCheckpoints.begin(self.active) if proves else None
        self._begin(arms)

    def _begin(self, active_arms: int) -> None:
        self._floats, self._ints, (self.memory, self.memory_with_pending) = _allocate_pair(
            self.spec.layout(), active_arms
        )
        self._scratch = [
            array for each in (self.memory, self.memory_with_pending) for array in find_scratch(each.view)
        ]
        self._kernel_views = [
            self._to_kernel(each.view) for each in (self.memory, self.memory_with_pending)
        ]  # as kernels take them
        self._empty_slot = self._to_kernel(allocate(Slot, active_arms).view)
        self._arm_index = {arm: i for i, arm in enumerate(self.active)}
        self._reward_sums, self._design_sums = RunningLaplacian(active_arms), RunningLaplacian(active_arms)
        self._uses_fit, self._uses_cells = "fit" in self.spec.reads, self.spec.fill()["CELLS"]
        self._all_active = len(self.active) == self.environments.rows.n.shape[1]
        self.batches = 0
        self._pending_counts = [0] * active_arms  # pulls out, of each arm that is played
        self._last_rows = [0] * active_arms  # the row of the last ask of each
        self._last_arm = 0  # the place of the last ask
        self._new_pending: list[
            tuple[int, int]
        ] = []  # row and place of pulls out that `ahead` does not have yet
        self._pending_is_current = True  # whether `ahead` is up to date, but for what is owed
        self._design_is_current = True  # whether its design is
        self._deferred: DeferredUpdate | None = None  # what is still to be done, once somebody looks
        self._stale_rows: set[int] = set()  # rows whose slots ahead are not

    def _record(self, row: int, arm: int, n: int, mean: float, squares: float) -> None:
        """Add rewards to their cell."""
        rows = self.environments.rows
        tables = rows.n, rows.mean, rows.squares
        if rows.n[row, arm] == 0.0 and not rows.n[row].any():
            self.environments.with_rewards.append(row)
        cell = _Cell(*([table.item(row, arm)] for table in tables))  # plain numbers are quicker
        record(cell, 0, n, mean, squares)
        for table, (value,) in zip(tables, cell, strict=True):
            table[row, arm] = value

    def _process(self, row: int, place: int, n: int, mean: float, squares: float) -> None:
        run, slot = self._kernel_views[0], self.environments.slot(row).kernels
        draw = self._draw(TELL, self.batches)
        self.program.take(self.params, run.state, run.data, slot, place, n, self.sign * mean, squares, draw)
        self.batches += 1
        self._reward_sums.changed.add(row)
        self._stale_rows.add(row)
        self._pending_is_current = False
        if self._uses_fit and self.batches % BATCHES_PER_SOLVE == 0:
            self._refactor()

    def _correct_cell(self, row: int, arm: int, old: float, new: float) -> None:
        """Replace one reward in its cell by another."""
        rows = self.environments.rows
        n, mean = rows.n[row, arm], rows.mean[row, arm]
        centre = mean + (new - old) / n
        spread = (new - centre) * (new - mean) - (old - centre) * (old - mean)
        rows.squares[row, arm] = max(0.0, rows.squares[row, arm] + spread) if n > 1 else 0.0
        rows.mean[row, arm] = centre if n > 1 else new

    def _refactor(self) -> None:
        """Replace the recursively updated estimates by a new solution, so that rounding errors stay small."""
        fresh = self.solve()
        fit = self.memory.view.data.fit
        fit.P[:], fit.mu[:], fit.rss[0], fit.group[:] = fresh.P, self.sign * fresh.mu, fresh.rss, fresh.group
        self._design_is_current = False

    def solve(self) -> Solution:
        """Return the least-squares solution for all rewards of the active arms."""
        rows = self.environments.rows

        def read(which: Ints) -> Values:
            at = self.environments.at(which, self.active)
            return rows.n[at], rows.mean[at], rows.squares[at]

        return self._reward_sums.solve(read)

    @property
    def fit(self) -> Any:
        """Least-squares fit of the recorded rewards of the active arms, for kernels; high values are good."""
        return self._kernel_views[0].data.fit

    def laplacian_of(self, arms: Sequence[int]) -> RunningLaplacian:
        """Return newly computed sums for these arms, whose bits do not depend on earlier reads."""
        rows, found = self.environments.rows, RunningLaplacian(len(arms))
        found.changed = set(self.environments.with_rewards)

        def read(which: Ints) -> Values:
            at = self.environments.at(which, list(arms))
            return rows.n[at], self.sign * rows.mean[at], rows.squares[at]

        found.update(read)
        return found

    def _take_checkpoint(self) -> None:
        """Add a checkpoint of the e-process if one is due."""
        if self.checkpoints is None:
            return
        if new := self.checkpoints.newly_met(self.active, self.fit.group):
            self.checkpoints = self.checkpoints.with_arms(new, self.laplacian_of)
        if self.checkpoints.is_due(self.fit):
            self.checkpoints = self.checkpoints.with_checkpoint(self.laplacian_of(self.checkpoints.arms))

    def _replay_cells(self) -> None:
        rows = self.environments.rows
        for row in self.environments.with_rewards:
            for arm in np.flatnonzero(rows.n[row]).tolist():
                if arm in self._arm_index:
                    numbers = rows.n[row, arm], rows.mean[row, arm], rows.squares[row, arm]
                    self._process(
                        row, self._arm_index[arm], int(numbers[0]), float(numbers[1]), float(numbers[2])
                    )

    def _replay_at_once(self, merges: Callable[[Any], bool]) -> None:
        """Replay all cells by one solution, for a policy that reads nothing but the fit."""
        self._reward_sums.changed = set(self.environments.with_rewards)
        if not self._reward_sums.changed:
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
        run = self._kernel_views[0]
        for place, pulls in enumerate(data.pulls.tolist()):  # until it has begun
            if pulls and not merges(run.state):
                slot, draw = self.environments.slot(int(told[first])).kernels, self._draw(TELL, place)
                self.program.notice(self.params, run.state, run.data, slot, place, pulls, draw)

    def rescaled(self) -> RescaledFit | None:
        """Return the fit on the ratio or odds scale; None on the difference scale or if not available yet."""
        merges = self.spec.policy.merges
        if self.scale == "difference" or merges is None or not merges(self._kernel_views[0].state):
            return None
        rows = self.environments.rows
        at = np.ix_(np.array(self.environments.with_rewards), np.array(self.active))
        return rescaled_fit(self.scale, rows.n[at], rows.mean[at], rows.squares[at])

    def select(self, found: RescaledFit | None = None) -> int:
        """Return the arm that the policy would select now; `rescaled` is the fit on its scale."""
        run = self._kernel_views[0]
        if found is not None:
            copy = allocate(self.spec.layout(), len(self.active))
            copy.copy_from(self.memory)
            found.write(copy.view.data.fit, self.sign)
            run = self._to_kernel(copy.view)
        draw = self._draw(SELECT, self.batches)
        return self.active[int(self.program.select(self.params, run.state, run.data, draw))]

    def known(self) -> tuple[int, Ints]:
        """Return the number of rewards of the active arms, and the connected group of each arm."""
        if not self._uses_fit:
            found = self.solve()
            return found.told, group_components(found.group)
        fit = self.memory.view.data.fit
        return int(fit.told[0]), group_components(fit.group)

    def _draw(self, purpose: np.uint64, step: int) -> Draw:
        return Draw(self._seed, _ZERO, purpose, np.uint64(step))


def _allocate_pair(kind: Any, active_arms: int) -> tuple[Floats, Ints, list[Memory[Any]]]:
    """Return two kernel states in one pair of buffers, which can be copied at once."""
    floats, ints = count_elements(kind, active_arms)
    all_floats, all_ints = np.zeros(2 * floats), np.zeros(2 * ints, np.int64)
    halves = [
        view_buffers(
            kind, active_arms, all_floats[i * floats : (i + 1) * floats], all_ints[i * ints : (i + 1) * ints]
        )
        for i in range(2)
    ]
    return all_floats, all_ints, halves
