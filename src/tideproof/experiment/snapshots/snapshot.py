"""Snapshots: stored copies of the state of an experiment, so that loading need not replay all events.

A snapshot is a cache. It contains the fold version and a fingerprint of the policy's kernels. If either
differs from the running code, the snapshot is ignored.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from typing import Any

import numpy as np

from tideproof.core.program_cache import fingerprint
from tideproof.errors import InputError
from tideproof.experiment.events.event_log import EventLog
from tideproof.experiment.snapshots import pull_columns
from tideproof.experiment.state.experiment_state import Check, State
from tideproof.kernels.fit.policy_data import expect, take
from tideproof.policies.final_selection_rules import Selection
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec

# Increase this whenever the code that folds events changes the numbers or their layout: snapshots of another
# version are ignored, and the events are replayed. `test_fold_version.py` notices such a change.
FOLD_VERSION = 4

FEWEST_EVENTS = 200  # with fewer events, replaying them is as fast as reading a snapshot


def copy_policy_state(state: State) -> Any:
    """Return a copy of the policy's statistics, or None if there are few events.

    Replaying few events is as fast as loading a snapshot.
    """
    if len(state.events) < FEWEST_EVENTS:
        return None
    return state.read(lambda: _copy(state.policy_state.contents()))


def copy_whole_state(state: State) -> Any:
    """Return a copy of the pulls and the policy's statistics, or None if there are few events."""
    numbers = copy_policy_state(state)
    return None if numbers is None else [pull_columns.book_to_columns(state.book), numbers]


def pack_snapshot(spec: PolicySpec, contents: Any) -> dict[str, Any] | None:
    """Convert a copied policy state to a snapshot of JSON values; return None if that is impossible."""
    mark = None if contents is None else _fingerprint(spec.policy, spec.selection)
    return None if mark is None else {"mark": mark, "numbers": _pack(contents)}


def restore_from_snapshot(state: State, snapshot: Any, check: Check) -> bool:
    """Restore the policy state from a snapshot; return False if the snapshot cannot be used.

    `state` must have its events, none of which was applied but the first.
    """
    mark = _fingerprint(state.spec.policy, state.spec.selection)
    if not isinstance(snapshot, dict) or mark is None or snapshot.get("mark") != mark:
        return False
    try:
        state.restore_policy_state(_unpack(snapshot["numbers"]), check)
    except (KeyError, TypeError, ValueError, IndexError, zlib.error):
        return False
    return True


def serialize_state(contents: Any) -> bytes:
    """Return the copied state of an experiment as JSON bytes with compressed arrays.

    `contents` is what `copy_whole_state` returned.
    """
    return json.dumps(_pack(contents), separators=(",", ":")).encode()


def resume(state: State, happened: EventLog, snapshot: bytes) -> bool:
    """Restore the state of an experiment from bytes; return False if that is impossible.

    `state` must be new, and `happened` must be the events up to the time of the snapshot.
    """
    try:
        book, numbers = _unpack(json.loads(snapshot))
        state.restore(happened, book, numbers)
    except (KeyError, TypeError, ValueError, IndexError, zlib.error):
        state.begin()
        return False
    return True


def code_fingerprint(spec: PolicySpec) -> str | None:
    """Return a hash of the code that applies events for a policy, or None if the code cannot be hashed."""
    return _fingerprint(spec.policy, spec.selection)


@cache
def _fingerprint(policy: Policy, selection: Selection) -> str | None:
    """Return a hash of the code that applies events for a policy and selection rule, or None.

    It is None if the code cannot be hashed.
    """
    spec = PolicySpec(policy, selection)
    try:
        kernels = [
            fingerprint(f, each.fill())
            for each in (spec, *_hidden_tide_variants(spec))
            for f in (take, expect)
        ]
    except Exception:  # the kernel uses values that cannot be fingerprinted
        return None
    return hashlib.sha256("\n".join([f"fold version {FOLD_VERSION}", *kernels]).encode()).hexdigest()


def _hidden_tide_variants(spec: PolicySpec) -> list[PolicySpec]:
    """Return a policy's two versions for shifts at unknown times, or an empty list if it has none.

    The list has one policy for `tide="hidden"` and one for `tide="both"`.
    """
    try:
        return [spec.on_tide("hidden"), spec.on_tide("both")]
    except InputError:
        return []


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return [_copy(each) for each in value] if isinstance(value, (list, tuple)) else value


def _pack(value: Any) -> Any:
    """Convert nested lists to JSON values: each array becomes a dictionary with its compressed bytes."""
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 1)).decode()
        return {"type": value.dtype.str, "shape": list(value.shape), "data": packed}
    if isinstance(value, (list, tuple)):
        return [_pack(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        plain = zlib.decompress(base64.b64decode(value["data"]))
        return np.frombuffer(plain, value["type"]).reshape(value["shape"]).copy()
    return [_unpack(each) for each in value] if isinstance(value, list) else value
