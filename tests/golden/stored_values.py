"""Plain values of results, and the comparison with stored ones."""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

import tideproof as tp

RELATIVE = 1e-9
ROUNDING = 1e-12  # what differences may leave, relative to the largest number beside them
LONGEST = 30  # of a list that is stored entry by entry
PROSE = {"verdict", "sentence", "said", "remarks", "promise", "why", "note", "text", "texts", "bridge_text"}


def plain(value):
    """Return a value as numbers, short texts, lists and mappings, without prose and without infinities.

    Long lists of numbers become their length, sum, sum of magnitudes and a sum that depends on the order.
    """
    if isinstance(value, tp.Table):
        return {name: plain(list(column)) for name, column in _columns(value).items()}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items() if key not in PROSE}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in fields(value) if field.repr})
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(each, dict) for each in value):
            return {name: plain([row.get(name) for row in value]) for name in value[0] if name not in PROSE}
        return _listed([plain(each) for each in value])
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.13g}") if math.isfinite(value) else str(float(value))
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat()
    raise TypeError(f"{type(value)} is no plain value")


def _columns(table):
    return {name: [row[name] for row in table] for name in table.columns if name not in PROSE}


def _listed(values):
    if len(values) <= LONGEST or not all(each is None or isinstance(each, (int, float)) for each in values):
        return values if len(values) <= LONGEST else _grouped(values)
    return fingerprint(np.array([math.nan if each is None else float(each) for each in values]))


def fingerprint(numbers):
    """Return the length of an array, how many numbers are finite, and three sums over these."""
    known = np.flatnonzero(np.isfinite(numbers))
    weight = np.cos(1.0 + known)
    sums = numbers[known].sum(), np.abs(numbers[known]).sum(), weight @ numbers[known]
    return {"length": len(numbers), "known": int(known.size), "sums": [float(x) for x in sums]}


def _grouped(values):
    """Return long lists of anything else in pieces, so that a difference is found quickly."""
    return [json.dumps(values[i : i + LONGEST]) for i in range(0, len(values), LONGEST)]


def differences(found, stored, path="", size=0.0):
    """Yield what differs between found and stored values: where, and both values."""
    if isinstance(stored, dict) and isinstance(found, dict):
        if found.keys() != stored.keys():
            yield f"{path}: {sorted(found)} instead of {sorted(stored)}"
            return
        inner = _size(stored.values())
        for key in stored:
            yield from differences(found[key], stored[key], f"{path}.{key}", inner or size)
    elif isinstance(stored, list) and isinstance(found, list) and len(found) == len(stored):
        inner = max(size, _size(stored))
        for number, (one, other) in enumerate(zip(found, stored, strict=True)):
            yield from differences(one, other, f"{path}[{number}]", inner)
    elif isinstance(stored, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        if not math.isclose(found, stored, rel_tol=RELATIVE, abs_tol=ROUNDING * size):
            yield f"{path}: {found!r} instead of {stored!r}"
    elif found != stored or isinstance(found, bool) != isinstance(stored, bool):
        yield f"{path}: {found!r} instead of {stored!r}"


def _size(values):
    return max((abs(x) for x in values if isinstance(x, float)), default=0.0)


def assert_as_stored(found, stored):
    wrong = list(differences(json.loads(json.dumps(found)), stored))
    assert not wrong, "\n".join(wrong[:20])


def read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, values):
    """Write a mapping of cases, one line each."""
    lines = (f"{json.dumps(name)}: {json.dumps(found)}" for name, found in values.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
