"""Base class of `Experiment` with its state, its lock and the decorators that take the lock."""

from __future__ import annotations

import math
import operator
import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from tideproof.checks import Direction, require_finite
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.leases import lease_of
from tideproof.experiment.pull import Label, Pull
from tideproof.experiment.read_model import SingleRewards
from tideproof.experiment.state.clock_jumps import SYSTEM_CLOCK
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.stopping.stop_rule import StopCheckSchedule, rule_of
from tideproof.experiment.usage_warnings import UsageMonitor
from tideproof.stats.scales.scale_properties import Scale

Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Decorate a method so that it holds the lock and sees all recorded events.

    Only one thread at a time may run such methods, and only in the process that created the experiment.
    """

    @wraps(method)
    def with_lock(self: ExperimentBase, *args: Any, **kwargs: Any) -> Any:
        if self._shared is not None:
            return self._shared.look(method, args, kwargs)
        self._check_process()
        with self._lock:
            self._update()
            return method(self, *args, **kwargs)

    return cast(Method, with_lock)


def writes_events(method: Method) -> Method:
    """Decorate a method that records events, so that it holds the lock, also against other processes."""
    with_lock = locked(method)

    @wraps(method)
    def with_write_lock(self: ExperimentBase, *args: Any, **kwargs: Any) -> Any:
        if self._shared is not None:
            return self._shared.command(method, args, kwargs)
        return with_lock(self, *args, **kwargs)

    return cast(Method, with_write_lock)


class SharedLog(Protocol):
    """Interface of an event log that several processes share, such as one in a database.

    `is_deleted` says whether a call noticed that the experiment was deleted.
    """

    is_deleted: bool

    def look(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a method that only reads the experiment, after applying the events of other processes."""
        ...

    def command(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a method that records events, and store these events before returning."""
        ...

    def once(self, key: str, command: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a method unless a call with the same idempotency key was stored before."""
        ...

    def pickled(self) -> tuple[Any, ...]:
        """Return the function, with its arguments, that another process calls to open the experiment."""
        ...

    def close(self) -> None:
        """Close the connection to the event log."""
        ...


def now(clock: Callable[[], float]) -> float:
    """Return the current time in seconds from a clock, or raise an error if it is not a finite number."""
    if not callable(clock):
        raise InputError(f"clock must be a function that returns seconds, such as time.time, not {clock!r}")
    return require_finite("clock", clock())


class ExperimentBase:
    """Base class of `Experiment`: its state, the lock that protects it, and its clock."""

    def __init__(self, state: State, clock: Callable[[], float], has_session: bool = True) -> None:
        self._clock = clock
        self._replace_state(state)
        self._lease = lease_of(state.settings)
        self._renew_lock()
        self._process = os.getpid()
        self._thread = threading.local()  # `label` is the environment of each thread's last ask
        self._rule = rule_of(state.created)
        self._shared: SharedLog | None = None
        self._has_session = has_session  # whether this process has its own prefix of pull IDs

    def _replace_state(self, state: State) -> None:
        """Replace the state, and reset everything that was derived from the previous state."""
        self._state, self._next_lease_check, self._known_jumps = state, -math.inf, 0
        self._usage_monitor = UsageMonitor()
        self._check_schedule = StopCheckSchedule()
        self._single_rewards = SingleRewards()

    def _renew_lock(self) -> None:
        """Create a new lock, because a forked child process may inherit a lock that another thread holds."""
        self._lock = threading.RLock()

    def _share(self, log: SharedLog) -> None:
        """Connect the experiment to an event log that several processes share."""
        self._shared = log

    def _forget_environment(self) -> None:
        """Forget the environment of this thread's last pull, so that it is no longer the default."""
        vars(self._thread).pop("label", None)

    def _update(self) -> None:
        """Update the experiment: apply recorded events, and expire pulls whose time limit has passed.

        Pulls whose arm was not seen in time are cancelled.
        """
        self._state.fold()
        if self._lease.seconds == math.inf:
            return
        now, jumps = self._now(), SYSTEM_CLOCK.count
        if now >= self._next_lease_check or jumps != self._known_jumps:
            book, end_of = self._state.book, operator.add
            if self._clock == SYSTEM_CLOCK.clock:
                end_of = SYSTEM_CLOCK.end_of
            unseen, next_unseen = self._lease.unseen_pulls(book, now, end_of)
            if unseen:
                self._state.add(e.Cancelled(now, None, unseen))
            expired, next_expiry = self._lease.expired_pulls(book, now, end_of)
            if expired:
                self._state.add(e.Expired(now, None, expired, self._lease.default))
            self._next_lease_check, self._known_jumps = min(next_unseen, next_expiry), jumps

    def _now(self) -> float:
        """Return the current time, first checking for a clock change if pulls have time limits."""
        found = now(self._clock)
        if self._lease.seconds < math.inf and self._clock == SYSTEM_CLOCK.clock:
            SYSTEM_CLOCK.observe(found)
        return found

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms, including retired ones."""
        return tuple(self._state.book.arms)

    @property
    def budget(self) -> int | None:
        """Total number of pulls that the experiment may assign; None without a limit."""
        return self._state.book.budget

    @property
    def policy(self) -> Any:
        """The policy with its options and the rule by which it selects the best arm."""
        return self._state.spec

    @property
    def seed(self) -> int:
        """Seed of the policy's random choices."""
        return self._state.created.seed

    @property
    def direction(self) -> Direction:
        """`"maximize"` or `"minimize"`: whether high or low rewards are good."""
        return cast(Direction, self._state.created.direction)

    @property
    def tide(self) -> str:
        """Model of the environment shifts: `"labels"`, `"hidden"`, `"both"`, or `"auto"` if undecided."""
        return self._state.book.tide

    @property
    def scale(self) -> Scale:
        """Scale on which the policy compares arms: `"difference"`, `"ratio"` or `"odds"`."""
        return self._state.policy_state.scale

    @property
    def _policy_state(self) -> PolicyState:
        return self._state.policy_state

    @locked
    def _next_arm(self, label: Label) -> int:
        """Return the index of the arm that the next pull would get, or -1 if the policy has stopped."""
        asked = len(self._state.book.pulls)
        return self._state.read(lambda: self._policy_state.next_arm(label, asked))

    @property
    def _label(self) -> Label:
        """Default environment of the next pull, usually the environment of this thread's last pull.

        A thread without a pull gets the environment of the latest pull of all.
        """
        label: Label | None = getattr(self._thread, "label", None)
        label = self._state.book.current if label is None else label
        return 1 if label is None else label

    def _pull_number(self, pull: Pull | str) -> int:
        book = self._state.book
        id = pull.id if isinstance(pull, Pull) else pull
        number = book.number.get(id) if isinstance(id, str) else None
        if number is None or (isinstance(pull, Pull) and pull != book.pulls[number]):
            raise UnknownName(
                f"unknown pull {describe_value(pull)}; this experiment has {len(book.pulls)} pulls, "
                f"and accepts a pull or its id"
            )
        return number

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise InputError(
                "this experiment was created in another process, and changes would not be shared between the "
                "processes: save it in that process and load it in this one, or pass it with pickle"
            )
