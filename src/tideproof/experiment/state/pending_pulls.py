"""What pulls that are out do to what the policy decides by: the design ahead.

`ahead` has the estimates of `memory`, with the place in the design of every pull that is out. Telling a pull
moves no place, so the design follows asks one by one, and is made anew only after what takes places away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tideproof.core.array_layout import Ints, allocate
from tideproof.experiment.compiled_asks import compiled_asks
from tideproof.experiment.lookahead import Trial
from tideproof.experiment.pull import Label
from tideproof.experiment.state.running_laplacian import Values
from tideproof.experiment.state.told_rewards import Owed, ToldRewards
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.simulate.threefry import ASK, TELL

FEW = 3  # slots that are laid one by one


class Ahead(ToldRewards):
    """Asks, and the place of every pull that is out."""

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

    def _settle(self, row: int, arm: int, n: int) -> None:
        self.places.rows.out[row, arm] -= n
        if arm in self._place:
            self._out[self._place[arm]] -= n

    def look_ahead(self) -> None:
        """Bring `ahead` up to date: told rewards, and the place of every pull that is out."""
        if self._ready:
            self._pay()
            self._lay()
        else:
            self._lay_design()
            self._lay_rest()

    def make_ready(self) -> None:
        """Bring the design ahead to where an ask had it that is now repeated.

        Where that can be found out later to the same bytes, the rest is owed until somebody looks: mostly
        another reward comes before.
        """
        if self._ready or not self._can_wait():
            self.look_ahead()
        else:
            self._lay_design()
            self._owed = Owed(self._out.copy(), self._where.copy(), self._latest)
            self._ready = True

    def _can_wait(self) -> bool:
        """Return whether what is laid next on the design depends on nothing that would be owed.

        On the scale of ratios or odds it does: all pulls out, those of later asks too, are laid on a new fit.
        """
        plain = self.spec.policy.tide == "labels" and self.scale == "difference"
        return plain and self._designed and any(self._out)

    def _pay(self) -> None:
        """Do what is owed: nothing but asks has come since."""
        if self._owed is not None:
            now = self._out, self._where, self._latest
            self._out, self._where, self._latest = self._owed
            self._lay_rest()
            self._out, self._where, self._latest = now

    def _lay_design(self) -> None:
        """Lay pulls that are new on the design, and make slots those of told rewards with the pulls out."""
        out = any(self._out)
        for row, place in self._new if out else ():  # told meanwhile or not, it has its place
            self.program.reserve(self._runs[1].data, self.places.ahead(row).kernels, place, 1)
        self._new.clear()
        if len(self._moved) > FEW:
            self.places.lay(self._moved, self.active, self._cells)
        else:
            for row in self._moved:
                self._lay_slot(row)
        self._moved = set()

    def _lay_rest(self) -> None:
        """Take told rewards in, keep the design, and tell the policy of the pulls that are out."""
        design: Any = None
        data, out = self.ahead.view.data, any(self._out)
        if self._fits and self._designed and out:
            design = data.fit.P.copy(), data.fit.group.copy(), data.fit.joins.copy()
        self.ahead.copy_from(self.memory)
        found = self.scaled()
        if found is not None:
            found.write(data.fit, self.sign)
        if out:
            if self._fits:
                fit = data.fit
                if found is not None:
                    self._lay_out()
                else:
                    fit.P[:], fit.group[:], fit.joins[:] = design if design is not None else self._made_anew()
                self._lay_first(fit)
            self._notice()
        elif found is not None:
            run = self._runs[1]
            draw = self._draw(TELL, self.batches)
            self.program.notice(self.params, run.state, run.data, self._nowhere, self._latest, 0, draw)
        self._ready, self._designed, self._owed = True, found is None, None

    def finish(self) -> None:
        """End an event: take what it did to the design into the sums, so that bits do not tell who looked.

        Remember the moment, if a proof may begin there.
        """
        if self._fits and not self._designed:
            self._design.take_in(self._places_taken)
        self._remember()

    def _lay_out(self) -> None:
        """Lay all pulls that are out on the design of told rewards."""
        data, rows = self.ahead.view.data, self.places.rows
        slot = allocate(Slot, len(self.active))
        pulls, kernels = data.pulls.copy(), self._shown(slot.view)
        for row in np.flatnonzero(rows.out[: len(self.places.labels)].any(axis=1)).tolist():
            slot.copy_from(self.places.slot(row).memory)
            for place, n in enumerate(rows.out[row, self.active].tolist()):
                if n:
                    self.program.reserve(self._runs[1].data, kernels, place, n)
        data.pulls[:] = pulls  # who notices them counts them

    def _made_anew(self) -> tuple[Any, Any, Any]:
        found = self._design.solved(self._places_taken)
        return found.P, found.group, found.joins

    def _places_taken(self, which: Ints) -> Values:
        """Return the pulls told and out in these rows, which have no rewards."""
        at = self.places.at(which, self.active)
        counts = self.places.rows.n[at] + self.places.rows.out[at]
        zero = np.broadcast_to(0.0, counts.shape)
        return counts, zero, zero

    def _lay_slot(self, row: int) -> None:
        """Make the slot ahead that of told rewards, with the pulls that are out."""
        ahead, counts = self.places.ahead(row), self.places.rows.out[row].tolist()
        ahead.memory.copy_from(self.places.slot(row).memory)
        out = counts if self._all_played else [counts[arm] for arm in self.active]
        if not any(out):
            return
        if self._cells:
            self.program.enter_pending(ahead.kernels, self._shown(np.array(out)))
            return
        slot = ahead.kernels  # what `enter_pending` does, at once
        slot.counts[:] = [n + more for n, more in zip(slot.counts[:], out, strict=True)]
        slot.size[0] += sum(out)
        slot.each[0] = 1.0 / slot.size[0]
        slot.mean[0] += 0.0  # no zero is negative after a sum
        slot.arm[0] = max(place for place, n in enumerate(out) if n)

    def _lay_first(self, fit: Any) -> None:
        """Count the pulls that are out in the environment of the first reward, the paper's gauge."""
        for row in self.places.told[:1]:
            slot = self.places.ahead(row).memory.view
            if slot.first[0] == 1:
                fit.first[:], fit.first_size[0] = slot.counts, slot.size[0]

    def _notice(self) -> None:
        """Tell the policy of the pulls that are out: in one batch if it can bear that, else arm by arm."""
        run, out, merges = self._runs[1], self._out, self.spec.policy.merges
        pulls = run.data.pulls
        pulls[:] = [n + more for n, more in zip(pulls[:], out, strict=True)]
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
