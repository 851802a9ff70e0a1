"""Experiment files: JSON with the events, a snapshot of the state, and a checksum over both.

The snapshot is a cache. It is used if it was written by the same version of the code that applies events;
otherwise the events are replayed.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from tideproof._version import __version__
from tideproof.errors import InputError, TideproofError, UnknownName
from tideproof.experiment.events import event_records
from tideproof.experiment.events.event_validation import check_event, checked_created
from tideproof.experiment.options.policy_prefixes import separate_policy
from tideproof.experiment.snapshots.snapshot import restore_from_snapshot
from tideproof.experiment.state.experiment_state import State
from tideproof.files import read_text, require_path, write_text_atomically
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_registry import Chosen, as_policy, is_namesake, is_registered, policy
from tideproof.policies.policy_spec import PolicySpec

FORMAT = 3


def write(
    happened: list[event_records.Event], snapshot: dict[str, Any] | None, path: str | os.PathLike[str]
) -> None:
    """Write events and a snapshot of the state to a file in one atomic step."""
    write_text_atomically(path, to_text(happened, snapshot))


def to_text(happened: list[event_records.Event], snapshot: dict[str, Any] | None) -> str:
    """Return the contents of an experiment file with these events and this snapshot."""
    plain = [event_records.event_to_record(event) for event in happened]
    document = {
        "tideproof_experiment": FORMAT,
        "version": __version__,
        "events": plain,
        "snapshot": None if snapshot is None else snapshot | {"sha256": checksum([plain, snapshot])},
    }
    return json.dumps(document | {"sha256": checksum(document)}, allow_nan=False)


def read(path: str | os.PathLike[str]) -> tuple[list[event_records.Event], Any]:
    """Return the events and the snapshot of an experiment file, after checking its checksum."""
    name = repr(require_path(path))
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        raise InputError(f"{name} is not a saved tideproof experiment") from None
    return parse(text, name)


def parse(text: str, name: str) -> tuple[list[event_records.Event], Any]:
    """Return the events and the snapshot in the text of an experiment file.

    `name` is the name of the file in error messages.
    """
    try:
        document = json.loads(text)
        version = document["tideproof_experiment"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{name} is not a saved tideproof experiment") from None
    if version != FORMAT:
        raise InputError(f"{name} has format {version!r}; tideproof {__version__} reads format {FORMAT} only")
    if document.pop("sha256", None) != checksum(document):
        raise InputError(f"{name} is damaged: its checksum does not match its contents")
    try:
        return [event_records.record_to_event(record) for record in document["events"]], _snapshot(document)
    except InputError as error:
        raise InputError(f"{name} is damaged: {error}") from None
    except Exception as error:  # the file was not written by an experiment
        raise InputError(f"{name} is damaged: it has no list of valid events ({error!r})") from None


def _snapshot(document: dict[str, Any]) -> Any:
    """Return the snapshot in a parsed experiment file if its checksum is right, else None."""
    found = document.get("snapshot")
    if not isinstance(found, dict):
        return None
    claimed = found.pop("sha256", None)
    return found if claimed == checksum([document["events"], found]) else None


def checksum(document: Any) -> str:
    """Return the SHA-256 checksum of a JSON document, which is stored in the experiment file."""
    plain = json.dumps(document, sort_keys=True, allow_nan=True)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def rebuild_state(happened: list[event_records.Event], given: Chosen | None, snapshot: Any = None) -> State:
    """Return the state after these events, from a valid snapshot if there is one, else by replaying them.

    The policy is `given`, or the registered policy of the saved name.
    """
    if not happened or not isinstance(happened[0], event_records.Created):
        raise InputError("the list of events of an experiment must begin with the event 'Created'")
    try:
        created = checked_created(happened[0])
        state = State(created, policy_from_description(created.policy, given))
        state.events += happened[1:]
        if not restore_from_snapshot(state, snapshot, check_event):
            state.fold(check_event)
    except TideproofError:
        raise
    except Exception as error:  # values for which the computation fails
        raise InputError(f"the events of the experiment contradict each other ({error!r})") from error
    return state


def describe_policy(spec: PolicySpec) -> dict[str, Any]:
    """Return a policy as a dictionary of JSON values: its name, label and options."""
    found: dict[str, Any] = {"name": spec.name, "label": spec.label, "options": dict(spec.options)}
    if is_namesake(spec.policy):
        found["own"] = True
    return found


def unregistered(spec: PolicySpec) -> Policy | None:
    """Return the policy if `load` cannot find it by its name, else None.

    The caller of `load` must pass such a policy.
    """
    known = is_registered(spec.policy.name) and not is_namesake(spec.policy)
    return None if known else spec.policy


def policy_from_description(saved: dict[str, Any], given: Chosen | None = None) -> PolicySpec:
    """Return the policy of a saved experiment with its saved options.

    It is `given`, or else the registered policy. `given` must have the same name, and must not contradict the
    saved options.
    """
    kinds = {"name": str, "label": str, "options": dict}
    if not all(isinstance(saved.get(part), kind) for part, kind in kinds.items()):
        raise InputError(f"the saved policy must have a name, a label and options, not {str(saved)[:80]}")
    name, _, selection = saved["name"].partition("+")
    found: str | Policy = name
    if given is not None:
        found = as_policy(given).policy
        if found.name != name:
            raise InputError(f"the experiment was saved with the policy {name!r}, not {found.name!r}")
        _check_choice(as_policy(given), selection, saved["options"])
    if saved.get("own") and (given is None or not is_namesake(as_policy(given).policy)):
        raise InputError(
            f"the experiment was saved with a custom policy that has the same name as the registered policy "
            f"{name!r}: pass the custom one, Experiment.load(path, policy=POLICY)"
        )
    if given is None and not is_registered(name):
        raise UnknownName(
            f"the experiment was saved with the policy {name!r}, which is not registered here: install its "
            f"package, or pass the policy, Experiment.load(path, policy=POLICY)"
        )
    spec = policy(found, selection=selection, label=saved["label"], **saved["options"])
    if separate_policy(spec).spec is not spec:
        raise InputError(
            f"the saved policy {name!r} must not have a prefix, because an experiment stores tide and rule "
            f"as separate options"
        )
    return spec


def _check_choice(given: PolicySpec, selection: str, options: dict[str, Any]) -> None:
    """Raise an error if the given selection rule or options differ from those of the saved policy."""
    if given == policy(given.policy):  # only the policy was chosen, without a rule or options
        return
    default, ratios = given.policy.options(), given.policy.on_ratios
    default |= {name: value for name, value in ratios.items() if options.get(name) == value}
    own = default | json.loads(json.dumps(dict(given.options), default=repr))
    saved = default | options
    own["selection"], saved["selection"] = given.selection.name, selection
    for name, value in own.items():
        if value != saved[name]:
            raise InputError(
                f"the experiment was saved with {name}={saved[name]!r} of {given.policy.title}, not "
                f"{value!r}. To use the rule and options of the file, pass the policy without them: "
                f"Experiment.load(path, policy=POLICY)"
            )
