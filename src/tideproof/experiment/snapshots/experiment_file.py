"""An experiment as a file: its events, a snapshot of what they add up to, and a checksum over both.

The snapshot is a cache: it is used where the code and the layout that made it are the same, and otherwise the
events are folded anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from tideproof._version import __version__
from tideproof.errors import InputError, TideproofError, UnknownName
from tideproof.experiment.events import event_records
from tideproof.experiment.events.event_validation import check, checked_created
from tideproof.experiment.policy_prefixes import parted
from tideproof.experiment.snapshots import file_format_2
from tideproof.experiment.snapshots.snapshot import fill
from tideproof.experiment.state.experiment_state import State
from tideproof.files import read_text, require_path, write_text_atomically
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_registry import Chosen, as_policy, is_namesake, is_registered, policy
from tideproof.policies.policy_spec import PolicySpec

FORMAT = 3


def write(
    happened: list[event_records.Event], snapshot: dict[str, Any] | None, path: str | os.PathLike[str]
) -> None:
    """Write the events and a snapshot of what they add up to to a file in one step."""
    write_text_atomically(path, text(happened, snapshot))


def text(happened: list[event_records.Event], snapshot: dict[str, Any] | None) -> str:
    """Return the contents of such a file."""
    plain = [event_records.plain(event) for event in happened]
    document = {
        "tideproof_experiment": FORMAT,
        "version": __version__,
        "events": plain,
        "snapshot": None if snapshot is None else snapshot | {"sha256": checksum([plain, snapshot])},
    }
    return json.dumps(document | {"sha256": checksum(document)}, allow_nan=False)


def read(path: str | os.PathLike[str]) -> tuple[list[event_records.Event], Any]:
    """Return the events in the file, and the snapshot, once it is known to be whole."""
    name = repr(require_path(path))
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        raise InputError(f"{name} is not a saved tideproof experiment") from None
    return parsed(text, name)


def parsed(text: str, name: str) -> tuple[list[event_records.Event], Any]:
    """Do the same for the contents of a file, which errors call `name`."""
    try:
        document = json.loads(text)
        version = document["tideproof_experiment"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{name} is not a saved tideproof experiment") from None
    if version == file_format_2.FORMAT:
        return file_format_2.as_events(document, name), None
    if version != FORMAT:
        raise InputError(
            f"{name} has format {version!r}; tideproof {__version__} reads formats {file_format_2.FORMAT} "
            f"and {FORMAT}"
        )
    if document.pop("sha256", None) != checksum(document):
        raise InputError(f"{name} is damaged: its checksum does not agree with what it says")
    try:
        return [event_records.read(record) for record in document["events"]], _snapshot(document)
    except InputError as error:
        raise InputError(f"{name} is damaged: {error}") from None
    except Exception as error:  # of no kind that an experiment writes
        raise InputError(f"{name} is damaged: it is no list of events ({error!r})") from None


def _snapshot(document: dict[str, Any]) -> Any:
    """Return the snapshot if it is whole, and that of these events."""
    found = document.get("snapshot")
    if not isinstance(found, dict):
        return None
    claimed = found.pop("sha256", None)
    return found if claimed == checksum([document["events"], found]) else None


def checksum(document: Any) -> str:
    """Return the SHA-256 checksum of a JSON document, as `write` stores it in the file."""
    plain = json.dumps(document, sort_keys=True, allow_nan=True)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def refold(happened: list[event_records.Event], given: Chosen | None, snapshot: Any = None) -> State:
    """Return the state of these events, by a snapshot of it if that fits.

    The policy is `given`, or the registered one of the saved name.
    """
    if not happened or not isinstance(happened[0], event_records.Created):
        raise InputError("no experiment: its first event must say what it began with")
    try:
        created = checked_created(happened[0])
        state = State(created, chosen(created.policy, given))
        state.events += happened[1:]
        if not fill(state, snapshot, check):
            state.fold(check)
    except TideproofError:
        raise
    except Exception as error:  # numbers that nobody can reckon with
        raise InputError(f"no experiment: its events do not fit together ({error!r})") from error
    return state


def described(spec: PolicySpec) -> dict[str, Any]:
    """Return a policy in plain words."""
    found: dict[str, Any] = {"name": spec.name, "label": spec.label, "options": dict(spec.options)}
    if is_namesake(spec.policy):
        found["own"] = True
    return found


def unregistered(spec: PolicySpec) -> Policy | None:
    """Return the policy itself where its name would not find it."""
    known = is_registered(spec.policy.name) and not is_namesake(spec.policy)
    return None if known else spec.policy


def chosen(saved: dict[str, Any], given: Chosen | None = None) -> PolicySpec:
    """Return the policy of that description: `given`, or the registered one of the saved name."""
    kinds = {"name": str, "label": str, "options": dict}
    if not all(isinstance(saved.get(part), kind) for part, kind in kinds.items()):
        raise InputError(f"no policy: {str(saved)[:80]}")
    name, _, selection = saved["name"].partition("+")
    found: str | Policy = name
    if given is not None:
        found = as_policy(given).policy
        if found.name != name:
            raise InputError(f"the experiment was saved with the policy {name!r}, not {found.name!r}")
        _check_choice(as_policy(given), selection, saved["options"])
    if saved.get("own") and (given is None or not is_namesake(as_policy(given).policy)):
        raise InputError(
            f"the experiment was saved with a policy of its owner's that has the name of the registered "
            f"{name!r}: give that one, Experiment.load(path, policy=POLICY)"
        )
    if given is None and not is_registered(name):
        raise UnknownName(
            f"the experiment was saved with the policy {name!r}, which is not registered here: install the "
            f"package that has it, or give it, Experiment.load(path, policy=POLICY)"
        )
    spec = policy(found, selection=selection, label=saved["label"], **saved["options"])
    if parted(spec).spec is not spec:
        raise InputError(
            f"no experiment has the policy {name!r}: tide and rule are options beside the policy"
        )
    return spec


def _check_choice(given: PolicySpec, selection: str, options: dict[str, Any]) -> None:
    """Raise if a rule and options were chosen that are not those of the saved experiment."""
    if given == policy(given.policy):  # nothing but the policy was
        return
    default, ratios = given.policy.options(), given.policy.on_ratios
    default |= {name: value for name, value in ratios.items() if options.get(name) == value}
    mine = default | json.loads(json.dumps(dict(given.options), default=repr))
    saved = default | options
    mine["selection"], saved["selection"] = given.selection.name, selection
    for name, value in mine.items():
        if value != saved[name]:
            raise InputError(
                f"the experiment was saved with {name}={saved[name]!r} of {given.policy.title}, not "
                f"{value!r}: Experiment.load(path, policy=POLICY) takes rule and options from the file"
            )
