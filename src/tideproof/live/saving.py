"""An experiment as one JSON document, and back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__
from tideproof.core.arrays import Memory
from tideproof.errors import InputError, UnknownName
from tideproof.files import read_text
from tideproof.live.environment import Environment
from tideproof.live.pull import CANCELLED, OUT, Pull
from tideproof.policies.definition import PREFIX, Policy
from tideproof.policies.registry import Chosen, as_policy, is_namesake, policy, policy_names
from tideproof.policies.spec import PolicySpec

if TYPE_CHECKING:
    from tideproof.live.experiment import Experiment

FORMAT = 2


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the document in the file, once it is known to be an experiment of this format."""
    try:
        saved: dict[str, Any] = json.loads(read_text(path))
        version = saved["tideproof_experiment"]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise InputError(f"{os.fspath(path)!r} is not a saved tideproof experiment") from None
    if version != FORMAT:
        raise InputError(
            f"{os.fspath(path)!r} has format {version}; tideproof {__version__} reads format {FORMAT}"
        )
    return saved


def to_dict(run: Experiment) -> dict[str, Any]:
    """Return everything `refill` needs to go on exactly here."""
    spec = run.policy
    chosen: dict[str, Any] = {"name": spec.name, "label": spec.label, "options": dict(spec.options)}
    if is_namesake(spec.policy):
        chosen["own"] = True
    return {
        "tideproof_experiment": FORMAT,
        "version": __version__,
        "arms": list(run.arms),
        "budget": run.budget,
        "policy": chosen,
        "seed": run.seed,
        "direction": run.direction,
        "current": run._current,
        "batches": run._batches,
        "pulls": [
            [run._index[p.arm], p.environment, status, reward]
            for p, status, reward in zip(run._pulls, run._status, run._rewards, strict=True)
        ],
        "summaries": [[key, *summary] for key, summary in run._summaries.items()],
        "state": _buffers(run._memory),
        "environments": [
            {"label": label, "slot": _buffers(e.slot), "cells": _buffers(e.cells)}
            for label, e in run._environments.items()
        ],
    }


def options(saved: dict[str, Any], given: Chosen | None = None) -> dict[str, Any]:
    """Return what the experiment was made with, as `Experiment` takes it.

    The policy is `given`, or the registered one of the saved name.
    """
    chosen = saved["policy"]
    name, _, selection = chosen["name"].partition("+")
    found: str | Policy = name
    if given is not None:
        found = as_policy(given).policy
        if found.name != name:
            raise InputError(f"the experiment was saved with the policy {name!r}, not {found.name!r}")
        _check_choice(as_policy(given), selection, chosen["options"])
    if chosen.get("own") and (given is None or not is_namesake(as_policy(given).policy)):
        raise InputError(
            f"the experiment was saved with a policy of its owner's that has the name of the registered "
            f"{name!r}: give that one, Experiment.load(path, policy=POLICY)"
        )
    if given is None and name.removeprefix(PREFIX) not in policy_names():
        raise UnknownName(
            f"the experiment was saved with the policy {name!r}, which is not registered here: install the "
            f"package that has it, or give it, Experiment.load(path, policy=POLICY)"
        )
    spec = policy(found, selection=selection, label=chosen["label"], **chosen["options"])
    return {name: saved[name] for name in ("arms", "budget", "seed", "direction")} | {"policy": spec}


def _check_choice(given: PolicySpec, selection: str, options: dict[str, Any]) -> None:
    """Raise if a rule and options were chosen that are not those of the saved experiment."""
    if given == policy(given.policy):  # nothing but the policy was
        return
    default = given.policy.options()
    mine = default | json.loads(json.dumps(dict(given.options), default=repr))
    saved = default | options
    mine["selection"], saved["selection"] = given.selection.name, selection
    for name, value in mine.items():
        if value != saved[name]:
            raise InputError(
                f"the experiment was saved with {name}={saved[name]!r} of {given.policy.title}, not "
                f"{value!r}: Experiment.load(path, policy=POLICY) takes rule and options from the file"
            )


def refill(run: Experiment, saved: dict[str, Any]) -> None:
    """Bring a new experiment to where the saved one was."""
    run._current, run._batches = saved["current"], saved["batches"]
    for id, (arm, label, status, reward) in enumerate(saved["pulls"]):
        run._pulls.append(Pull(id, run.arms[arm], label))
        run._status.append(status)
        run._rewards.append(reward)
        if status == OUT:
            run._out[id] = run._pulls[id]
    run._cancelled = run._status.count(CANCELLED)
    run._summaries = {key: (arm, *rest) for key, arm, *rest in saved["summaries"]}
    _refill(run._memory, saved["state"])
    for entry in saved["environments"]:
        place = run._environments[entry["label"]] = Environment(len(run.arms))
        _refill(place.slot, entry["slot"])
        _refill(place.cells, entry["cells"])


def _buffers(memory: Memory[Any]) -> dict[str, list[Any]]:
    return {"floats": memory.floats.tolist(), "ints": memory.ints.tolist()}


def _refill(memory: Memory[Any], saved: dict[str, list[Any]]) -> None:
    for buffer, numbers in ((memory.floats, saved["floats"]), (memory.ints, saved["ints"])):
        if len(buffer) != len(numbers):
            raise InputError(
                f"the experiment was saved by another version of its policy or of tideproof: its state has "
                f"{len(numbers)} numbers, not {len(buffer)}"
            )
        buffer[:] = numbers
