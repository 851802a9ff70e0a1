"""Serializers: experiments, events and recommendations as JSON-compatible values."""

from __future__ import annotations

import json
import math
from typing import Any

from tideproof.experiment.events import event_records as e
from tideproof.experiment.read_model import ExperimentStatus
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.settings import to_public_names
from tideproof.store.backend import LogEntry

_OPTIONS = ("confidence", "rule", "lease", "default", "reserve", "time_zone", "control", "looks")


def experiment(found: ExperimentStatus, name: str) -> dict[str, Any]:
    """Return the settings and the progress of an experiment as a JSON-compatible dictionary."""
    created = found.created
    options = created.options
    return {
        "name": name,
        "state": found.state,
        "arms": list(found.arms),
        "retired": list(found.retired),
        "budget": found.budget,
        "remaining": found.remaining,
        "asked": found.asked,
        "pending": found.pending,
        "recorded": found.recorded,
        "events": found.events,
        "policy": found.policy,
        "seed": created.seed,
        "direction": created.direction,
        "tide": found.tide,
        "rewards": options.get("rewards", "normal"),
        "scale": found.scale,
        **{word: options.get(word) for word in _OPTIONS},
        "shipped": found.shipped,
        "stop": None if found.stop is None else _decision(found),
        "archived_at": found.archived_at,
        "created_at": created.at,
        "created_by": created.by,
    }


def _decision(found: ExperimentStatus) -> dict[str, Any]:
    """Return who stopped an experiment, when, why and with which arm, as a JSON-compatible dictionary."""
    stop = found.stop
    assert stop is not None
    return {
        "at": stop.at,
        "by": stop.by,
        "why": stop.why,
        "ship": None if stop.ship is None else found.arms[stop.ship],
    }


def recommendation(found: Recommendation) -> dict[str, Any]:
    """Return a recommendation (which arm to select) as a JSON-compatible dictionary.

    Infinite and undefined numbers become None.
    """
    said = found.to_dict() | {"promise": found.promise, "sentence": str(found)}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in said.items()
    }


def event(entry: LogEntry) -> dict[str, Any]:
    """Return an event of an experiment's log as a JSON-compatible dictionary.

    It does not contain the salt with which the identifiers of units are hashed.
    """
    record = json.loads(entry.record)
    found = e.trusted_record_to_event(record)
    about = {name: value for name, value in found._asdict().items() if name not in ("at", "by", "salt")}
    if "options" in about:  # of the first event
        about["options"] = to_public_names(about["options"])
    return {"seq": entry.seq, "at": found.at, "by": found.by, "kind": record[0], "about": about}
