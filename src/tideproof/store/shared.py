"""Between an experiment and its log: whoever looks knows what others did, and what is done is kept.

A command takes the log's lock, takes in what others appended, works on the state in memory, and is
acknowledged once its events are committed. Threads that come meanwhile work in the same transaction: the last
of them commits for all.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__
from tideproof.errors import StoreError, TideproofError
from tideproof.live.remarks import Watch
from tideproof.live.saving import unregistered
from tideproof.live.singles import Singles
from tideproof.live.snapshot import mark_of
from tideproof.live.state import NeedsLock, State
from tideproof.live.sure import Looks
from tideproof.store import forks, keys, loading
from tideproof.store.group import MOST, Group
from tideproof.store.loading import Loaded
from tideproof.store.place import Log, Writer

if TYPE_CHECKING:
    from tideproof.live.experiment import Experiment

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

    def __init__(self, run: Experiment, url: str, name: str, log: Log, loaded: Loaded) -> None:
        self._run, self.url, self.name, self.log = run, url, name, log
        self._position, self._snapshot = loaded.position, loaded.snapshot
        self._about = _named(loaded.state)
        self.after_fork()
        forks.watch(self)

    def after_fork(self) -> None:
        """Begin with nobody inside; the state is as it was before the fork, when nobody was."""
        self._writer, self._signed = secrets.token_bytes(8), False  # who writes
        self._run._lock = threading.RLock()
        self._count = threading.Lock()
        self._waiting = 0
        self._inside: int | None = None  # the thread that is
        self._group: Group | None = None  # what its transaction will keep
        self._unsure = False  # whether the state in memory may not be that of the log

    # -- calls

    def look(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return what a method of the experiment says, once it knows what the others did."""
        if self._inside == threading.get_ident():
            return method(self._run, *args, **kwargs)
        try:
            with self._alone():
                self._settle()
                self._catch_up()
                self._run._state.read_only = True
                try:
                    self._run._enter()
                    return method(self._run, *args, **kwargs)
                finally:
                    self._run._state.read_only = False
        except NeedsLock:  # something has happened, such as a pull's end, that must be written down
            return self.command(method, args, kwargs)

    def command(self, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return what a method of the experiment says, once what it did is kept."""
        if self._inside == threading.get_ident():
            return method(self._run, *args, **kwargs)
        while True:
            found: Any = None
            failed: BaseException | None = None
            with self._alone():
                group = self._joined()
                try:
                    self._run._enter()
                    found = method(self._run, *args, **kwargs)
                except BaseException as error:  # what happened before it is kept
                    failed = error
                try:
                    self._note(group)
                finally:
                    if not self._waiting or group.commands >= MOST or _is_interrupt(failed):
                        self._settle()
                gate = None if group.over else group.gate()
            if gate is not None:
                self._wait(group, gate)
            if failed is not None:
                raise failed
            if group.error is not None:
                raise group.error
            if not group.again:
                self._keep_snapshot()
                return found

    def once(self, key: str, command: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do a command of the experiment, unless one with that key was done; in a command."""
        group, run = self._group, self._run
        assert group is not None
        said = keys.command(run, key, command, args, kwargs)
        known = group.answers.get(key) or self.log.answer(key)
        if known is not None:
            return keys.same(run, known, said)
        found = command(*args, **kwargs)
        group.answers[key] = keys.answer(run, key, said, found)
        return found

    # -- who is inside

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._run._lock.acquire(blocking=False):
            self._queue()
        try:
            self._inside = threading.get_ident()
            yield
        finally:
            self._inside = None
            self._run._lock.release()

    def _queue(self) -> None:
        """Wait until nobody is inside, and be counted meanwhile: who is inside leaves the commit to others."""
        with self._count:
            self._waiting += 1
        try:
            self._run._lock.acquire()
        finally:
            with self._count:
                self._waiting -= 1

    def _wait(self, group: Group, gate: threading.Event) -> None:
        """Wait until the group is committed; by whoever came later, or by this thread if nobody did."""
        while not gate.wait(_LOST):
            with self._alone():
                if self._group is group:
                    self._settle()

    # -- the state and the log

    def _catch_up(self) -> None:
        if self._unsure:
            self._load()
        was, self._unsure = self._position, True
        self._position = loading.catch_up(self.log, self._run._state, was)
        self._unsure = False

    def _load(self) -> None:
        """Make the state anew, from the log."""
        run = self._run
        self.log.roll_back()
        loaded = loading.load(self.log, unregistered(run.policy))
        run._state, self._position = loaded.state, loaded.position
        run._watch, run._looks, run._singles = Watch(), Looks(), Singles()
        run._due = float("-inf")
        self._about = _named(loaded.state)
        self._unsure = False

    def _joined(self) -> Group:
        """Return the group whose transaction is open; a new one if there is none."""
        if self._group is None:
            if self._unsure:
                self._load()
            try:
                self.log.begin(self._catch_up)
                self._catch_up()
            except BaseException:
                self.log.roll_back()
                raise
            self._group = Group(self._position)
        self._group.commands += 1
        return self._group

    def _note(self, group: Group) -> None:
        """Put into the group what has happened."""
        state = self._run._state
        state.fold()  # an event that was interrupted is undone
        new = state.events[group.end.seq :]
        if not new:
            return
        was, pulls = len(group.entries), len(state.book.pulls)
        try:
            for event in new:
                group.add(event, pulls, self._writer)
        except BaseException:
            self._unsure = True
            raise
        assert len(group.entries) - was == len(new)

    def _settle(self) -> None:
        """Commit what is open, for all threads that took part."""
        group = self._group
        if group is None:
            return
        try:
            if self._unsure:
                raise StoreError("an event could not be written down")
            self._unsure = True
            self._commit(group)
            self._position = group.end
            self._unsure = False
        except BaseException as error:
            if not self._went_through(group):
                group.again = not isinstance(
                    error, Exception
                )  # interrupted: another's signal is none of theirs
                group.error = error if isinstance(error, Exception) else None
            if not isinstance(error, TideproofError):
                raise
        finally:
            self._group = None
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

    def _went_through(self, group: Group) -> bool:
        """Return whether a commit that failed was kept nevertheless; else the state goes back."""
        try:
            self.log.roll_back()
            last = group.end.seq
            there = self.log.read(last - 1, last)
            if group.entries and there and there[0].hash == group.end.hash:
                self._position, self._unsure = group.end, False
                return True
            if not group.entries or (len(group.entries) == 1 and self._run._state.take_back()):
                self._unsure = False
        except TideproofError:  # nobody knows: the next call finds out
            pass
        return False

    def _keep_snapshot(self) -> None:
        """Write a snapshot if the last is long ago; that none can be written is no harm."""
        if not loading.is_due(self._position.seq, self._snapshot):
            return
        try:
            with self._alone():
                self._settle()
                mark = mark_of(self._run.policy)
                self._snapshot = max(self._snapshot, self.log.last_snapshot(mark or ""))
                if self._unsure or not loading.is_due(self._position.seq, self._snapshot):
                    return
                self._snapshot = self._position.seq  # whoever comes now need not
                copy = loading.snapshot_of(self._run._state, self._position)
            if copy is not None:
                packed = loading.packed(copy)
                with self._alone():
                    self._settle()
                    self.log.keep(packed)
        except StoreError:
            pass

    # -- the whole

    def pickled(self) -> tuple[Any, ...]:
        """Return how another process opens it."""
        from tideproof.store.opening import reopened

        return reopened, (self.url, self.name, unregistered(self._run.policy), self._run._clock)

    def close(self) -> None:
        """Let go of the database; the next call opens it again."""
        with self._alone():
            self._settle()
            self.log.close()

    def before_fork(self) -> None:
        """Leave nothing open that a child would inherit, and let nobody in."""
        self._run._lock.acquire()
        if self._inside is None:
            self._settle()
            self.log.close()

    def after_fork_here(self) -> None:
        """Go on in the process that was forked."""
        self._run._lock.release()


def _is_interrupt(error: BaseException | None) -> bool:
    return error is not None and not isinstance(error, Exception)
