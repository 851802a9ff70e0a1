"""Methods of an experiment that change its arms and budget, or pause, resume and stop it."""

from __future__ import annotations

from collections.abc import Iterable

from tideproof.checks import LARGEST_EXACT_INTEGER, require_list, require_whole_number
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.locking import ExperimentBase, writes_events
from tideproof.experiment.unit_assignments import checked_unit, hash_unit


class ControlMethods(ExperimentBase):
    """Base class of `Experiment` with the methods that change a running experiment."""

    @writes_events
    def add_arm(self, arm: str, by: str | None = None) -> None:
        """Add an arm to the experiment; the policy is rebuilt from all rewards recorded so far."""
        book = self._state.book
        checked_arms([*book.arms, arm])
        self._state.params(len(book.active) + 1, book.horizon)
        self._state.add(e.ArmAdded(self._now(), by, arm))

    @writes_events
    def retire_arm(self, arm: str, by: str | None = None) -> None:
        """Stop playing an arm; its rewards stay, and rewards of its pending pulls are still accepted.

        The policy and `recommend` then use only the rewards of the active arms. `fit` uses all rewards.
        """
        book = self._state.book
        number = book.arm_number(arm)
        if number in book.retired:
            return
        if len(book.active) <= 2:
            raise InputError(f"an experiment needs at least two arms: {arm!r} cannot be retired")
        self._state.bounds.check((a for a in book.active if a != number), book.arms)
        self._state.add(e.ArmRetired(self._now(), by, number))

    @writes_events
    def extend(self, budget: int | None, by: str | None = None) -> None:
        """Change the experiment's budget; the policy continues and plans for the new number of pulls."""
        book = self._state.book
        asked = len(book.pulls) - book.lost
        if budget is not None:
            budget = require_whole_number("budget", budget, max(asked, 1), LARGEST_EXACT_INTEGER)
        if budget != book.budget:
            self._state.params(len(book.active), budget)
            self._state.add(e.Extended(self._now(), by, budget))

    @writes_events
    def pause(self, why: str = "", by: str | None = None) -> None:
        """Pause the experiment: assign no new pulls until `resume` is called, but accept rewards."""
        if not self._state.book.paused:
            self._state.add(e.Paused(self._now(), by, _text("why", why)))

    @writes_events
    def resume(self, why: str = "", by: str | None = None) -> None:
        """Resume the experiment after a pause: assign pulls again."""
        if self._state.book.paused:
            self._state.add(e.Resumed(self._now(), by, _text("why", why)))

    @writes_events
    def stop(self, why: str = "", by: str | None = None, *, ship: str | None = None) -> None:
        """Stop the experiment permanently: assign no more pulls, but accept rewards of pending ones.

        Parameters
        ----------
        why
            Reason, recorded in the event log with the time.
        by
            Name of the person who decides.
        ship
            The arm that every visitor gets from now on. Without it, nothing is shipped, unless the stopping
            rule has found the best arm; `shipped` says which. A later call with another arm changes the
            decision. A later call without `ship` has no effect.
        """
        book = self._state.book
        arm = None if ship is None else book.arm_number(ship)
        if book.stop is None or arm not in (None, book.stop.ship):
            self._state.add(e.Stopped(self._now(), by, _text("why", why), arm))

    @writes_events
    def archive(self, why: str = "", by: str | None = None) -> None:
        """Archive a stopped experiment: lists omit it, and its flag has no value any more.

        Everything can still be read. `restore` ends it.
        """
        book = self._state.book
        if not book.stopped:
            raise InputError("the experiment is not stopped: call stop() before archive()")
        if book.archived_at is None:
            self._state.add(e.Archived(self._now(), by, _text("why", why)))

    @writes_events
    def restore(self, why: str = "", by: str | None = None) -> None:
        """Restore an archived experiment: lists show it again, and its flag has the shipped arm again."""
        if self._state.book.archived_at is not None:
            self._state.add(e.Restored(self._now(), by, _text("why", why)))

    @writes_events
    def note(self, text: str, by: str | None = None) -> None:
        """Add a free-text note to the event log."""
        self._state.add(e.Noted(self._now(), by, _text("text", text)))

    @writes_events
    def forget_units(self, by: str | None = None) -> None:
        """Delete the key of the hashed unit IDs, so that pulls can no longer be linked to units (visitors).

        Rewards of pending pulls are still accepted. A unit that asks again is treated as a new unit.
        """
        if self._state.book.salt:
            self._state.add(e.Salted(self._now(), by, ""))
        self._state.events[:] = e.without_forgotten(self._state.events)

    def forget_unit(self, unit: str | int, by: str | None = None) -> None:
        """Delete the hash of the ID of one unit (such as a visitor), so that nobody can link it to its pulls.

        Its rewards stay in all results, and rewards of its pending pulls are still accepted by their pulls.
        If it asks again, it is treated as a new unit.
        """
        self._forget_unit(unit, by)
        if self._shared is None:  # in a store, the events must be stored first
            self._state.events[:] = e.without_forgotten(self._state.events)

    @writes_events
    def _forget_unit(self, unit: str | int, by: str | None) -> None:
        name, book = checked_unit(unit), self._state.book
        hashed = hash_unit(name, book.salt) if book.salt else ""
        if hashed not in book.units:
            raise UnknownName(f"the unit {name!r} has no pull: there is nothing to delete")
        self._state.add(e.UnitForgotten(self._now(), by, (book.units[hashed],), hashed))


def _text(name: str, value: object) -> str:
    """Convert an argument, such as a note, to a string, or raise an error."""
    try:
        return str(value)
    except ValueError:
        raise InputError(f"{name} must be text that can be printed, not {describe_value(value)}") from None


def checked_control(control: str | None, arms: tuple[str, ...]) -> dict[str, str]:
    """Validate the option that names the control arm, and return it.

    The result is empty without a control arm.
    """
    if control is None:
        return {}
    if not isinstance(control, str) or control not in arms:
        raise UnknownName.with_suggestion("arm", control, arms, "as control=")
    return {"control": control}


def checked_arms(arms: Iterable[str]) -> tuple[str, ...]:
    """Return the arm names as a tuple, or raise an error unless they are at least two distinct strings."""
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
