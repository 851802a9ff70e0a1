"""A snapshot: what the events of an experiment add up to, so that loading need not fold all of them again.

A snapshot is a cache. It carries the fold version and a fingerprint of the policy's kernels. Where either
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
from tideproof.experiment.events.event_log import Happened
from tideproof.experiment.snapshots import book_columns
from tideproof.experiment.state.experiment_state import Check, State
from tideproof.kernels.fit.policy_data import expect, take
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.selection_rules import Selection

# Increase this whenever the code that folds events changes the numbers or their layout: snapshots of another
# version are ignored, and the events are folded again. `test_fold_version.py` notices such a change.
FOLD_VERSION = 1

FEWEST_EVENTS = 200  # with fewer events, folding them is as quick as reading a snapshot


def copied(state: State) -> Any:
    """Return a copy of the numbers of an experiment; None where folding its events is as quick."""
    if len(state.events) < FEWEST_EVENTS or state.carried:
        return None
    return state.look(lambda: _copy(state.numbers.contents()))


def copied_whole(state: State) -> Any:
    """Return a copy of the book, too; None where that cannot be said shortly."""
    numbers = copied(state)
    return None if numbers is None else [book_columns.contents(state.book), numbers]


def packed(spec: PolicySpec, contents: Any) -> dict[str, Any] | None:
    """Return such a copy as a snapshot, in plain words."""
    mark = None if contents is None else _mark(spec.policy, spec.selection)
    return None if mark is None else {"mark": mark, "numbers": _packed(contents)}


def fill(state: State, snapshot: Any, check: Check) -> bool:
    """Bring a state whose events are there to their end by a snapshot; False if that cannot be done."""
    mark = _mark(state.spec.policy, state.spec.selection)
    if not isinstance(snapshot, dict) or mark is None or snapshot.get("mark") != mark:
        return False
    try:
        state.skip_to_end(_unpacked(snapshot["numbers"]), check)
    except (KeyError, TypeError, ValueError, IndexError, zlib.error):
        return False
    return True


def packed_whole(contents: Any) -> bytes:
    """Return what `copied_whole` copied as text."""
    return json.dumps(_packed(contents), separators=(",", ":")).encode()


def resume(state: State, happened: Happened, snapshot: bytes) -> bool:
    """Bring a new state to the end of what happened by such a text; False if that cannot be done."""
    try:
        book, numbers = _unpacked(json.loads(snapshot))
        state.resume(happened, book, numbers)
    except (KeyError, TypeError, ValueError, IndexError, zlib.error):
        state.begin()
        return False
    return True


def mark_of(spec: PolicySpec) -> str | None:
    """Return a fingerprint of the code that folds events for a policy; None where nobody can tell."""
    return _mark(spec.policy, spec.selection)


@cache
def _mark(policy: Policy, selection: Selection) -> str | None:
    """Return a fingerprint of the code that folds events for a policy."""
    spec = PolicySpec(policy, selection)
    try:
        kernels = [fingerprint(f, each.fill()) for each in (spec, *_followed(spec)) for f in (take, expect)]
    except Exception:  # a kernel that uses what cannot be told apart by value
        return None
    return hashlib.sha256("\n".join([f"fold version {FOLD_VERSION}", *kernels]).encode()).hexdigest()


def _followed(spec: PolicySpec) -> list[PolicySpec]:
    """Return the policy where the tide is followed, if it can be."""
    try:
        return [spec.on_tide("hidden"), spec.on_tide("both")]
    except InputError:
        return []


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return [_copy(each) for each in value] if isinstance(value, (list, tuple)) else value


def _packed(value: Any) -> Any:
    """Return arrays as text, and all that holds them as lists."""
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 1)).decode()
        return {"type": value.dtype.str, "shape": list(value.shape), "data": packed}
    if isinstance(value, (list, tuple)):
        return [_packed(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        plain = zlib.decompress(base64.b64decode(value["data"]))
        return np.frombuffer(plain, value["type"]).reshape(value["shape"]).copy()
    return [_unpacked(each) for each in value] if isinstance(value, list) else value
