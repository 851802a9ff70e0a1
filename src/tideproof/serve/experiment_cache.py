"""Cache of the open experiments of a service, by name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from tideproof.errors import InputError, UnknownName
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.leases import with_visitor_times
from tideproof.experiment.policy_prefixes import separate_options
from tideproof.serve.problem_details import Problem
from tideproof.store.backend import Backend, ExperimentListing, ExperimentLog, LogEntry
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
    backend : backend of the store, used while holding `store_lock`; experiments have their own connections.
    """

    def __init__(self, url: str, most: int) -> None:
        self.url, self._max_open = url, most
        self.backend: Backend = open_backend(url)
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
        self, name: str, arms: Any, options: Mapping[str, Any], by: str, join: bool = False
    ) -> tuple[Experiment, bool]:
        """Create an experiment, or return the existing one with this name.

        Also return whether it is new. If the name is taken, `join=True` returns the existing experiment if
        its options agree; everything else raises an error.
        """
        options = with_visitor_times(separate_options(options))
        made = Experiment(arms, **options)
        with self.store_lock:
            new = self.backend.log(name) is None
            if new:
                create(self.backend, name, made, by)
        if not new:
            if not join:
                raise Problem(409, f"an experiment named {name!r} already exists: choose another name")
            try:
                check_options(Experiment, name, self.get(name).internals.state, arms, options)
            except InputError as error:
                raise Problem(409, str(error)) from None
        return self.get(name), new

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

    def check_store(self) -> None:
        """Raise an error if the store cannot be read."""
        with self.store_lock:
            self.backend.execute("SELECT count(*) FROM ~api_keys", ())

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
