"""Read-only view of a stored experiment: reading it writes nothing to the store."""

from __future__ import annotations

import time

from tideproof.errors import UnknownName
from tideproof.experiment.experiment import Experiment
from tideproof.store.backend import Backend, ExperimentListing, ExperimentLog, LogEntry
from tideproof.store.log_replay import load_state


def find_log(backend: Backend, name: str) -> ExperimentLog:
    """Return the event log of an experiment, or raise an error that names similar experiments."""
    log = backend.log(name)
    if log is None:
        raise UnknownName.with_suggestion(
            "experiment", name, [each.name for each in backend.list_experiments()]
        )
    return log


def find_listing(backend: Backend, name: str) -> ExperimentListing:
    """Return the stored summary of the experiment with this name, or raise `UnknownName`."""
    found = {each.name: each for each in backend.list_experiments()}
    if name not in found:
        raise UnknownName.with_suggestion("experiment", name, found)
    return found[name]


def read_all(backend: Backend, name: str) -> tuple[str, list[LogEntry]]:
    """Return the summary and all event-log entries of an experiment, read at one point in time."""
    log = find_log(backend, name)
    after = find_listing(backend, name).about
    while True:
        before, entries = after, log.read(0)
        after = find_listing(backend, name).about
        if before == after:
            return before, entries


def read_only_copy(log: ExperimentLog) -> Experiment:
    """Return an in-memory copy of a stored experiment.

    Changes of the copy, such as a lease that ends, are not written to the store.
    """
    return Experiment.from_state(load_state(log).state, time.time, has_session=True)
