"""Changing what an experiment is about while it runs: its arms, its budget, whether it goes on."""

from __future__ import annotations

from collections.abc import Iterable

from tideproof.checks import LARGEST_EXACT_INTEGER, require_list, require_whole_number
from tideproof.errors import InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.locking import Handle, changing


class Steering(Handle):
    """What its owner may change."""

    @changing
    def add_arm(self, arm: str, by: str | None = None) -> None:
        """Add an arm; the policy begins anew with everything told so far."""
        book = self._state.book
        checked_arms([*book.arms, arm])
        self._state.params(len(book.active) + 1, book.horizon)
        self._state.add(e.ArmAdded(self._now(), by, arm))

    @changing
    def retire_arm(self, arm: str, by: str | None = None) -> None:
        """Play an arm no more; what was told of it stays, and rewards that are out may still come.

        The policy and `recommend` go on by the rewards of the arms that are played; `fit` has all.
        """
        book = self._state.book
        number = book.arm_number(arm)
        if number in book.retired:
            return
        if len(book.active) <= 2:
            raise InputError(f"an experiment needs at least two arms: {arm!r} cannot be retired")
        self._state.bounds.check((a for a in book.active if a != number), book.arms)
        self._state.add(e.ArmRetired(self._now(), by, number))

    @changing
    def extend(self, budget: int | None, by: str | None = None) -> None:
        """Set another budget; the policy goes on with the new horizon."""
        book = self._state.book
        asked = len(book.pulls) - book.lost
        if budget is not None:
            budget = require_whole_number("budget", budget, max(asked, 1), LARGEST_EXACT_INTEGER)
        if budget != book.budget:
            self._state.params(len(book.active), budget)
            self._state.add(e.Extended(self._now(), by, budget))

    @changing
    def pause(self, why: str = "", by: str | None = None) -> None:
        """Ask for nothing until it is resumed; rewards may be told."""
        if not self._state.book.paused:
            self._state.add(e.Paused(self._now(), by, _text("why", why)))

    @changing
    def resume(self, why: str = "", by: str | None = None) -> None:
        """Ask again."""
        if self._state.book.paused:
            self._state.add(e.Resumed(self._now(), by, _text("why", why)))

    @changing
    def stop(self, why: str = "", by: str | None = None) -> None:
        """Ask for nothing ever again; rewards of pulls that are out may be told."""
        if not self._state.book.stopped:
            self._state.add(e.Stopped(self._now(), by, _text("why", why)))

    @changing
    def note(self, text: str, by: str | None = None) -> None:
        """Write something down beside the events."""
        self._state.add(e.Noted(self._now(), by, _text("text", text)))

    @changing
    def forget_units(self, by: str | None = None) -> None:
        """Delete the salt of the units' hashes: nobody can say any more who got what.

        Pulls that are out may still be told. A unit that comes again is a new one.
        """
        if self._state.book.salt:
            self._state.add(e.Salted(self._now(), by, ""))
        self._state.events[:] = e.without_old_salts(self._state.events)


def _text(name: str, value: object) -> str:
    """Return a value as it is written, or say that it cannot be."""
    try:
        return str(value)
    except ValueError:
        raise InputError(f"{name} must be something to write down, not {describe_value(value)}") from None


def checked_arms(arms: Iterable[str]) -> tuple[str, ...]:
    """Return the names of arms, or say what is wrong with them."""
    names = (arms,) if isinstance(arms, str) else tuple(require_list("arms", arms))
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"an arm's name must be a string, not {describe_value(name)}")
    if len(names) < 2:
        raise InputError(f"an experiment needs at least two arms, not {len(names)}: {list(names)}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"arms must have different names; more than once: {', '.join(twice)}")
    return names
