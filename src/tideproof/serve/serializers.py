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

_OPTIONS = ("confidence", "rule", "lease", "default", "reserve", "time_zone")


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
        "created_at": created.at,
        "created_by": created.by,
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
    kind, at, by, *values = json.loads(entry.record)
    names = e.KINDS[kind]._fields[2:]
    about = {name: value for name, value in zip(names, values, strict=True) if name != "salt"}
    if "options" in about:  # of the first event
        about["options"] = to_public_names(about["options"])
    return {"seq": entry.seq, "at": at, "by": by, "kind": kind, "about": about}
