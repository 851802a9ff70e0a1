"""Synchronize an experiment in memory with its stored event log, which other processes may also write.

A command takes the log's lock, applies the events that others appended, runs on the state in memory, and
returns once its events are committed. Commands of other threads that arrive meanwhile join the same
transaction, and the last of them commits it.
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
from tideproof.experiment.events.event_records import UnitForgotten, without_forgotten
from tideproof.experiment.snapshots.experiment_file import unregistered
from tideproof.experiment.snapshots.snapshot import code_fingerprint
from tideproof.experiment.state.experiment_state import NeedsLock, State
from tideproof.store import fork_guard, idempotency_keys, log_replay
from tideproof.store.backend import (
    MAX_CONNECTION_LOSSES,
    ConnectionLost,
    ExperimentDeleted,
    ExperimentLog,
    Writer,
)
from tideproof.store.group_commit import MAX_COMMANDS, CommitGroup
from tideproof.store.log_replay import LogState

if TYPE_CHECKING:
    from tideproof.experiment.experiment import Experiment

_yield_processor: Callable[[], None] = getattr(os, "sched_yield", lambda: None)
_LOST_COMMIT_WAIT = 0.1  # seconds after which a waiting thread checks whether it must commit the group itself


def summary_text(state: State) -> str:
    """Return the summary of an experiment as JSON, for lists of a store's experiments.

    Besides arms, budget and policy it says whether the experiment is a feature flag (`flag`), whether it is
    stopped, which arm is shipped, and when it was archived. So lists of thousands of experiments need not
    open them.
    """
    book = state.book
    arms = [book.arms[arm] for arm in book.active]
    about = {
        "arms": arms,
        "budget": book.budget,
        "policy": state.spec.label,
        "flag": state.settings.reserve is not None,
        "stopped": book.stopped,
        "shipped": book.shipped,
        "archived_at": book.archived_at,
    }
    return json.dumps(about)


def summary_agrees(stored: str, state: State) -> bool:
    """Return whether a stored summary agrees with the state of its experiment.

    Summaries of older versions lack some keys.
    """
    try:
        about = json.loads(stored)
    except ValueError:
        return False
    now = json.loads(summary_text(state))
    old = about.keys() == {"arms", "budget", "policy"} if isinstance(about, dict) else False
    return bool(about == ({name: now[name] for name in about} if old else now))


def _summary_parts(state: State) -> tuple[Any, ...]:
    """Return values that change whenever a stored summary becomes out of date."""
    book = state.book
    return len(book.arms), len(book.retired), book.budget, book.stopped, book.shipped, book.archived_at


class SharedEventLog:
    """Link between an experiment in memory and its stored event log, which other processes may also write."""

    def __init__(self, run: Experiment, url: str, name: str, log: ExperimentLog, loaded: LogState) -> None:
        self.run, self.url, self.name, self.log = run, url, name, log
        self._position, self._snapshot = loaded.position, loaded.snapshot
        self._about = _summary_parts(loaded.state)
        self.is_deleted = False  # whether the experiment is no longer in the store
        self.after_fork_in_child()
        fork_guard.register(self)

    def after_fork_in_child(self) -> None:
        """Reset locks and open transactions in a forked child process; the state in memory is kept."""
        self._writer, self._signed = secrets.token_bytes(8), False  # identifies this process in the log
        self.run.internals.renew_lock()
        self._inner = self.run.internals  # read again whenever the lock or the state is replaced
        self._lock = self._inner.lock
        self._waiting: set[int] = set()  # threads that wait for the lock
        self._group: CommitGroup | None = None  # commands of the open transaction
        self.may_differ = False  # whether the state in memory may differ from the log

    # -- calls

    def look(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a method that only reads the experiment, after applying the events of other processes."""
        run, thread = self.run, threading.get_ident()
        if self._is_inside():
            return method(run, *args, **kwargs)
        try:
            self._waiting.add(thread)
            with self._lock:
                self._waiting.discard(thread)
                self._commit_group()
                self._catch_up()
                with self._inner.state.read_only():
                    self._inner.update()
                    return method(run, *args, **kwargs)
        except NeedsLock:  # an event must be written, for example because the lease of a pull has ended
            return self.command(method, args, kwargs)
        finally:
            self._waiting.discard(thread)

    def command(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a method that changes the experiment, and return its result once its events are committed."""
        if self._is_inside():
            return method(self.run, *args, **kwargs)
        losses = 0
        while True:
            try:
                group, found, failed = self._run_in_group(method, args, kwargs)
                kept = self._is_committed(group)
                if failed is not None:
                    raise failed
                if kept:
                    self._write_snapshot()
                    return found
                if group.error is not None:
                    raise group.error
            except ConnectionLost:  # nothing was committed, so the command can be repeated
                losses += 1
                if losses == MAX_CONNECTION_LOSSES:
                    raise

    def _run_in_group(
        self, method: Callable[..., Any], args: Any, kwargs: Any
    ) -> tuple[CommitGroup, Any, BaseException | None]:
        """Run a command in a transaction, and commit the transaction unless a waiting thread will do that.

        Return the group of the command, its result, and the error that it raised.
        """
        run, thread = self.run, threading.get_ident()
        found, failed, leave_commit = None, None, False
        self._waiting.add(thread)
        try:
            with self._lock:
                self._waiting.discard(thread)
                try:
                    group = self._join_group()
                    try:
                        self._inner.update()
                        found = method(run, *args, **kwargs)
                    except BaseException as error:  # events before the error are committed nevertheless
                        failed = error
                    is_ordinary = failed is None or isinstance(failed, Exception)
                    self._collect_events(group)
                    leave_commit = is_ordinary and bool(self._waiting) and group.commands < MAX_COMMANDS
                    if leave_commit:
                        group.finished_event()
                finally:
                    if not leave_commit:
                        self._commit_group()
        finally:
            self._waiting.discard(thread)
        return group, found, failed

    def _is_committed(self, group: CommitGroup) -> bool:
        """Wait for the commit of a group of commands, and return whether it succeeded."""
        while not group.finished and not group.finished_event().wait(_LOST_COMMIT_WAIT):
            with self._lock:
                if self._group is group:  # the thread that was expected to commit it never ran
                    self._commit_group()
                group.finished = True
        if group.committed is None:
            with self._lock:
                self._commit_group()
                self._check_outcome(group)
        return bool(group.committed)

    def once(self, key: str, command: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a command, or return the stored result if its idempotency key was used before.

        It must be called within a command, whose transaction stores the answer.
        """
        group, run = self._group, self.run
        assert group is not None
        text = idempotency_keys.encode_command(run, key, command, args, kwargs)
        stored = group.answers.get(key) or self.log.find_answer(key)
        if stored is not None:
            return idempotency_keys.decode_answer(run, stored, text)
        found = command(*args, **kwargs)
        # encoded again, because the command may have set the salt with which its identifiers are hashed
        text = idempotency_keys.encode_command(run, key, command, args, kwargs)
        group.answers[key] = idempotency_keys.encode_answer(run, key, text, found)
        return found

    def _is_inside(self) -> bool:
        """Return whether the current thread holds the lock of the experiment, that is, runs a command."""
        return bool(self._lock._is_owned())  # noqa: SLF001  threading offers nothing public

    # -- the state and the log

    def _catch_up(self, between: Callable[[], None] = lambda: None) -> None:
        """Apply to the state in memory the events that other processes appended to the stored log."""
        if self.may_differ or self._inner.state.damaged:
            self._load()
        before, self.may_differ = self._position, True
        try:
            self._position = log_replay.catch_up(self.log, self._inner.state, before, between)
        except ExperimentDeleted:
            self.is_deleted = True
            raise
        self._about = _summary_parts(self._inner.state)  # others store a new summary with what they change
        self.may_differ = False

    def catch_up_and_yield(self) -> None:
        """While another process holds the lock, apply its new events and yield the processor to it."""
        self._catch_up(_yield_processor)

    def _load(self) -> None:
        """Replace the state in memory by one that is computed from the stored event log."""
        run = self.run
        self.log.roll_back()
        loaded = log_replay.load_state(self.log, unregistered(run.policy))
        self._inner.replace_state(loaded.state)
        self._inner = run.internals
        self._position = loaded.position
        self.may_differ = False

    def _join_group(self) -> CommitGroup:
        """Return the group of commands that the next commit includes, and add a command to it.

        If there is none, begin a transaction with a new group.
        """
        if self._group is None:
            try:
                self.log.roll_back()  # a transaction that a signal interrupted
                if self.may_differ or self._inner.state.damaged:
                    self._load()
                self.log.begin(self.catch_up_and_yield)
                self._catch_up()
                self._group = CommitGroup(self._position)
            except BaseException as error:
                self.is_deleted |= isinstance(error, ExperimentDeleted)
                self._group = None
                self.log.roll_back()
                raise
        self._group.commands += 1
        return self._group

    def _collect_events(self, group: CommitGroup) -> None:
        """Add the new events of a command to the group of commands that are committed together.

        Nothing is added if an interruption damaged the state.
        """
        state = self._inner.state
        if state.damaged:  # the group is not committed; its other commands run again on a reloaded state
            self.may_differ = True
            return
        new = state.events[group.end.seq :]
        if new:
            self.may_differ = True
            for event in new:
                group.add(event, len(state.book.pulls), self._writer)
            if any(isinstance(event, UnitForgotten) for event in new):
                state.events[:] = without_forgotten(state.events)
            self.may_differ = False

    def _commit_group(self) -> None:
        """Commit the commands of several threads together, and report the outcome to these threads."""
        group = self._group
        if group is None:
            return
        try:
            is_consistent, self.may_differ = not self.may_differ, True
            if is_consistent:
                self._commit(group)
                self._position, group.committed = group.end, True
                self.may_differ = False
        except BaseException as error:
            if not isinstance(error, TideproofError):  # a signal concerns this thread only
                raise
            group.error = error
        finally:
            self._group = None
            if group.committed is None:
                self._check_outcome(group)
                self._restore_state(group)
            group.finish()

    def _commit(self, group: CommitGroup) -> None:
        """Write the events and results of a group of commands, and commit the transaction."""
        if not group.entries and not group.answers:
            self.log.roll_back()
            return
        if not self._signed:
            self.log.add_writer(Writer(self._writer, code_fingerprint(self.run.policy) or "", __version__))
        state = self._inner.state
        named = _summary_parts(state)
        changed = summary_text(state) if named != self._about else None
        self.log.append(group.entries, list(group.answers.values()), changed)
        self.log.commit()
        self._signed, self._about = True, named

    def _check_outcome(self, group: CommitGroup) -> None:
        """Find out whether a transaction was committed although the commit was not acknowledged."""
        try:
            self.log.roll_back()
            if group.entries:
                last = group.end.seq
                stored = self.log.read(last - 1, last)
                group.committed = bool(stored) and stored[0].hash == group.end.hash
            else:
                group.committed = all(self.log.find_answer(key) for key in group.answers)
        except TideproofError as error:  # the outcome stays unknown
            if group.error is None or isinstance(group.error, ConnectionLost):
                group.error = StoreError(
                    f"it is unknown whether this call was saved: {error}. If it was made with once(), repeat "
                    "it with the same key; otherwise load the experiment again and check its last events"
                )

    def _restore_state(self, group: CommitGroup) -> None:
        """After an unconfirmed commit, decide whether the state in memory still agrees with the log.

        If not, the next call loads the state again.
        """
        state, count = self._inner.state, len(group.entries)
        if group.committed is None or len(state.events) != group.end.seq:
            return
        if group.committed:
            self._position = group.end
        if group.committed or not count:
            self.may_differ = False

    def _write_snapshot(self) -> None:
        """Write a snapshot of the experiment's state if one is due.

        Failures are ignored, because snapshots only save time.
        """
        if not log_replay.is_snapshot_due(self._position.seq, self._snapshot):
            return
        try:
            with self._lock:
                self._commit_group()
                mark = code_fingerprint(self.run.policy)
                self._snapshot = max(self._snapshot, self.log.last_snapshot_size(mark or ""))
                if self.may_differ or not log_replay.is_snapshot_due(self._position.seq, self._snapshot):
                    return
                self._snapshot = self._position.seq  # so that no other thread writes the same snapshot
                copy = log_replay.copy_state(self._inner.state, self._position)
            if copy is not None:
                packed = log_replay.pack_snapshot(copy)
                with self._lock:
                    self._commit_group()
                    self.log.write_snapshot(packed)
        except StoreError:
            pass

    # -- pickling, closing and forking

    def pickled(self) -> tuple[Any, ...]:
        """Return the function and arguments by which unpickling opens the experiment again."""
        from tideproof.store.stored_experiments import reopen

        return reopen, (self.url, self.name, unregistered(self.run.policy), self._inner.clock)

    def close(self) -> None:
        """Close the connection to the database; the next call opens a new one."""
        with self._lock:
            self._commit_group()
            self.log.close()

    def before_fork(self) -> None:
        """Close the connection and block other threads, so that a forked child inherits no connection."""
        inside = self._is_inside()
        self._lock.acquire()
        if not inside:
            self._commit_group()
            self.log.close()

    def after_fork_in_parent(self) -> None:
        """Release the lock in the parent process after a fork."""
        self._lock.release()
