"""Names of the simulations that check tideproof's promises, and the modules that define them.

The simulations are the parts of the trust ledger. The names are those on the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tideproof.errors import UnknownName
from tideproof.research.trust.ledger_part import LedgerPart

PARTS = {  # name on the command line: module. Some modules need the compiler, so they are imported late.
    "stops": "wrong_stops",
    "ends": "final_interval_coverage",
    "looks": "repeated_looks",
    "planned_looks": "planned_look_errors",
    "chances": "p_best_reliability",
    "plans": "plan_promises",
    "interactions": "interaction_coverage",
    "wrong_cells": "outlying_cell_runs",
    "times": "unlabelled_log_coverage",
    "combinations": "combinations.combined_options",
    "variations": "combinations.random_variations",
    "evaluations": "evaluation_coverage",
}


def find_part(name: str) -> LedgerPart:
    """Import and return the simulation with the given name, which checks a promise of tideproof."""
    if name not in PARTS:
        raise UnknownName.with_suggestion("part", name, ["logs", *PARTS])
    return cast(LedgerPart, import_module(f"tideproof.research.trust.{PARTS[name]}").PART)
