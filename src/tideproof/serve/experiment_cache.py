"""Cache of the open experiments of a service, by name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from tideproof.errors import InputError, UnknownName
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.leases import with_visitor_times
from tideproof.experiment.options.policy_prefixes import separate_options
from tideproof.experiment.read_model import ExperimentStatus
from tideproof.serve.problem_details import Problem
from tideproof.store.backend import Backend, ExperimentListing, ExperimentLog, LogEntry, StoredAnswer
from tideproof.store.idempotency_keys import check_same_command
from tideproof.store.option_check import check_options
from tideproof.store.store_urls import open_backend
from tideproof.store.stored_experiments import create


class ExperimentCache:
    """Cache of the open experiments of one store; if it is full, the least recently used ones are closed.

    An experiment is opened when it is first used. Calls of the cache may block, and are safe to make
    from several threads.

    Attributes
    ----------
    url : URL of the store.
    backend : backend of the store, used while holding `store_lock`. In a SQLite file experiments have their
    own connections; in PostgreSQL all share at most `connections` of them.
    """

    def __init__(self, url: str, most: int, connections: int | None = None) -> None:
        self.url, self._max_open = url, most
        self.backend: Backend = open_backend(url, connections=connections)
        self.store_lock = threading.RLock()
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, Experiment] = OrderedDict()
        self._opening: dict[str, threading.Lock] = {}

    def get(self, name: str) -> Experiment:
        """Return the experiment with this name, or raise `UnknownName`."""
        with self._lock:
            run = self._runs.get(name)
            if run is not None and run.internals.is_deleted:  # by another process
                del self._runs[name]
                run = None
            if run is not None:
                self._runs.move_to_end(name)
                return run
            opening = self._opening.setdefault(name, threading.Lock())
        try:
            with opening:
                with self._lock:
                    run = self._runs.get(name)
                if run is None:
                    self.find_log(name)
                    run = Experiment.open(self.url, name)
                    self._add(name, run)
        finally:
            with self._lock:
                self._opening.pop(name, None)
        return run

    def create(
        self, name: str, arms: Any, options: Mapping[str, Any], by: str, request: StoredAnswer | None = None
    ) -> tuple[ExperimentStatus, bool]:
        """Create an experiment, and return its status and whether it is new.

        If the name is taken, a `request` with an idempotency key gets the existing experiment, provided that
        arms and options agree with it, and with those of an earlier request with this key. Everything else
        raises an error. Once the experiment is stored, nothing can fail.
        """
        options = with_visitor_times(separate_options(options))
        made = Experiment(arms, **options)
        with self.store_lock:
            log, is_new = create(self.backend, name, made, by, () if request is None else (request,))
            earlier = None if is_new or request is None else log.find_answer(request.key)
        if is_new:
            status = made.internals.status()
            return status._replace(created=status.created._replace(by=by)), True
        if request is None:
            raise Problem(409, f"an experiment named {name!r} already exists: choose another name")
        if earlier is not None:
            check_same_command(earlier, request.command)
        run = self.get(name)
        try:
            check_options(Experiment, name, run.internals.state, arms, options)
        except InputError as error:
            raise Problem(409, str(error)) from None
        return run.internals.status(), False

    def delete(self, name: str) -> None:
        """Delete an experiment with everything that belongs to it, or raise `UnknownName`."""
        with self.store_lock:
            self.backend.delete_experiment(name)
        with self._lock:
            run = self._runs.pop(name, None)
        if run is not None:
            run.close()

    def list_experiments(self) -> list[ExperimentListing]:
        """Return the name and a summary of every experiment in a store, sorted by name."""
        with self.store_lock:
            return self.backend.list_experiments()

    def find_log(self, name: str) -> ExperimentLog:
        """Return the stored event log of an experiment.

        Only a thread that holds `store_lock` may use it.
        """
        with self.store_lock:
            log = self.backend.log(name)
        if log is None:
            raise UnknownName(f"there is no experiment named {name!r}")
        return log

    def read_entries(self, name: str, after: int, most: int) -> list[LogEntry]:
        """Return up to `most` entries of an experiment's event log, beginning after entry number `after`."""
        log = self.find_log(name)
        with self.store_lock:
            return log.read(after, after + most)

    def __len__(self) -> int:
        """Return the number of open experiments."""
        return len(self._runs)

    def _add(self, name: str, run: Experiment) -> None:
        """Add an experiment to the cache; if it is full, close the least recently used experiments."""
        with self._lock:
            self._runs[name] = run
            over = [self._runs.popitem(last=False)[1] for _ in range(len(self._runs) - self._max_open)]
        for each in over:
            each.close()  # a thread that still uses it may go on: the next call opens it again

    def close(self) -> None:
        """Close all experiments and the store."""
        with self._lock:
            runs, self._runs = list(self._runs.values()), OrderedDict()
        for run in runs:
            run.close()
        with self.store_lock:
            self.backend.close()
