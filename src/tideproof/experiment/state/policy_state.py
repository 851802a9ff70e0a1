"""The arithmetic of an experiment: what an event changes in it, and how to go back.

What the policy knows of told rewards is in `told_rewards.py`, what pulls that are out add to that in
`pending_pulls.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from tideproof.core.array_layout import Floats, Ints
from tideproof.experiment.pull import Label
from tideproof.experiment.state.environment_rows import Saved
from tideproof.experiment.state.pending_pulls import Ahead
from tideproof.experiment.state.running_laplacian import LaplacianUndo
from tideproof.experiment.stopping.proof_checkpoints import Then
from tideproof.kernels.simulate.threefry import TELL


class Undo(NamedTuple):
    """What `PolicyState.restore` needs to go back."""

    floats: Floats
    ints: Ints
    counters: tuple[Any, ...]
    places: Saved
    rows: list[int]
    moved: tuple[set[int], set[int]]
    sums: tuple[LaplacianUndo, LaplacianUndo]


class PolicyState(Ahead):
    """Told rewards and pulls that are out, as events change them."""

    @property
    def behind(self) -> bool:
        """Whether something was told that the policy does not know yet: never."""
        return False

    def catch_up(self) -> None:
        """Take in what was told since."""

    # -- what events change

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Take in `n` told rewards of an arm, `settles` of them of pulls that are out."""
        row = self.places.row(label)
        self._record(row, arm, n, mean, squares)
        self._settle(row, arm, settles)
        if arm in self._place:
            if settles < n:
                self._designed = False
                self._design.changed.add(row)
            self._tell(row, self._place[arm], n, mean, squares)

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one told reward by another."""
        row = self.places.row(label)
        self._correct_cell(row, arm, old, new)
        if self.then is not None:
            self.then = Then.begin(self.active)
        if arm not in self._place:
            return
        merges, run = self.spec.policy.merges, self._runs[0]
        if self.spec.reads == {"fit"} and merges is not None and merges(run.state):
            slot = self.places.slot(row).kernels
            slot.mean[0] += self.sign * (new - old) / slot.size[0]
            self._told.changed.add(row)
            self._moved = self._moved | {row}
            self._refactor()
            draw = self._draw(TELL, self.batches)
            self.program.notice(self.params, run.state, run.data, slot, self._place[arm], 0, draw)
            self._ready = False
        else:
            self.rebuild()

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Take the places of `n` pulls that are out away: their rewards will not come."""
        row = self.places.row(label)
        self._settle(row, arm, n)
        if arm in self._place:
            self._designed = self._ready = False
            self._design.changed.add(row)
            self._moved.add(row)

    def set_params(self, params: Any) -> None:
        """Give the policy other params, its horizon being another."""
        if params != self.params:
            self.params = params
            self._ready = False

    def seat(self, arms: int, active: list[int], params: Any) -> None:
        """Begin the policy anew with these arms of that many, from the cells of everything told."""
        self.active, self.params = active, params
        if self.then is not None:
            self.then = self.then.seated(active)
        self.rebuild(arms)

    def rebuild(self, arms: int | None = None) -> None:
        """Begin the policy anew from the cells of everything told, with room for that many arms."""
        batches = self.batches
        self.places.reseat(arms or self.places.rows.n.shape[1], len(self.active))
        self._begin(len(self.active))
        rows = self.places.rows
        if self.spec.reads == {"fit"} and self.spec.policy.merges is not None:
            self._retell_at_once(self.spec.policy.merges)
        else:
            self._retell_cells()
        self.batches = max(batches, self.batches)
        self._out = rows.out[:, self.active].sum(axis=0).tolist()
        self._new.clear()
        self._ready = self._designed = False
        self._moved = set(range(len(self.places.labels)))
        self._told.changed = set(self.places.told)
        self._design.changed = set(self._moved)

    # -- going back

    def save(self, labels: Collection[Label]) -> Undo:
        """Return what to go back to after changes to these environments."""
        counters = (
            self.batches, self._out.copy(), self._where.copy(), self._latest, self._ready, self._designed,
            self._owed, self.params, tuple(self._new), self.then,
        )  # fmt: skip
        rows = [row for row in map(self.places.find, labels) if row is not None]
        laid = (row for row, _ in self._new)  # who looks ahead writes there
        return Undo(
            self._floats.copy(),
            self._ints.copy(),
            counters,
            self.places.save({*rows, *laid}),
            rows,
            (self._moved, self._moved.intersection(rows)),
            (self._told.save(rows), self._design.save(rows)),
        )

    def restore(self, undo: Undo) -> None:
        """Go back; may be done again where it was interrupted."""
        self._floats[:], self._ints[:] = undo.floats, undo.ints
        (self.batches, out, where, self._latest, self._ready, self._designed, self._owed,
         self.params, new, self.then) = undo.counters  # fmt: skip
        self._out, self._where, self._new = list(out), list(where), list(new)
        rows = {*undo.rows, *range(undo.places.labels, len(self.places.labels))}
        self._moved, among = undo.moved
        self._moved.difference_update(rows - among)
        for sums, kept in zip((self._told, self._design), undo.sums, strict=True):
            sums.restore(kept, rows)
        self.places.restore(undo.places)

    # -- all of it

    def contents(self) -> list[Any]:
        """Return everything but parameters, to be given to `refill`."""
        if self._ready:
            self._pay()
        single = [self.batches, self._latest, self._ready, self._designed]
        lists = [self._out, self._where, self._new, sorted(self._moved)]
        parts = [self.places.contents(), self._told.contents(), self._design.contents()]
        then = None if self.then is None else self.then.contents()
        return [self._floats, self._ints, single, lists, parts, then]

    def refill(self, arms: int, active: list[int], params: Any, contents: Any) -> None:
        """Be what another was."""
        floats, ints, single, (out, where, new, moved), (places, told, design), then = contents
        self.active, self.params = active, params
        self.places.reseat(arms, len(active))
        self._begin(len(active))
        self._floats[:], self._ints[:] = floats, ints
        self.batches, self._latest, self._ready, self._designed = single
        self._out, self._where, self._moved = list(out), list(where), set(moved)
        self._new = [(row, place) for row, place in new]
        self.places.refill(places)
        self._told.refill(told)
        self.then = None if then is None else Then.of(*then)
        self._design.refill(design)

    def buffers(self) -> list[bytes]:
        """Return all numbers of the policy and of the environments, byte by byte."""
        self.look_ahead()
        self._clear_scratch()
        count = len(self.places.labels)
        rows = (array[:count].tobytes() for array in self.places.rows)
        both = (each.tobytes() for m in (self.memory, self.ahead) for each in (m.floats, m.ints))
        then = () if self.then is None else (self.then.proof.floats.tobytes(),)
        return [*both, *rows, *then]

    def _clear_scratch(self) -> None:
        """Empty what kernels work on, so that the bytes do not tell who looked."""
        for array in self._scratch:
            array.fill(0.0)
