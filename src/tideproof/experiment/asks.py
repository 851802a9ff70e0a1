"""Asking: which arm next, for anybody or for one unit, and taking pulls back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from tideproof.checks import LARGEST_EXACT_INTEGER, require_list, require_whole_number
from tideproof.errors import Finished, InputError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.locking import changing, locked
from tideproof.experiment.pull import CANCELLED, EXPIRED, OUT, Label, Pull, new_session
from tideproof.experiment.queries import Reading
from tideproof.experiment.tide_options import date_in, label_of
from tideproof.experiment.unit_assignments import arm_at, batch_size, checked_unit, hashed, new_salt, point
from tideproof.text import format_count


class Asking(Reading):
    """The asks of an experiment; one that is refused says what would be selected."""

    @overload
    def ask(
        self,
        *,
        environment: Label | None = None,
        n: None = None,
        unit: str | int | None = None,
        by: str | None = None,
    ) -> Pull: ...
    @overload
    def ask(self, *, environment: Label | None = None, n: int, by: str | None = None) -> list[Pull]: ...
    def ask(
        self,
        *,
        environment: Label | None = None,
        n: int | None = None,
        unit: str | int | None = None,
        by: str | None = None,
    ) -> Pull | list[Pull]:
        """Say which arm to play next, or the next `n` of them.

        Parameters
        ----------
        environment
            Where it will be played; without a label, the date if the experiment has a `time_zone`, else where
            this thread asked last. A label that comes back is the same environment (with `tide="both"` a
            new one). If the first ask has none, the experiment goes without (`tide`).
        n
            Number of pulls; the answer is then a list.
        unit
            Who gets it, such as a visitor: the same unit gets the same pull again, in the environment of
            its first. Units are spread over the arms by `shares`, whatever their order; only a hash of
            the name is kept.
        by
            Who asks, for the record.

        Raises
        ------
        Finished
            If fewer pulls than that are left, the policy has stopped, or the experiment is paused, stopped or
            sure.
        """
        environment = self._today() if environment is None else environment
        if unit is None:
            return self._ask(environment, n, by)
        if n is not None:
            raise InputError(f"a unit gets one pull: unit={unit!r} and n={n!r} cannot both be given")
        name = checked_unit(unit)
        while (pull := self._ask_unit(name, environment, by)) is None:
            self._plan(environment)
        return pull

    @changing
    def _ask(self, environment: Label | None, n: int | None, by: str | None) -> Pull | list[Pull]:
        wanted = 1 if n is None else require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        label = self._place(environment)
        book = self._state.book
        self._check_open(wanted)
        self._open()
        self._hide(environment)
        before = len(book.pulls)
        if self._state.ask(label, wanted, self._now(), by, None) is None:
            raise Finished(f"{self.policy.label} has stopped; {self._selected()}")
        self._here.label = label
        pulls = book.pulls[before:]
        return pulls[0] if n is None else pulls

    @changing
    def _ask_unit(self, name: str, environment: Label | None, by: str | None) -> Pull | None:
        """Return the pull of a unit; None if there is no plan to draw its arm from."""
        book = self._state.book
        label = self._place(environment)
        known = book.units.get(hashed(name, book.salt)) if book.salt else None
        if known is not None and book.status[known] != CANCELLED:
            return book.pulls[known]
        self._check_open(1)
        self._hide(environment)
        plan = book.plans.get(label)
        if plan is None:
            return None
        self._open()
        if not book.salt:
            self._state.add(e.Salted(self._now(), None, new_salt()))
        arm = arm_at(point(name, book.salt), plan.shares)
        if known is not None and (before := book.arms.index(book.pulls[known].arm)) in book.active:
            arm = before
        self._state.add(e.Asked(self._now(), by, label, (arm,), hashed(name, book.salt)))
        self._here.label = label
        return book.pulls[-1]

    def _plan(self, environment: Label | None) -> None:
        """Find the shares that the next units are drawn from."""
        trial, n, play, label = self._trial_for_units(environment)
        shares = trial.shares(n, play).tolist()
        if not any(shares):
            raise Finished(f"{self.policy.label} has stopped; {self._selected()}")
        self._share(label, n, tuple(shares), trial.active)

    @locked
    def _trial_for_units(self, environment: Label | None) -> Any:
        book = self._state.book
        label = self._place(environment)
        n = batch_size(len(book.active), len(book.pulls) - book.lost, book.remaining)
        return *self._trial(environment, n), label

    @changing
    def _share(self, label: Label, n: int, shares: tuple[float, ...], active: list[int]) -> None:
        book = self._state.book
        if active == book.active and len(shares) == len(book.arms) and label not in book.plans:
            self._state.add(e.Shared(self._now(), None, label, n, shares))

    def shares(self, *, environment: Label | None = None, n: int | None = None) -> dict[str, float]:
        """Return the share of each arm in the next pulls, without asking for them.

        Parameters
        ----------
        environment
            Where they would be played, as in `ask`.
        n
            Number of pulls, at most what is left of the budget; by default 100, or what is left if that is
            less. Up to 200, these are the shares in what `ask` would return; of more, the policy decides
            200 times for several pulls each.

        Raises
        ------
        Finished
            Where `ask` would raise it.
        """
        trial, count, play = self._trial(self._today() if environment is None else environment, n)
        found = trial.shares(count, play).tolist()
        if not any(found):
            raise Finished(f"{self.policy.label} has stopped; {self._selected()}")
        return dict(zip(self.arms, found, strict=False))

    @locked
    def _trial(self, environment: Label | None, n: int | None) -> Any:
        label = self._place(environment)
        remaining = self._state.book.remaining
        if n is None:
            n = 100 if remaining is None else max(1, min(100, remaining))
        count = require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        self._check_open(count)
        asked = len(self._state.book.pulls)
        return self._state.look(lambda: self._numbers.trial(label, asked)), count, self._state.play()

    def _check_open(self, wanted: int) -> None:
        """Raise if that many pulls cannot be asked for."""
        self._look()
        book = self._state.book
        if book.sure is not None:
            raise Finished(f"there is nothing left to ask: {self._selected()}")
        if book.stopped or book.paused:
            raise Finished(f"the experiment is {'stopped' if book.stopped else 'paused'}; {self._selected()}")
        if book.remaining is not None and wanted > book.remaining:
            raise Finished(
                f"asked for {format_count(wanted, 'pull')}, {book.remaining:,} of {book.budget:,} left; "
                f"{self._selected()}"
            )

    def _today(self) -> Label | None:
        """Return the date where the experiment is, if it is somewhere."""
        zone = self._state.created.options.get("time_zone")
        return None if zone is None else date_in(zone, self._now())

    def _place(self, environment: Label | None) -> Label:
        """Return where the next pull is played, or say why it cannot be there."""
        return label_of(self._state.book, environment, self._label)

    def _hide(self, environment: Label | None) -> None:
        """Go without labels if this is the first pull, and it has none."""
        if self._state.book.tide == "auto" and environment is None:
            self._state.add(e.Unlabelled(self._now(), None))

    def _open(self) -> None:
        """Give out ids of its own if the experiment comes from a file or another process."""
        if not self._opened:
            self._state.add(e.Opened(self._now(), None, new_session()))
            self._opened = True

    @changing
    def expose(self, pulls: Pull | str | Iterable[Pull | str], by: str | None = None) -> None:
        """Say that units saw their pulls: with `reserve`, only these count. A repeat is harmless.

        Several are noted all or, if one was taken back, none.
        """
        book = self._state.book
        given = [pulls] if isinstance(pulls, (Pull, str)) else require_list("pulls", pulls)
        numbers = dict.fromkeys(self._known(pull) for pull in given)
        for number in numbers:
            if book.status[number] == CANCELLED:
                raise InputError(f"pull {book.pulls[number].id} was taken back: ask for its unit again")
        new = tuple(number for number in numbers if number in book.reserved)
        if new:
            self._state.add(e.Exposed(self._now(), by, new))

    def cancel(self, pull: Pull | str, by: str | None = None) -> None:
        """Take back a pull whose reward will never come; it returns to the budget."""
        self.cancel_many([pull], by)

    @changing
    def cancel_many(self, pulls: Iterable[Pull | str], by: str | None = None) -> None:
        """Take back several pulls: all of them or, if one is not out, none."""
        book = self._state.book
        numbers = dict.fromkeys(self._known(pull) for pull in require_list("pulls", pulls))
        for number in numbers:
            if book.status[number] not in (OUT, CANCELLED, EXPIRED):
                raise InputError(
                    f"pull {book.pulls[number].id} is {book.status[number]} already; "
                    f"only a pull that is out can be cancelled"
                )
        out = tuple(number for number in numbers if book.status[number] == OUT)
        if out:
            self._state.add(e.Cancelled(self._now(), by, out))
