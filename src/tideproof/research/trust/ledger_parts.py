"""The other parts of the ledger: promises of runs, looks, probabilities, plans and more, each played."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tideproof.errors import UnknownName
from tideproof.research.trust.ledger_part import LedgerPart

PARTS = {  # name on the command line: module; some need the compiler, some do not
    "stops": "wrong_stops",
    "ends": "budget_ends",
    "looks": "repeated_looks",
    "chances": "p_best_reliability",
    "plans": "plan_promises",
    "interactions": "interaction_coverage",
    "wrong_cells": "outlying_cell_runs",
    "times": "unlabelled_log_coverage",
}


def find_part(name: str) -> LedgerPart:
    """Return the part of that name."""
    if name not in PARTS:
        raise UnknownName.with_suggestion("part", name, ["logs", *PARTS])
    return cast(LedgerPart, import_module(f"tideproof.research.trust.{PARTS[name]}").PART)
