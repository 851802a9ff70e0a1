"""Creating and joining experiments in a store."""

from __future__ import annotations

import datetime
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tideproof._version import __version__
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.experiment.controls import checked_arms
from tideproof.experiment.events.event_records import Created
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.policy_prefixes import beside
from tideproof.experiment.snapshots.experiment_file import chosen, unregistered
from tideproof.experiment.snapshots.snapshot import mark_of
from tideproof.store import hash_chain
from tideproof.store.backend import Backend, ExperimentLog, Writer
from tideproof.store.log_state import load
from tideproof.store.option_check import check_same
from tideproof.store.shared_log import SharedLog, about
from tideproof.store.store_urls import place_of, public
from tideproof.table import Table


def open_experiment(
    cls: type[Experiment],
    url: str,
    name: str,
    arms: Iterable[str] | None,
    clock: Callable[[], float],
    options: Mapping[str, Any],
) -> Experiment:
    """Return the experiment of that name, a new one if there is none and arms are given."""
    if not isinstance(name, str) or not name:
        raise InputError(f"an experiment's name must be a string, not {describe_value(name)}")
    options = beside(options)
    arms = None if arms is None else checked_arms(arms)
    place = place_of(url)
    try:
        log = place.log(name)
        if log is None:
            if arms is None:
                known = [each.name for each in place.listed()]
                raise UnknownName.with_suggestion(
                    "experiment", name, known, f"in {public(url)!r}; arms=[...] begins it"
                )
            made = cls(arms, clock=clock, **options)
            log = create(place, name, made)
        return _joined(cls, url, name, log, arms, clock, options)
    except BaseException:
        place.close()
        raise


def create(place: Backend, name: str, run: Experiment, by: str | None = None) -> ExperimentLog:
    """Begin an experiment in a store as `run` began; the log of that name if there is one."""
    state, writer = run._state, secrets.token_bytes(8)
    first = hash_chain.entry(state.created._replace(by=by), 1, 0, writer, hash_chain.START)
    (created,) = hash_chain.events([first])
    assert isinstance(created, Created)
    chosen(created.policy, unregistered(state.spec))  # or nobody could open what is begun
    signed = Writer(writer, mark_of(state.spec) or "", __version__)
    return place.create(name, about(state), first, signed)


def _joined(
    cls: type[Experiment],
    url: str,
    name: str,
    log: ExperimentLog,
    arms: Any,
    clock: Any,
    options: Mapping[str, Any],
) -> Experiment:
    loaded = load(log, options.get("policy"))
    check_same(cls, name, loaded.state, arms, options)
    run = cls.__new__(cls)
    run._begin(loaded.state, clock)
    run._shared = SharedLog(run, url, name, log, loaded)
    return run


def reopened(url: str, name: str, policy: Any, clock: Callable[[], float] = time.time) -> Experiment:
    """Return an experiment that another process had open."""
    return open_experiment(Experiment, url, name, None, clock, {} if policy is None else {"policy": policy})


def experiments(url: str) -> Table:
    """Return the experiments in a store, one row each.

    Parameters
    ----------
    url
        Where they are, such as `"sqlite:///shop.db"` or `"postgresql://host/db"`.
    """
    place = place_of(url, read_only=True)
    try:
        found = [(each, json.loads(each.about)) for each in place.listed()]
    finally:
        place.close()
    return Table(
        {
            "name": [each.name for each, _ in found],
            "arms": [", ".join(said["arms"]) for _, said in found],
            "policy": [said["policy"] for _, said in found],
            "pulls": [each.pulls for each, _ in found],
            "budget": [said["budget"] for _, said in found],
            "events": [each.events for each, _ in found],
            "last": [_time(each.at) for each, _ in found],
        }
    )


def _time(at: float) -> str:
    try:
        return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):  # a clock that does not count from 1970
        return repr(at)
