"""Create, open and list the experiments of a store."""

from __future__ import annotations

import datetime
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tideproof._version import __version__
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.experiment.events.event_records import Created
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.leases import with_visitor_times
from tideproof.experiment.lifecycle import checked_arms
from tideproof.experiment.options.policy_prefixes import separate_options
from tideproof.experiment.snapshots.experiment_file import policy_from_description, unregistered
from tideproof.experiment.snapshots.snapshot import code_fingerprint
from tideproof.store import hash_chain
from tideproof.store.backend import Backend, ExperimentContents, ExperimentLog, StoredAnswer, Writer
from tideproof.store.log_replay import load_state
from tideproof.store.option_check import check_options
from tideproof.store.read_only_view import find_log
from tideproof.store.shared_log import SharedEventLog, summary_text
from tideproof.store.store_urls import open_backend
from tideproof.table import Table
from tideproof.text import public_url


def open_experiment(
    cls: type[Experiment],
    url: str,
    name: str,
    arms: Iterable[str] | None,
    clock: Callable[[], float],
    options: Mapping[str, Any],
) -> Experiment:
    """Open the experiment with this name; create it if it does not exist and arms are given."""
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of an experiment must be a non-empty string, not {describe_value(name)}")
    options = with_visitor_times(separate_options(options))
    arms = None if arms is None else checked_arms(arms)
    backend = open_backend(url)
    try:
        log = backend.log(name)
        if log is None:
            if arms is None:
                known = [each.name for each in backend.list_experiments()]
                raise UnknownName.with_suggestion(
                    "experiment", name, known, f"in {public_url(url)!r}; pass arms=[...] to create it"
                )
            made = cls(arms, clock=clock, **options)
            log, _ = create(backend, name, made)
        return _join(cls, url, name, log, arms, clock, options)
    except BaseException:
        backend.close()
        raise


def create(
    backend: Backend,
    name: str,
    run: Experiment,
    by: str | None = None,
    answers: Sequence[StoredAnswer] = (),
) -> tuple[ExperimentLog, bool]:
    """Create an experiment in a store from an experiment in memory, unless its name is taken.

    Return the event log under that name, and whether this call created it. `answers` are stored with a new
    experiment, for calls with idempotency keys.
    """
    state, writer = run.internals.state, secrets.token_bytes(8)
    first = hash_chain.make_entry(state.created._replace(by=by), 1, 0, writer, hash_chain.INITIAL_HASH)
    (created,) = hash_chain.decode_events([first])
    assert isinstance(created, Created)
    # raises an error if the experiment could not be opened again with its stored policy
    policy_from_description(created.policy, unregistered(state.spec))
    signed = Writer(writer, code_fingerprint(state.spec) or "", __version__)
    return backend.create(name, ExperimentContents(summary_text(state), [first], answers, [signed]))


def _join(
    cls: type[Experiment],
    url: str,
    name: str,
    log: ExperimentLog,
    arms: Any,
    clock: Any,
    options: Mapping[str, Any],
) -> Experiment:
    """Return an experiment that reads and writes an existing event log."""
    loaded = load_state(log, options.get("policy"))
    check_options(cls, name, loaded.state, arms, options)
    run = cls.from_state(loaded.state, clock, has_session=True)
    run.internals.share(SharedEventLog(run, url, name, log, loaded))
    return run


def reopen(url: str, name: str, policy: Any, clock: Callable[[], float] = time.time) -> Experiment:
    """Open an experiment again in another process, after unpickling."""
    return open_experiment(Experiment, url, name, None, clock, {} if policy is None else {"policy": policy})


def delete_experiment(url: str, name: str) -> None:
    """Delete an experiment from a store, with everything that belongs to it."""
    reader = open_backend(url, read_only=True)  # which does not create a missing store
    try:
        find_log(reader, name)
    finally:
        reader.close()
    backend = open_backend(url)
    try:
        backend.delete_experiment(name)
    finally:
        backend.close()


def experiments(url: str, *, archived: bool = False) -> Table:
    """Return a table of the experiments in a store, one row each.

    Parameters
    ----------
    url
        URL of the store, such as `"sqlite:///shop.db"` or `"postgresql://host/db"`.
    archived
        List the archived experiments instead of the others.
    """
    backend = open_backend(url, read_only=True)
    try:
        listed = [each for each in backend.list_experiments() if each.is_archived == archived]
        found = [(each, json.loads(each.about)) for each in listed]
    finally:
        backend.close()
    return Table(
        {
            "name": [each.name for each, _ in found],
            "arms": [", ".join(summary["arms"]) for _, summary in found],
            "policy": [summary["policy"] for _, summary in found],
            "pulls": [each.pulls for each, _ in found],
            "budget": [summary["budget"] for _, summary in found],
            "events": [each.events for each, _ in found],
            "last": [_format_time(each.at) for each, _ in found],
        }
    )


def _format_time(at: float) -> str:
    """Return a time in seconds as ISO text, or as a number if it is not a date."""
    try:
        return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):  # the clock of the experiment does not count from 1970
        return repr(at)
