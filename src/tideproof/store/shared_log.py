"""Between an experiment and its log: whoever looks knows what others did, and what is done is kept.

A command takes the log's lock, takes in what others appended, works on the state in memory, and is
acknowledged once its events are committed. Threads that come meanwhile work in the same transaction: the last
of them commits for all.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__
from tideproof.errors import StoreError, TideproofError
from tideproof.experiment.snapshots.experiment_file import unregistered
from tideproof.experiment.snapshots.snapshot import mark_of
from tideproof.experiment.state.experiment_state import NeedsLock, State
from tideproof.experiment.state.single_rewards import SingleRewards
from tideproof.experiment.stopping.stop_rule import Looks
from tideproof.experiment.usage_warnings import UsageWatch
from tideproof.store import fork_guard, idempotency_keys, log_state
from tideproof.store.backend import LOSSES, ExperimentLog, Lost, Writer
from tideproof.store.group_commit import MOST, Group
from tideproof.store.log_state import LogState

if TYPE_CHECKING:
    from tideproof.experiment.experiment import Experiment

_give_way: Callable[[], None] = getattr(os, "sched_yield", lambda: None)
_LOST = 0.1  # seconds after which a thread looks whether anybody commits for it


def about(state: State) -> str:
    """Return what an experiment says of itself in a list."""
    book = state.book
    arms = [book.arms[arm] for arm in book.active]
    return json.dumps({"arms": arms, "budget": book.budget, "policy": state.spec.label})


def _named(state: State) -> tuple[Any, ...]:
    """Return what of that can change."""
    return len(state.book.arms), len(state.book.retired), state.book.budget


class SharedLog:
    """The log of an experiment, as one process sees it."""

    def __init__(self, run: Experiment, url: str, name: str, log: ExperimentLog, loaded: LogState) -> None:
        self._run, self.url, self.name, self.log = run, url, name, log
        self._position, self._snapshot = loaded.position, loaded.snapshot
        self._about = _named(loaded.state)
        self.after_fork()
        fork_guard.watch(self)

    def after_fork(self) -> None:
        """Begin with nobody inside; the state is as it was before the fork, when nobody was."""
        self._writer, self._signed = secrets.token_bytes(8), False  # who writes
        self._run._lock = threading.RLock()
        self._waiting: set[int] = set()  # threads
        self._group: Group | None = None  # what its transaction will keep
        self._unsure = False  # whether the state in memory may not be that of the log

    # -- calls

    def look(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return what a method of the experiment says, once it knows what the others did."""
        run, me = self._run, threading.get_ident()
        if self._is_inside():
            return method(run, *args, **kwargs)
        try:
            self._waiting.add(me)
            with run._lock:
                self._waiting.discard(me)
                self._settle()
                self._catch_up()
                run._state.read_only = True
                try:
                    run._enter()
                    return method(run, *args, **kwargs)
                finally:
                    run._state.read_only = False
        except NeedsLock:  # something has happened, such as a pull's end, that must be written down
            return self.command(method, args, kwargs)
        finally:
            self._waiting.discard(me)

    def command(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return what a method of the experiment says, once what it did is kept."""
        if self._is_inside():
            return method(self._run, *args, **kwargs)
        losses = 0
        while True:
            try:
                group, found, failed = self._work(method, args, kwargs)
                kept = self._is_kept(group)
                if failed is not None:
                    raise failed
                if kept:
                    self._keep_snapshot()
                    return found
                if group.error is not None:
                    raise group.error
            except Lost:  # and nothing was kept
                losses += 1
                if losses == LOSSES:
                    raise

    def _work(
        self, method: Callable[..., Any], args: Any, kwargs: Any
    ) -> tuple[Group, Any, BaseException | None]:
        """Do it, and commit it unless another thread will: return its group, and what it said or raised."""
        run, me = self._run, threading.get_ident()
        found, failed, leaves = None, None, False
        self._waiting.add(me)
        try:
            with run._lock:
                self._waiting.discard(me)
                try:
                    group = self._joined()
                    try:
                        run._enter()
                        found = method(run, *args, **kwargs)
                    except BaseException as error:  # what happened before it is kept
                        failed = error
                    calm = failed is None or isinstance(failed, Exception)
                    if not calm:
                        run._state.fold()  # an event that was interrupted is undone
                    self._note(group)
                    leaves = calm and bool(self._waiting) and group.commands < MOST
                    if leaves:
                        group.gate()
                finally:
                    if not leaves:
                        self._settle()
        finally:
            self._waiting.discard(me)
        return group, found, failed

    def _is_kept(self, group: Group) -> bool:
        """Return whether a group lasts, once that is known."""
        while not group.over and not group.gate().wait(_LOST):
            with self._run._lock:
                if self._group is group:  # who was to commit it never came
                    self._settle()
                group.over = True
        if group.kept is None:
            with self._run._lock:
                self._settle()
                self._find_out(group)
        return bool(group.kept)

    def once(self, key: str, command: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do a command of the experiment, unless one with that key was done; in a command."""
        group, run = self._group, self._run
        assert group is not None
        said = idempotency_keys.command(run, key, command, args, kwargs)
        known = group.answers.get(key) or self.log.answer(key)
        if known is not None:
            return idempotency_keys.same(run, known, said)
        found = command(*args, **kwargs)
        group.answers[key] = idempotency_keys.answer(run, key, said, found)
        return found

    def _is_inside(self) -> bool:
        """Return whether it is this thread that is working."""
        return self._run._lock._is_owned()  # type: ignore[attr-defined, no-any-return]

    # -- the state and the log

    def _catch_up(self, between: Callable[[], None] = lambda: None) -> None:
        if self._unsure:
            self._load()
        was, self._unsure = self._position, True
        self._position = log_state.catch_up(self.log, self._run._state, was, between)
        self._unsure = False

    def _follow(self) -> None:
        """Take in what others did while one of them writes, who needs a processor more than we do."""
        self._catch_up(_give_way)

    def _load(self) -> None:
        """Make the state anew, from the log."""
        run = self._run
        self.log.roll_back()
        loaded = log_state.load(self.log, unregistered(run.policy))
        run._state, self._position = loaded.state, loaded.position
        run._watch, run._looks, run._singles = UsageWatch(), Looks(), SingleRewards()
        run._due = float("-inf")
        self._about = _named(loaded.state)
        self._unsure = False

    def _joined(self) -> Group:
        """Return the group whose transaction is open; a new one if there is none."""
        if self._group is None:
            try:
                self.log.roll_back()  # of who was interrupted
                if self._unsure:
                    self._load()
                self.log.begin(self._follow)
                self._catch_up()
                self._group = Group(self._position)
            except BaseException:
                self._group = None
                self.log.roll_back()
                raise
        self._group.commands += 1
        return self._group

    def _note(self, group: Group) -> None:
        """Put into the group what has happened."""
        state = self._run._state
        new = state.events[group.end.seq :]
        if new:
            self._unsure = True
            for event in new:
                group.add(event, len(state.book.pulls), self._writer)
            self._unsure = False

    def _settle(self) -> None:
        """Commit what is open, for all threads that took part; who did learns of it from the group."""
        group = self._group
        if group is None:
            return
        try:
            whole, self._unsure = not self._unsure, True
            if whole:
                self._commit(group)
                self._position, group.kept = group.end, True
                self._unsure = False
        except BaseException as error:
            if not isinstance(error, TideproofError):  # a signal, which is none of the others' business
                raise
            group.error = error
        finally:
            self._group = None
            if group.kept is None:
                self._find_out(group)
                self._go_back(group)
            group.end_here()

    def _commit(self, group: Group) -> None:
        if not group.entries and not group.answers:
            self.log.roll_back()
            return
        if not self._signed:
            self.log.sign(Writer(self._writer, mark_of(self._run.policy) or "", __version__))
        state = self._run._state
        named = _named(state)
        changed = about(state) if named != self._about else None
        self.log.append(group.entries, list(group.answers.values()), changed)
        self.log.commit()
        self._signed, self._about = True, named

    def _find_out(self, group: Group) -> None:
        """Find out whether a commit that was not acknowledged was kept nevertheless."""
        try:
            self.log.roll_back()
            if group.entries:
                last = group.end.seq
                there = self.log.read(last - 1, last)
                group.kept = bool(there) and there[0].hash == group.end.hash
            else:
                group.kept = all(self.log.answer(key) for key in group.answers)
        except TideproofError as error:  # nobody knows
            if group.error is None or isinstance(group.error, Lost):
                group.error = StoreError(f"it is not known whether this was kept: {error}")

    def _go_back(self, group: Group) -> None:
        """Let the state be that of the log again, if that is quickly done; else the next call sees to it."""
        state, count = self._run._state, len(group.entries)
        if group.kept is None or len(state.events) != group.end.seq:
            return
        if group.kept:
            self._position = group.end
        if group.kept or not count or (count == 1 and state.take_back()):
            self._unsure = False

    def _keep_snapshot(self) -> None:
        """Write a snapshot if the last is long ago; that none can be written is no harm."""
        if not log_state.is_due(self._position.seq, self._snapshot):
            return
        try:
            with self._run._lock:
                self._settle()
                mark = mark_of(self._run.policy)
                self._snapshot = max(self._snapshot, self.log.last_snapshot(mark or ""))
                if self._unsure or not log_state.is_due(self._position.seq, self._snapshot):
                    return
                self._snapshot = self._position.seq  # whoever comes now need not
                copy = log_state.snapshot_of(self._run._state, self._position)
            if copy is not None:
                packed = log_state.packed(copy)
                with self._run._lock:
                    self._settle()
                    self.log.keep(packed)
        except StoreError:
            pass

    # -- the whole

    def pickled(self) -> tuple[Any, ...]:
        """Return how another process opens it."""
        from tideproof.store.stored_experiments import reopened

        return reopened, (self.url, self.name, unregistered(self._run.policy), self._run._clock)

    def close(self) -> None:
        """Let go of the database; the next call opens it again."""
        with self._run._lock:
            self._settle()
            self.log.close()

    def before_fork(self) -> None:
        """Leave nothing open that a child would inherit, and let nobody in."""
        inside = self._is_inside()
        self._run._lock.acquire()
        if not inside:
            self._settle()
            self.log.close()

    def after_fork_here(self) -> None:
        """Go on in the process that was forked."""
        self._run._lock.release()
