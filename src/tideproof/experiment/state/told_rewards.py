"""The arithmetic of told rewards: what the policy knows of them, and the cells they lie in.

`memory` has told rewards only. `ahead` beside it, which `pending_pulls.py` fills, has the pulls that are out,
too; whoever tells here notes what it has to catch up with.
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
from tideproof.experiment.state.environment_rows import Environments
from tideproof.experiment.state.rescaled_fit import RescaledFit, scaled
from tideproof.experiment.state.running_laplacian import RunningLaplacian, Values
from tideproof.experiment.stopping.proof_checkpoints import Then
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.fit.reward_moments import record
from tideproof.kernels.simulate.threefry import SELECT, TELL, Draw
from tideproof.policies.policy_spec import PolicySpec
from tideproof.stats.scales.scale_test import Scale
from tideproof.stats.solve.least_squares import Solution, group_components

_ZERO = np.uint64(0)
REFACTOR = 4096  # told batches between two fresh solves; a million updates drift by 2e-8 without


class _Cell(NamedTuple):
    """One cell, as `record` writes it."""

    told: Any
    mean: Any
    squares: Any


class Owed(NamedTuple):
    """The pulls that were out when `ahead` should have been brought up to date: `Ahead._pay` does so by them.

    Everything else that it reads must be what it was then, see `Ahead._can_wait`.
    """

    out: list[int]
    where: list[int]
    latest: int


class ToldRewards:
    """The state of a policy, and the cells of everything told.

    Attributes
    ----------
    active : the arms that the policy plays, by their number in the experiment.
    memory, ahead : (state, data, slot) of told rewards, and with the pulls that are out.
    places : slots and cells of every environment.
    batches : told batches so far, single rewards and summaries alike.
    scale : on which the policy compares arms; cells and `memory` are of rewards as they are.
    then : what was known at some moments, where somebody wants a proof.
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
        self._shown: Callable[[Any], Any] = (lambda view: view) if plain_program is None else wrap_state
        self.active = list(range(arms))
        self.params = spec.params(arms, horizon)
        self.places = Environments(arms, arms, self._shown)
        self.then = Then.begin(self.active) if proves else None
        self._begin(arms)

    def _begin(self, places: int) -> None:
        self._floats, self._ints, (self.memory, self.ahead) = _two(self.spec.layout(), places)
        self._scratch = [array for each in (self.memory, self.ahead) for array in find_scratch(each.view)]
        self._runs = [self._shown(each.view) for each in (self.memory, self.ahead)]  # as kernels take them
        self._nowhere = self._shown(allocate(Slot, places).view)
        self._place = {arm: i for i, arm in enumerate(self.active)}
        self._told, self._design = RunningLaplacian(places), RunningLaplacian(places)
        self._fits, self._cells = "fit" in self.spec.reads, self.spec.fill()["CELLS"]
        self._all_played = len(self.active) == self.places.rows.n.shape[1]
        self.batches = 0
        self._out = [0] * places  # pulls out, of each arm that is played
        self._where = [0] * places  # the row of the last ask of each
        self._latest = 0  # the place of the last ask
        self._new: list[tuple[int, int]] = []  # row and place of pulls out that `ahead` does not have yet
        self._ready = True  # whether `ahead` is up to date, but for what is owed
        self._designed = True  # whether its design is
        self._owed: Owed | None = None  # what is still to be done, once somebody looks
        self._moved: set[int] = set()  # rows whose slots ahead are not

    def _record(self, row: int, arm: int, n: int, mean: float, squares: float) -> None:
        """Take told rewards into their cell."""
        rows = self.places.rows
        tables = rows.n, rows.mean, rows.squares
        if rows.n[row, arm] == 0.0 and not rows.n[row].any():
            self.places.told.append(row)
        cell = _Cell(*([table.item(row, arm)] for table in tables))  # plain numbers are quicker
        record(cell, 0, n, mean, squares)
        for table, (value,) in zip(tables, cell, strict=True):
            table[row, arm] = value

    def _tell(self, row: int, place: int, n: int, mean: float, squares: float) -> None:
        run, slot = self._runs[0], self.places.slot(row).kernels
        draw = self._draw(TELL, self.batches)
        self.program.take(self.params, run.state, run.data, slot, place, n, self.sign * mean, squares, draw)
        self.batches += 1
        self._told.changed.add(row)
        self._moved.add(row)
        self._ready = False
        if self._fits and self.batches % REFACTOR == 0:
            self._refactor()

    def _correct_cell(self, row: int, arm: int, old: float, new: float) -> None:
        """Replace one told reward in its cell by another."""
        rows = self.places.rows
        n, mean = rows.n[row, arm], rows.mean[row, arm]
        centre = mean + (new - old) / n
        spread = (new - centre) * (new - mean) - (old - centre) * (old - mean)
        rows.squares[row, arm] = max(0.0, rows.squares[row, arm] + spread) if n > 1 else 0.0
        rows.mean[row, arm] = centre if n > 1 else new

    def _refactor(self) -> None:
        """Replace the recursion's numbers by a fresh solve, so that rounding cannot add up."""
        fresh = self.solved()
        fit = self.memory.view.data.fit
        fit.P[:], fit.mu[:], fit.rss[0], fit.group[:] = fresh.P, self.sign * fresh.mu, fresh.rss, fresh.group
        self._designed = False

    def solved(self) -> Solution:
        """Return least squares of everything told of the arms that are played, rewards as they are."""
        rows = self.places.rows

        def read(which: Ints) -> Values:
            at = self.places.at(which, self.active)
            return rows.n[at], rows.mean[at], rows.squares[at]

        return self._told.solved(read)

    @property
    def fit(self) -> Any:
        """Least squares of told rewards, in the order of `active`, as kernels take it; high is good."""
        return self._runs[0].data.fit

    def sums_of(self, arms: Sequence[int]) -> RunningLaplacian:
        """Return the sums of these arms alone, made anew: their bits do not tell who looked."""
        rows, found = self.places.rows, RunningLaplacian(len(arms))
        found.changed = set(self.places.told)

        def read(which: Ints) -> Values:
            at = self.places.at(which, list(arms))
            return rows.n[at], self.sign * rows.mean[at], rows.squares[at]

        found.take_in(read)
        return found

    def _remember(self) -> None:
        """Remember this moment, if it is one of those from which a proof begins."""
        if self.then is None:
            return
        if new := self.then.newly_met(self.active, self.fit.group):
            self.then = self.then.joined(new, self.sums_of)
        if self.then.is_due(self.fit):
            self.then = self.then.later(self.sums_of(self.then.arms))

    def _retell_cells(self) -> None:
        rows = self.places.rows
        for row in self.places.told:
            for arm in np.flatnonzero(rows.n[row]).tolist():
                if arm in self._place:
                    numbers = rows.n[row, arm], rows.mean[row, arm], rows.squares[row, arm]
                    self._tell(row, self._place[arm], int(numbers[0]), float(numbers[1]), float(numbers[2]))

    def _retell_at_once(self, merges: Callable[[Any], bool]) -> None:
        """Do the same for a policy that reads nothing but the fit: one solve, whatever was told."""
        self._told.changed = set(self.places.told)
        if not self._told.changed:
            return
        told, rows = np.array(self.places.told), self.places.rows
        at = self.places.at(told, self.active)
        n = rows.n[at]
        first = self.places.fill(told, n, self.sign * rows.mean[at])
        found, data = self.solved(), self.memory.view.data
        fit = data.fit
        fit.P[:], fit.mu[:], fit.rss[0] = found.P, self.sign * found.mu, found.rss
        fit.group[:], fit.joins[0] = found.group, found.joins
        fit.told[0], fit.environments[0] = found.told, found.environments
        fit.first[:], fit.first_size[0] = n[first], n[first].sum()
        data.pulls[:] = n.sum(axis=0)
        run = self._runs[0]
        for place, pulls in enumerate(data.pulls.tolist()):  # until it has begun
            if pulls and not merges(run.state):
                slot, draw = self.places.slot(int(told[first])).kernels, self._draw(TELL, place)
                self.program.notice(self.params, run.state, run.data, slot, place, pulls, draw)

    def scaled(self) -> RescaledFit | None:
        """Return the fit on the scale of ratios or odds; None if there is none, or not yet."""
        merges = self.spec.policy.merges
        if self.scale == "difference" or merges is None or not merges(self._runs[0].state):
            return None
        rows = self.places.rows
        at = np.ix_(np.array(self.places.told), np.array(self.active))
        return scaled(self.scale, rows.n[at], rows.mean[at], rows.squares[at])

    def select(self, found: RescaledFit | None = None) -> int:
        """Return the arm that the policy would select now; `found` is the fit on its scale."""
        run = self._runs[0]
        if found is not None:
            copy = allocate(self.spec.layout(), len(self.active))
            copy.copy_from(self.memory)
            found.write(copy.view.data.fit, self.sign)
            run = self._shown(copy.view)
        draw = self._draw(SELECT, self.batches)
        return self.active[int(self.program.select(self.params, run.state, run.data, draw))]

    def known(self) -> tuple[int, Ints]:
        """Return how many rewards were told of the arms that are played, and each arm's connected group."""
        if not self._fits:
            found = self.solved()
            return found.told, group_components(found.group)
        fit = self.memory.view.data.fit
        return int(fit.told[0]), group_components(fit.group)

    def _draw(self, purpose: np.uint64, step: int) -> Draw:
        return Draw(self._seed, _ZERO, purpose, np.uint64(step))


def _two(kind: Any, places: int) -> tuple[Floats, Ints, list[Memory[Any]]]:
    """Return two states side by side in one pair of buffers, which are copied at once."""
    floats, ints = count_elements(kind, places)
    all_floats, all_ints = np.zeros(2 * floats), np.zeros(2 * ints, np.int64)
    halves = [
        view_buffers(
            kind, places, all_floats[i * floats : (i + 1) * floats], all_ints[i * ints : (i + 1) * ints]
        )
        for i in range(2)
    ]
    return all_floats, all_ints, halves
