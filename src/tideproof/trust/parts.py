"""The other parts of the ledger: promises of runs, looks, probabilities, plans and more, each played."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tideproof.errors import UnknownName
from tideproof.trust.part import Part

PARTS = (
    "stops",
    "ends",
    "looks",
    "chances",
    "plans",
    "interactions",
    "wrong_cells",
    "times",
)  # a module each: some need the compiler, some do not


def find_part(name: str) -> Part:
    """Return the part of that name."""
    if name not in PARTS:
        raise UnknownName.among("part", name, ["logs", *PARTS])
    return cast(Part, import_module(f"tideproof.trust.{name}").PART)
