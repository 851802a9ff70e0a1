"""What every part of an experiment shares: its state, behind a lock that one thread of one process holds."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from tideproof.checks import Direction, require_finite
from tideproof.errors import FIRST_UNPRINTABLE_INTEGER, InputError, UnknownName, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.leases import lease_of
from tideproof.experiment.pull import Label, Pull
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.single_rewards import SingleRewards
from tideproof.experiment.stopping.stop_rule import Looks, rule_of
from tideproof.experiment.usage_warnings import UsageWatch
from tideproof.stats.scales.scale_test import Scale

Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Let one thread in at a time, of the process that made the experiment, with all events taken in."""

    @wraps(method)
    def alone(self: Handle, *args: Any, **kwargs: Any) -> Any:
        if self._shared is not None:
            return self._shared.look(method, args, kwargs)
        self._check_process()
        with self._lock:
            self._enter()
            return method(self, *args, **kwargs)

    return cast(Method, alone)


def changing(method: Method) -> Method:
    """Do the same for a method that makes events: where others write, too, they wait until it has ended."""
    alone = locked(method)

    @wraps(method)
    def recorded(self: Handle, *args: Any, **kwargs: Any) -> Any:
        if self._shared is not None:
            return self._shared.command(method, args, kwargs)
        return alone(self, *args, **kwargs)

    return cast(Method, recorded)


class SharedLog(Protocol):
    """Where an experiment lives that other processes change, too."""

    def look(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return what a method of the experiment says, once it knows what the others did."""
        ...

    def command(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do the same for one that makes events, which are kept when it returns."""
        ...

    def once(self, key: str, command: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do a command, unless one with that key was done."""
        ...

    def pickled(self) -> tuple[Any, ...]:
        """Return how another process opens it."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def now(clock: Callable[[], float]) -> float:
    """Return what a clock says."""
    if not callable(clock):
        raise InputError(f"clock must be a function that returns seconds, such as time.time, not {clock!r}")
    return require_finite("clock", clock())


class Handle:
    """An experiment's state, the lock before it, and its clock."""

    def _begin(self, state: State, clock: Callable[[], float]) -> None:
        self._state, self._clock = state, clock
        self._lease, self._due = lease_of(state.created.options), -math.inf
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._here = threading.local()  # where each thread is
        self._watch = UsageWatch()
        self._rule = rule_of(state.created)
        self._looks = Looks()
        self._singles = SingleRewards()
        self._shared: SharedLog | None = None
        self._opened = True  # whether this process gives out ids of its own

    def _enter(self) -> None:
        """Bring everything up to date: the events, and the pulls whose time is over."""
        self._state.fold()
        if self._lease.seconds < math.inf and (now := self._now()) >= self._due:
            unseen, first = self._lease.unseen(self._state.book, now)
            if unseen:
                self._state.add(e.Cancelled(now, None, unseen))
            over, due = self._lease.overdue(self._state.book, now)
            if over:
                self._state.add(e.Expired(now, None, over, self._lease.default))
            self._due = min(first, due)

    def _now(self) -> float:
        return now(self._clock)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms, retired ones included."""
        return tuple(self._state.book.arms)

    @property
    def budget(self) -> int | None:
        """Number of pulls, None if it is open."""
        return self._state.book.budget

    @property
    def policy(self) -> Any:
        """The policy, with its rule and options."""
        return self._state.spec

    @property
    def seed(self) -> int:
        """Of the policy's own random choices."""
        return self._state.created.seed

    @property
    def direction(self) -> Direction:
        """Which rewards are good."""
        return cast(Direction, self._state.created.direction)

    @property
    def tide(self) -> str:
        """What is known of it: `"labels"`, `"hidden"` or `"both"`; `"auto"` until the first ask says."""
        return self._state.book.tide

    @property
    def scale(self) -> Scale:
        """On which the policy compares arms."""
        return self._state.numbers.scale

    @property
    def _numbers(self) -> PolicyState:
        return self._state.numbers

    @locked
    def _next_arm(self, label: Label) -> int:
        """Return the number of the arm that would be asked for, -1 if the policy has stopped."""
        asked = len(self._state.book.pulls)
        return self._state.look(lambda: self._numbers.next_arm(label, asked))

    @property
    def _label(self) -> Label:
        """Where the next pull is played if nobody says: where this thread, or else the last one, was."""
        here: Label | None = getattr(self._here, "label", None)
        here = self._state.book.current if here is None else here
        return 1 if here is None else here

    def _known(self, pull: Pull | str) -> int:
        book = self._state.book
        id = pull.id if isinstance(pull, Pull) else pull
        if isinstance(id, int) and not isinstance(id, bool) and id < FIRST_UNPRINTABLE_INTEGER:
            id = str(id)  # of a file that an older version saved
        number = book.number.get(id) if isinstance(id, str) else None
        if number is None or (isinstance(pull, Pull) and pull != book.pulls[number]):
            raise UnknownName(
                f"unknown pull {describe_value(pull)}; this experiment has asked for {len(book.pulls)}, "
                f"and takes the pull or its id"
            )
        return number

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise InputError(
                "this experiment was made in another process, and a fork shares nothing with it: "
                "save it there and load it here, or send it by pickle"
            )
