"""The arithmetic of an experiment: what its policy knows of told rewards, and of the pulls that are out.

`memory` has told rewards only. `ahead` is what the policy decides by: the same estimates, with the place in
the design of every pull that is out. Telling a pull moves no place, so the design in `ahead` follows asks one
by one, and is made anew only after what takes places away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.arrays import Floats, Ints, Memory, allocate, room, scratch, within
from tideproof.core.plain import plain
from tideproof.kernels.moments import record
from tideproof.kernels.random import ASK, SELECT, TELL, Draw
from tideproof.kernels.slot import Slot
from tideproof.live.compiled import compiled_asks
from tideproof.live.environments import Environments, Saved
from tideproof.live.pull import Label
from tideproof.live.sums import Kept, Sums, Values
from tideproof.live.trial import Trial
from tideproof.policies.spec import PolicySpec
from tideproof.stats.solve import Solution, component_of

_ZERO = np.uint64(0)
REFACTOR = 4096  # told batches between two fresh solves; a million updates drift by 2e-8 without


class Undo(NamedTuple):
    """What `Numbers.restore` needs to go back."""

    floats: Floats
    ints: Ints
    counters: tuple[Any, ...]
    places: Saved
    rows: list[int]
    moved: tuple[set[int], set[int]]
    sums: tuple[Kept, Kept]


class _Cell(NamedTuple):
    """One row of cells, as `record` writes it."""

    told: Any
    mean: Any
    squares: Any


class Numbers:
    """The state of a policy, and the cells of everything told.

    Attributes
    ----------
    active : the arms that the policy plays, by their number in the experiment.
    memory, ahead : (state, data, slot) of told rewards, and with the pulls that are out.
    places : slots and cells of every environment.
    batches : told batches so far, single rewards and summaries alike.
    """

    def __init__(self, spec: PolicySpec, arms: int, seed: int, sign: float, horizon: int | None) -> None:
        self.spec, self.seed, self.sign = spec, seed, sign
        self._seed = np.uint64(seed)
        plain_program = spec.plain_program()
        self.program = plain_program or spec.program()
        self._shown: Callable[[Any], Any] = (lambda view: view) if plain_program is None else plain
        self.active = list(range(arms))
        self.params = spec.params(arms, horizon)
        self.places = Environments(arms, arms, self._shown)
        self._begin(arms)

    def _begin(self, places: int) -> None:
        self._floats, self._ints, (self.memory, self.ahead) = _two(self.spec.layout(), places)
        self._scratch = [array for each in (self.memory, self.ahead) for array in scratch(each.view)]
        self._runs = [self._shown(each.view) for each in (self.memory, self.ahead)]  # as kernels take them
        self._nowhere = self._shown(allocate(Slot, places).view)
        self._place = {arm: i for i, arm in enumerate(self.active)}
        self._told, self._design = Sums(places), Sums(places)
        self._fits = "fit" in self.spec.reads
        self.batches = 0
        self._out = [0] * places  # pulls out, of each arm that is played
        self._where = [0] * places  # the row of the last ask of each
        self._latest = 0  # the place of the last ask
        self._new: list[tuple[int, int]] = []  # row and place of pulls out that `ahead` does not have yet
        self._ready = True  # whether `ahead` is up to date
        self._designed = True  # whether its design is
        self._moved: set[int] = set()  # rows whose slots ahead are not

    # -- going back

    def save(self, labels: Collection[Label]) -> Undo:
        """Return what to go back to after changes to these environments."""
        counters = (
            self.batches, self._out.copy(), self._where.copy(), self._latest, self._ready, self._designed,
            self.params, tuple(self._new),
        )  # fmt: skip
        laid = {self.places.labels[row] for row, _ in self._new}  # who looks ahead writes there
        rows = [row for row in map(self.places.find, labels) if row is not None]
        return Undo(
            self._floats.copy(),
            self._ints.copy(),
            counters,
            self.places.save({*labels, *laid}),
            rows,
            (self._moved, self._moved.intersection(rows)),
            (self._told.save(rows), self._design.save(rows)),
        )

    def restore(self, undo: Undo) -> None:
        """Go back; may be done again where it was interrupted."""
        self._floats[:], self._ints[:] = undo.floats, undo.ints
        (self.batches, out, where, self._latest, self._ready, self._designed, self.params,
         new) = undo.counters  # fmt: skip
        self._out, self._where, self._new = list(out), list(where), list(new)
        rows = {*undo.rows, *range(undo.places.labels, len(self.places.labels))}
        self._moved, among = undo.moved
        self._moved.difference_update(rows - among)
        for sums, kept in zip((self._told, self._design), undo.sums, strict=True):
            sums.restore(kept, rows)
        self.places.restore(undo.places)

    # -- told rewards

    def take(self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int) -> None:
        """Take in `n` told rewards of an arm, `settles` of them of pulls that are out."""
        row = self.places.row(label)
        rows = self.places.rows
        if not rows.n[row].any():
            self.places.told.append(row)
        record(_Cell(rows.n[row], rows.mean[row], rows.squares[row]), arm, n, mean, squares)
        self._settle(row, arm, settles)
        if arm in self._place:
            if settles < n:
                self._designed = False
                self._design.changed.add(row)
            self._tell(row, self._place[arm], n, mean, squares)

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
            at = np.ix_(which, np.array(self.active))
            return rows.n[at], rows.mean[at], rows.squares[at]

        return self._told.solved(read)

    def correct(self, label: Label, arm: int, old: float, new: float) -> None:
        """Replace one told reward by another."""
        row = self.places.row(label)
        rows = self.places.rows
        n, mean = rows.n[row, arm], rows.mean[row, arm]
        centre = mean + (new - old) / n
        spread = (new - centre) * (new - mean) - (old - centre) * (old - mean)
        rows.squares[row, arm] = max(0.0, rows.squares[row, arm] + spread) if n > 1 else 0.0
        rows.mean[row, arm] = centre if n > 1 else new
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

    # -- pulls that are out

    def ask(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Return the next arms, which are then out; fewer than `n` if the policy stops.

        `first` is the number of the first of these pulls, which its draws follow; `play` makes of each arm
        that the policy chooses the one that is played.
        """
        self.look_ahead()
        row = self.places.row(label)
        if n > 1 and play is None:
            places = np.zeros(n, np.int64)
            chosen = places[: self._next_places(row, first, places)].tolist()
            self._note(row, chosen)
            asked = [self.active[place] for place in chosen]
        else:
            asked = self._ask_one_by_one(row, n, first, play)
        return asked

    def _ask_one_by_one(self, row: int, n: int, first: int, play: Callable[[int], int] | None) -> list[int]:
        run, slot = self._runs[1], self.places.ahead(row).kernels
        asked: list[int] = []
        for step in range(first, first + n):
            self._lay()
            place = int(self.program.ask(self.params, run.state, run.data, slot, self._draw(ASK, step)))
            if place < 0:
                break
            arm = self.active[place]
            asked.append(arm if play is None else play(arm))
            self.expect(row, asked[-1])
        return asked

    def _next_places(self, row: int, first: int, places: Ints) -> int:
        """Fill in the places of the next arms, give all but the last theirs in the design, and count them."""
        run, slot = self.ahead.view, self.places.ahead(row)
        steps = [np.uint64(step) for step in (self.seed, first, self.batches + sum(self._out))]
        program = compiled_asks(
            self.spec, places.size, self.params, run.state, run.data, slot.memory.view, *steps
        )
        if program is not None:
            count = program(self.params, run.state, run.data, slot.memory.view, *steps, places)
        else:
            run = self._runs[1]
            count = self.program.ask_many(
                self.params, run.state, run.data, slot.kernels, *steps, self._shown(places)
            )
        if count < places.size:  # it stopped, or what it returned is refused here
            draw = self._draw(ASK, first + int(count))
            self.program.ask(self.params, *self._runs[1][:2], slot.kernels, draw)
        return int(count)

    def next_arm(self, label: Label, step: int) -> int:
        """Return the next arm, or -1 if the policy has stopped."""
        self.look_ahead()
        row = self.places.find(label)
        slot = self._nowhere if row is None else self.places.ahead(row).kernels
        run = self._runs[1]
        place = int(self.program.ask(self.params, run.state, run.data, slot, self._draw(ASK, step)))
        return self.active[place] if place >= 0 else -1

    def trial(self, label: Label, step: int) -> Trial:
        """Return a copy of what the policy knows, to play on."""
        self.look_ahead()
        row, places = self.places.find(label), len(self.active)
        run, slot = allocate(self.spec.layout(), places), allocate(Slot, places)
        run.copy_from(self.ahead)
        if row is not None:
            slot.copy_from(self.places.ahead(row).memory)
        expected = self.batches + sum(self._out)
        arms = self.places.rows.n.shape[1]
        seen = self._shown(run.view), self._shown(slot.view)
        return Trial(self.program, self.params, *seen, self.seed, step, expected, self.active, arms)

    def _clear_scratch(self) -> None:
        """Empty what kernels work on, so that the bytes do not tell who looked."""
        for array in self._scratch:
            array.fill(0.0)

    def expect(self, row: int, arm: int) -> None:
        """Note a pull that is out; it gets its place in the design when somebody looks ahead."""
        self.places.rows.out[row, arm] += 1
        if arm in self._place:
            place = self._place[arm]
            self._new.append((row, place))
            self._out[place] += 1
            self._where[place] = row
            self._latest = place
            self._design.changed.add(row)

    def _note(self, row: int, places: list[int]) -> None:
        """Note that pulls of these places are out, all but the last laid on the design already."""
        if places:
            out, last = self.places.rows.out[row], places[-1]
            for place in set(places):
                n = places.count(place)
                out[self.active[place]] += n
                self._out[place] += n
                self._where[place] = row
            self._latest = last
            self._new.append((row, last))
            self._design.changed.add(row)

    def _lay(self) -> None:
        """Lay new pulls on the design and tell the policy of them, `ahead` being up to date else."""
        if not self._new:
            return
        run, out = self._runs[1], sum(self._out) - len(self._new)
        for step, (row, place) in enumerate(self._new, self.batches + out):
            slot = self.places.ahead(row).kernels
            self.program.expect(self.params, run.state, run.data, slot, place, 1, self._draw(TELL, step))
        self._new.clear()

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Take the places of `n` pulls that are out away: their rewards will not come."""
        row = self.places.row(label)
        self._settle(row, arm, n)
        if arm in self._place:
            self._designed = self._ready = False
            self._design.changed.add(row)
            self._moved.add(row)

    def _settle(self, row: int, arm: int, n: int) -> None:
        self.places.rows.out[row, arm] -= n
        if arm in self._place:
            self._out[self._place[arm]] -= n

    def look_ahead(self) -> None:
        """Bring `ahead` up to date: told rewards, and the place of every pull that is out."""
        if self._ready:
            self._lay()
            return
        design: Any = None
        data = self.ahead.view.data
        for row, place in self._new:  # told meanwhile or not, it has its place
            self.program.reserve(self._runs[1].data, self.places.ahead(row).kernels, place, 1)
        if self._fits and self._designed and any(self._out):
            design = data.fit.P.copy(), data.fit.group.copy(), data.fit.joins.copy()
        self._new.clear()
        for row in self.places.lay_plain(self._moved):
            self._lay_slot(row)
        self._moved = set()
        self.ahead.copy_from(self.memory)
        if any(self._out):
            if self._fits:
                fit = self.ahead.view.data.fit
                fit.P[:], fit.group[:], fit.joins[:] = design if design is not None else self._made_anew()
                self._lay_first(fit)
            self._notice()
        self._ready = self._designed = True

    def finish(self) -> None:
        """End an event: take what it did to the design into the sums, so that bits do not tell who looked."""
        if self._fits and not self._designed:
            self._design.take_in(self._places_taken)

    def _made_anew(self) -> tuple[Any, Any, Any]:
        found = self._design.solved(self._places_taken)
        return found.P, found.group, found.joins

    def _places_taken(self, which: Ints) -> Values:
        """Return the pulls told and out in these rows, which have no rewards."""
        at = np.ix_(which, np.array(self.active))
        counts = self.places.rows.n[at] + self.places.rows.out[at]
        return counts, np.zeros_like(counts), np.zeros_like(counts)

    def _lay_slot(self, row: int) -> None:
        """Make the slot ahead that of told rewards, with the pulls that are out."""
        ahead = self.places.ahead(row)
        ahead.memory.copy_from(self.places.slot(row).memory)
        self.program.enter_out(ahead.kernels, self._shown(self.places.rows.out[row, self.active]))

    def _lay_first(self, fit: Any) -> None:
        """Count the pulls that are out in the environment of the first reward, the paper's gauge."""
        for row in self.places.told[:1]:
            slot = self.places.ahead(row).memory.view
            if slot.first[0] == 1:
                fit.first[:], fit.first_size[0] = slot.counts, slot.size[0]

    def _notice(self) -> None:
        """Tell the policy of the pulls that are out: in one batch if it can bear that, else arm by arm."""
        run, out, merges = self._runs[1], self._out, self.spec.policy.merges
        self.ahead.view.data.pulls[:] += out
        order = [place for place, n in enumerate(out) if n and place != self._latest]
        if out[self._latest]:
            order.append(self._latest)
        batches = [(place, out[place]) for place in order]
        if merges is not None and merges(run.state):
            batches = [(order[-1], sum(out))]
        for step, (place, n) in enumerate(batches):
            slot = self.places.ahead(self._where[place]).kernels
            if place == self._latest and slot.size[0] <= 1.0:  # the first pull of its environment
                slot = self._nowhere
            draw = self._draw(TELL, self.batches + step)
            self.program.notice(self.params, run.state, run.data, slot, place, n, draw)

    def set_params(self, params: Any) -> None:
        """Give the policy other params, its horizon being another."""
        if params != self.params:
            self.params = params
            self._ready = False

    # -- arms that come and go

    def seat(self, arms: int, active: list[int], params: Any) -> None:
        """Begin the policy anew with these arms of that many, from the cells of everything told."""
        self.active, self.params = active, params
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
        at = np.ix_(told, np.array(self.active))
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

    # -- all of it

    def contents(self) -> list[Any]:
        """Return everything but parameters, to be given to `refill`."""
        single = [self.batches, self._latest, self._ready, self._designed]
        lists = [self._out, self._where, self._new, sorted(self._moved)]
        parts = [self.places.contents(), self._told.contents(), self._design.contents()]
        return [self._floats, self._ints, single, lists, parts]

    def refill(self, arms: int, active: list[int], params: Any, contents: Any) -> None:
        """Be what another was."""
        floats, ints, single, (out, where, new, moved), (places, told, design) = contents
        self.active, self.params = active, params
        self.places.reseat(arms, len(active))
        self._begin(len(active))
        self._floats[:], self._ints[:] = floats, ints
        self.batches, self._latest, self._ready, self._designed = single
        self._out, self._where, self._moved = list(out), list(where), set(moved)
        self._new = [(row, place) for row, place in new]
        self.places.refill(places)
        self._told.refill(told)
        self._design.refill(design)

    # -- reading

    def select(self) -> int:
        """Return the arm that the policy would select now."""
        run = self._runs[0]
        draw = self._draw(SELECT, self.batches)
        return self.active[int(self.program.select(self.params, run.state, run.data, draw))]

    def estimate(self) -> Solution:
        """Return a copy of what the policy itself goes by, or least squares if it reads no fit.

        Rewards are as they are, whatever the direction.
        """
        if not self._fits:
            return self.solved()
        fit = self.memory.view.data.fit
        return Solution(
            fit.P.copy(), self.sign * fit.mu, float(fit.rss[0]), component_of(fit.group), fit.group.copy(),
            int(fit.told[0]), int(fit.environments[0]), int(fit.joins[0]),
        )  # fmt: skip

    def buffers(self) -> list[bytes]:
        """Return all numbers of the policy and of the environments, byte by byte."""
        self.look_ahead()
        self._clear_scratch()
        count = len(self.places.labels)
        rows = (array[:count].tobytes() for array in self.places.rows)
        both = (each.tobytes() for m in (self.memory, self.ahead) for each in (m.floats, m.ints))
        return [*both, *rows]

    def _draw(self, purpose: np.uint64, step: int) -> Draw:
        return Draw(self._seed, _ZERO, purpose, np.uint64(step))


def _two(kind: Any, places: int) -> tuple[Floats, Ints, list[Memory[Any]]]:
    """Return two states side by side in one pair of buffers, which are copied at once."""
    floats, ints = room(kind, places)
    all_floats, all_ints = np.zeros(2 * floats), np.zeros(2 * ints, np.int64)
    halves = [
        within(kind, places, all_floats[i * floats : (i + 1) * floats], all_ints[i * ints : (i + 1) * ints])
        for i in range(2)
    ]
    return all_floats, all_ints, halves
