"""Stored values of many cases: one JSON file in a folder `golden`, written anew by a script beside it.

A module that declares cases calls `rewrite(CASES, file)` when it is run as a script, and a test calls
`differences(case, file)` for every case. Numbers agree at a relative tolerance of 1e-9, all else exactly.
"""

import dataclasses
import functools
import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

RELATIVE, ABSOLUTE = 1e-9, 1e-12
WIDTH = 110  # characters of a line of a file

Cases = Mapping[str, Callable[[], Any]]


def plain(value: Any) -> Any:
    """Return a value as JSON: objects as dictionaries of their fields, arrays as lists, functions by name."""
    if isinstance(value, (str, bool, int, type(None))):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): plain(each) for key, each in value.items()}
    if hasattr(value, "to_dicts"):
        return {name: plain(value[name]) for name in value.columns}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(each) for each in value)
    if isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        return [plain(each) for each in value]
    return getattr(value, "__name__", None) or repr(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)


def numbers(text: str) -> str:
    """Return the numbers in a text, as they are written, without its words and the random ids of pulls."""
    return " ".join(re.findall(r"-?\d[\d.,:]*(?: %)?", re.sub(r"\b[0-9a-f]{8,}-", "", text)))


def rewrite(cases: Cases, file: Path) -> None:
    """Write the values of all cases to a file."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(_text({name: plain(case()) for name, case in cases.items()}) + "\n", encoding="utf-8")


@functools.cache
def stored(file: Path) -> Any:
    """Return the values in a file, by the names of the cases."""
    return json.loads(file.read_text(encoding="utf-8"))


def differences(name: str, found: Any, file: Path) -> list[str]:
    """Return in what a value differs from the stored one of a case: the first five places."""
    return list(_differences("", plain(found), stored(file)[name]))[:5]


def _differences(where: str, a: Any, b: Any) -> Any:
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        if not math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"{where}: {a!r}, not {b!r}"
    elif isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            yield f"{where}: keys {list(a)}, not {list(b)}"
        for key in a.keys() & b.keys():
            yield from _differences(f"{where}/{key}", a[key], b[key])
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"{where}: {len(a)} elements, not {len(b)}"
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from _differences(f"{where}/{i}", x, y)
    elif type(a) is not type(b) or a != b:
        yield f"{where}: {a!r}, not {b!r}"


def _text(value: Any, indent: str = "") -> str:
    """Return JSON that is readable: what fits on a line stands on one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= WIDTH or not isinstance(value, (dict, list)):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {_text(each, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    parts, row = [], ""
    for each in value:
        text = _text(each, inner)
        if row and ("\n" in text or len(inner) + len(row) + len(text) > WIDTH):
            parts.append(inner + row)
            row = ""
        row += (" " if row else "") + text + ","
    return "[\n" + "\n".join([*parts, inner + row[:-1]]) + f"\n{indent}]"
