"""Reader of the items of an evaluation: a JSON-lines file with one item per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tideproof.errors import InputError
from tideproof.experiment.pull import Label
from tideproof.files import read_text


def read_items(path: Path, id_field: str = "id") -> dict[Label, dict[str, Any]]:
    """Return the test items in a JSON-lines file by their IDs; a line is an object with an ID, or an ID."""
    found: dict[Label, dict[str, Any]] = {}
    lines: dict[Label, int] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        where = f"line {number} of {str(path)!r}"
        try:
            item = json.loads(line)
        except ValueError:
            raise InputError(f"{where} is not JSON: each line must be an object with {id_field!r}") from None
        fields = item if isinstance(item, dict) else {id_field: item}
        if id_field not in fields:
            raise InputError(
                f"{where} has no {id_field!r}, but {', '.join(map(repr, list(fields)[:8])) or 'nothing'}; "
                f"--id names another field"
            )
        label = fields[id_field]
        if isinstance(label, bool) or not isinstance(label, (str, int)):
            raise InputError(f"{where}: the ID of an item must be text or a whole number, not {label!r}")
        if label in found:
            raise InputError(f"{where} has the ID {label!r} of line {lines[label]}: IDs must differ")
        found[label], lines[label] = fields, number
    if not found:
        raise InputError(f"{str(path)!r} has no items")
    return found
