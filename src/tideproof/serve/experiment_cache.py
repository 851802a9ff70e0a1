"""The experiments that a service has open, by name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from tideproof.errors import InputError, UnknownName
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.policy_prefixes import beside
from tideproof.serve.problem_details import Problem
from tideproof.store.backend import Backend, Entry, ExperimentLog, Listed
from tideproof.store.option_check import check_same
from tideproof.store.store_urls import place_of
from tideproof.store.stored_experiments import create


class ExperimentCache:
    """Experiments of one store, opened when they are first wanted.

    Its calls may block, and are safe from threads.

    Attributes
    ----------
    url : of the store.
    place : the store itself, for whoever holds `reading`; experiments have connections of their own.
    """

    def __init__(self, url: str, most: int) -> None:
        self.url, self._most = url, most
        self.place: Backend = place_of(url)
        self.reading = threading.RLock()
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, Experiment] = OrderedDict()
        self._opening: dict[str, threading.Lock] = {}

    def get(self, name: str) -> Experiment:
        """Return the experiment of that name, or say that there is none."""
        with self._lock:
            run = self._runs.get(name)
            if run is not None:
                self._runs.move_to_end(name)
                return run
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:
            with self._lock:
                run = self._runs.get(name)
            if run is None:
                self.log(name)
                run = Experiment.open(self.url, name)
                self._keep(name, run)
        with self._lock:
            self._opening.pop(name, None)
        return run

    def create(
        self, name: str, arms: Any, options: Mapping[str, Any], by: str, join: bool = False
    ) -> tuple[Experiment, bool]:
        """Begin an experiment; return it, and whether it is new. The same one may be joined."""
        options = beside(options)
        made = Experiment(arms, **options)
        with self.reading:
            new = self.place.log(name) is None
            if new:
                create(self.place, name, made, by)
        if not new:
            if not join:
                raise Problem(409, f"there is an experiment {name!r} already")
            try:
                check_same(Experiment, name, self.get(name)._state, arms, options)
            except InputError as error:
                raise Problem(409, str(error)) from None
        return self.get(name), new

    def listed(self) -> list[Listed]:
        """Return all experiments, by name."""
        with self.reading:
            return self.place.listed()

    def log(self, name: str) -> ExperimentLog:
        """Return the log of an experiment, to be read by whoever holds `reading`."""
        with self.reading:
            log = self.place.log(name)
        if log is None:
            raise UnknownName(f"there is no experiment {name!r}")
        return log

    def entries(self, name: str, after: int, most: int) -> list[Entry]:
        """Return the entries of an experiment behind number `after`."""
        log = self.log(name)
        with self.reading:
            return log.read(after, after + most)

    def check(self) -> None:
        """Raise if the store cannot be read."""
        with self.reading:
            self.place.statement("SELECT count(*) FROM ~api_keys", ())

    def __len__(self) -> int:
        return len(self._runs)

    def _keep(self, name: str, run: Experiment) -> None:
        with self._lock:
            self._runs[name] = run
            over = [self._runs.popitem(last=False)[1] for _ in range(len(self._runs) - self._most)]
        for each in over:
            each.close()  # who still has it goes on: it opens itself again

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            runs, self._runs = list(self._runs.values()), OrderedDict()
        for run in runs:
            run.close()
        with self.reading:
            self.place.close()
