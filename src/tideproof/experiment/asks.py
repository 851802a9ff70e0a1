"""Methods of an experiment that assign and cancel pulls, and record that visitors have seen their arms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from tideproof.checks import LARGEST_EXACT_INTEGER, require_list, require_whole_number
from tideproof.errors import Finished, InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.locking import locked, writes_events
from tideproof.experiment.options.tide_options import date_in, label_of
from tideproof.experiment.pull import Label, Pull, PullStatus, new_session
from tideproof.experiment.queries import QueryMethods
from tideproof.experiment.recommendation_text import selection_text, shipping_text
from tideproof.experiment.stopping.look_rule import LookStopRule
from tideproof.experiment.unit_assignments import (
    arm_at,
    batch_size,
    checked_unit,
    hash_unit,
    new_salt,
    unit_fraction,
)
from tideproof.text import format_count


class AskMethods(QueryMethods):
    """Base class of `Experiment` with the methods that assign pulls and cancel them.

    An ask that is refused raises `Finished`, with the arm that would be selected now in its message.
    """

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
        """Return the next pull, or a list of the next `n` pulls.

        Parameters
        ----------
        environment
            Label of the environment in which the arm will be played; not allowed if the experiment has the
            option `environments`. By default the current date if the
            experiment has a `time_zone`, else the environment of this thread's last ask. A label that was
            used before means the same environment again (with `tide="both"`, a new one). If the first ask has
            no label, the experiment runs without labels (see `tide`).
        n
            Number of pulls. If it is given, the method returns a list.
        unit
            ID of the visitor, customer or machine that gets the arm. A unit that asks again gets the same
            pull, in the environment of its first ask, until the experiment is stopped. Units are assigned to
            arms at random in proportion to `shares`. Only a hash of the ID is stored.
        by
            Name of the caller, recorded in the event log.

        Raises
        ------
        Finished
            If the budget has fewer pulls left, if the policy has stopped, or if the experiment is paused,
            stopped or complete.
        """
        if self._state.settings.environments is not None:
            self._check_pair_ask(environment, unit)
            return self._ask_pairs(n, by)
        environment = self._today() if environment is None else environment
        if unit is None:
            return self._ask(environment, n, by)
        if n is not None:
            raise InputError(f"unit={unit!r} and n={n!r} cannot be combined, because a unit gets one pull")
        name = checked_unit(unit)
        while (pull := self._ask_unit(name, environment, by)) is None:
            self._plan_shares(environment)
        return pull

    @writes_events
    def _ask(self, environment: Label | None, n: int | None, by: str | None) -> Pull | list[Pull]:
        count = 1 if n is None else require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        label = self._environment_label(environment)
        book = self._state.book
        self._check_open(count)
        self._start_session()
        self._hide_tide(environment)
        before = len(book.pulls)
        if self._state.ask(label, count, self._now(), by, None) is None:
            raise self._policy_stopped()
        self._thread.label = label
        pulls = book.pulls[before:]
        return pulls[0] if n is None else pulls

    def _check_pair_ask(self, environment: Label | None, unit: str | int | None) -> None:
        for name, given in (("environment", environment), ("unit", unit)):
            if given is not None:
                raise InputError(
                    f"{name}={describe_value(given)} is not allowed: the policy of this experiment chooses "
                    f"the "
                    f"environment of each pull itself. Call ask() or ask(n=...)"
                )

    @writes_events
    def _ask_pairs(self, n: int | None, by: str | None) -> Pull | list[Pull]:
        count = 1 if n is None else require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        book = self._state.book
        self._check_open(count)
        self._start_session()
        before = len(book.pulls)
        if self._state.ask_pairs(count, self._now(), by) is None:
            raise self._no_pair_left(count)
        pulls = book.pulls[before:]
        return pulls[0] if n is None else pulls

    def _no_pair_left(self, wanted: int) -> Finished:
        possible = len(self._state.choose_pairs(wanted))
        pending = len(self._state.book.pending)
        return Finished(
            f"{format_count(wanted, 'pull')} {'was' if wanted == 1 else 'were'} requested, but {possible:,} "
            f"can be "
            f"assigned now: the other pairs of an arm and an environment were asked for or cannot change the "
            f"result, and {format_count(pending, 'pull')} {'is' if pending == 1 else 'are'} pending; "
            f"{selection_text(self._selected())}"
        )

    @writes_events
    def _ask_unit(self, name: str, environment: Label | None, by: str | None) -> Pull | None:
        """Return the pull that is assigned to a unit, such as a visitor.

        Return None if the shares of the arms must be computed first.
        """
        book = self._state.book
        label = self._environment_label(environment)
        known = book.units.get(hash_unit(name, book.salt)) if book.salt else None
        if known is not None and not book.stopped and book.status[known] != PullStatus.CANCELLED:
            return book.pulls[known]
        self._check_open(1)
        self._hide_tide(environment)
        plan = book.plans.get(label)
        if plan is None:
            return None
        self._start_session()
        if not book.salt:
            self._state.add(e.Salted(self._now(), None, new_salt()))
        arm = arm_at(unit_fraction(name, book.salt), plan.shares)
        if known is not None and (before := book.arms.index(book.pulls[known].arm)) in book.active:
            arm = before
        self._state.add(e.Asked(self._now(), by, label, (arm,), hash_unit(name, book.salt)))
        self._thread.label = label
        return book.pulls[-1]

    def _plan_shares(self, environment: Label | None) -> None:
        """Compute and record which share of the next units (such as visitors) each arm gets."""
        lookahead, n, play, label = self._unit_lookahead(environment)
        shares = lookahead.shares(n, play).tolist()
        if not any(shares):
            raise self._policy_stopped()
        self._record_shares(label, n, tuple(shares), lookahead.active)

    @locked
    def _unit_lookahead(self, environment: Label | None) -> Any:
        book = self._state.book
        label = self._environment_label(environment)
        n = batch_size(len(book.active), len(book.pulls) - book.lost, book.remaining)
        return *self._lookahead(environment, n), label

    @writes_events
    def _record_shares(self, label: Label, n: int, shares: tuple[float, ...], active: list[int]) -> None:
        book = self._state.book
        if active == book.active and len(shares) == len(book.arms) and label not in book.plans:
            self._state.add(e.Shared(self._now(), None, label, n, shares))

    def shares(self, *, environment: Label | None = None, n: int | None = None) -> dict[str, float]:
        """Predict the share of each arm among the next pulls, without asking for these pulls.

        Parameters
        ----------
        environment
            Label of the environment of these pulls, as in `ask`.
        n
            Number of pulls, at most the remaining budget. The default is 100, or the remaining budget if that
            is less. Up to 200 pulls, the shares are exactly those of the pulls that `ask` would return. For
            more, the policy decides 200 times, each time for several pulls.

        Raises
        ------
        Finished
            In the cases in which `ask` raises it.
        """
        lookahead, count, play = self._lookahead(self._today() if environment is None else environment, n)
        found = lookahead.shares(count, play).tolist()
        if not any(found):
            raise self._policy_stopped()
        return dict(zip(self.arms, found, strict=False))

    @locked
    def _lookahead(self, environment: Label | None, n: int | None) -> Any:
        if self._state.settings.environments is not None:
            raise InputError(
                "shares are not available: the policy of this experiment chooses the environment of each "
                "pull "
                "itself. history() has the pulls so far"
            )
        label = self._environment_label(environment)
        remaining = self._state.book.remaining
        if n is None:
            n = 100 if remaining is None else max(1, min(100, remaining))
        count = require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        self._check_open(count)
        asked = len(self._state.book.pulls)
        return (
            self._state.read(lambda: self._policy_state.lookahead(label, asked)),
            count,
            self._state.play(),
        )

    def _check_open(self, wanted: int) -> None:
        """Raise `Finished` if the experiment cannot give out `wanted` more pulls."""
        self._check_stopping()
        book = self._state.book
        if book.stopped:
            raise Finished(f"the experiment is stopped, and {shipping_text(book.shipped)}")
        if book.sure is not None:
            raise Finished(f"no further pull is needed: {selection_text(self._selected())}")
        if isinstance(self._rule, LookStopRule) and self._rule.is_over(book):
            raise Finished(f"all planned looks were made; {selection_text(self._selected())}")
        if book.paused:
            raise Finished(f"the experiment is paused; {selection_text(self._selected())}")
        if book.remaining is not None and wanted > book.remaining:
            begin = "" if book.remaining else "the budget is used up: "
            requested = f"{format_count(wanted, 'pull')} {'was' if wanted == 1 else 'were'} requested"
            raise Finished(
                f"{begin}{requested}, but {book.remaining:,} of {book.budget:,} are left; "
                f"{selection_text(self._selected())}"
            )

    def _policy_stopped(self) -> Finished:
        return Finished(
            f"no further pull is assigned, because the policy {self.policy.label} has stopped; "
            f"{selection_text(self._selected())}"
        )

    def _today(self) -> Label | None:
        """Return the current date in the experiment's time zone, or None if it has no time zone."""
        zone = self._state.settings.time_zone
        return None if zone is None else date_in(zone, self._now())

    def _environment_label(self, environment: Label | None) -> Label:
        """Return the environment label of the next pull, or raise an error if the label is not allowed."""
        return label_of(self._state.book, environment, self._label)

    def _hide_tide(self, environment: Label | None) -> None:
        """Switch from `tide="auto"` to a tide estimated from rewards alone, if the first pull has no label.

        This is the tide option `"hidden"`.
        """
        if self._state.book.tide == "auto" and environment is None:
            self._state.add(e.Unlabelled(self._now(), None))

    def _start_session(self) -> None:
        """Give this process its own prefix of pull IDs, unless it has one."""
        if not self._has_session:
            self._state.add(e.Opened(self._now(), None, new_session()))
            self._has_session = True

    @writes_events
    def expose(self, pulls: Pull | str | Iterable[Pull | str], by: str | None = None) -> None:
        """Record that visitors (or other units) have seen their arms.

        With the option `reserve`, rewards are refused before that. A repeated call has no effect. If one of
        the pulls was cancelled, none is recorded.
        """
        book = self._state.book
        given = [pulls] if isinstance(pulls, (Pull, str)) else require_list("pulls", pulls)
        numbers = dict.fromkeys(self._pull_number(pull) for pull in given)
        for number in numbers:
            if book.status[number] == PullStatus.CANCELLED:
                raise InputError(
                    f"pull {book.pulls[number].id} was cancelled: get a new pull with ask(unit=...)"
                )
        new = tuple(number for number in numbers if number in book.reserved)
        if new:
            self._state.add(e.Exposed(self._now(), by, new))

    def cancel(self, pull: Pull | str, by: str | None = None) -> None:
        """Cancel a pull whose reward will never arrive; the pull returns to the budget."""
        self.cancel_many([pull], by)

    @writes_events
    def cancel_many(self, pulls: Iterable[Pull | str], by: str | None = None) -> None:
        """Cancel several pulls; if one of them is not pending, cancel none."""
        book = self._state.book
        numbers = dict.fromkeys(self._pull_number(pull) for pull in require_list("pulls", pulls))
        for number in numbers:
            if book.status[number] not in (PullStatus.PENDING, PullStatus.CANCELLED, PullStatus.EXPIRED):
                raise InputError(
                    f"pull {book.pulls[number].id} cannot be cancelled, because it is not pending: "
                    f"{book.status[number].description}"
                )
        pending = tuple(number for number in numbers if book.status[number] == PullStatus.PENDING)
        if pending:
            self._state.add(e.Cancelled(self._now(), by, pending))
