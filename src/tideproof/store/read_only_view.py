"""An experiment in a store as it is now, for who only looks: nothing is written, nothing is followed."""

from __future__ import annotations

import time

from tideproof.errors import UnknownName
from tideproof.experiment.experiment import Experiment
from tideproof.store.backend import Backend, Entry, ExperimentLog, Listed
from tideproof.store.log_state import load


def known(place: Backend, name: str) -> ExperimentLog:
    """Return the log of an experiment, or say which there are."""
    log = place.log(name)
    if log is None:
        raise UnknownName.with_suggestion("experiment", name, [each.name for each in place.listed()])
    return log


def listed(place: Backend, name: str) -> Listed:
    """Return what a list says of an experiment."""
    found = {each.name: each for each in place.listed()}
    if name not in found:
        raise UnknownName.with_suggestion("experiment", name, found)
    return found[name]


def read_all(place: Backend, name: str) -> tuple[str, list[Entry]]:
    """Return what an experiment says of itself, and all its entries, at one moment."""
    log = known(place, name)
    after = listed(place, name).about
    while True:
        before, entries = after, log.read(0)
        after = listed(place, name).about
        if before == after:
            return before, entries


def seen(log: ExperimentLog) -> Experiment:
    """Return a copy in memory: what happens to it, such as the end of a lease, happens to no other."""
    run = Experiment.__new__(Experiment)
    run._begin(load(log).state, time.time)
    return run
