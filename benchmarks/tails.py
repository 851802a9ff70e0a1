"""PICS at large budgets, far below what 1e5 replications can measure.

    python benchmarks/tails.py 1e8 docs/paper [policy ...]

That many replications need a GPU. Top-two Thompson sampling, which is slow there, gets a tenth of them. A
curve ends at its last point with ten errors or more. If policies are named, the rows of the others stay as
they are.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tideproof as tp
from lab import table
from tideproof.draw.matplotlib_figure import save_for_print
from tideproof.draw.panel_grid import Facet, draw_facets
from tideproof.draw.policy_curves import PolicyCurve
from tideproof.files import replace_atomically
from tideproof.research.paper.panels import panel_title
from tideproof.table import Table

SEED = 2027
PANELS = {
    ("mdm", "general"): (50, 100, 150, 200, 300, 400, 500, 600),
    ("mdm", "worst-case"): (100, 200, 300, 400, 500, 600, 800),
    ("slippage", "general"): (100, 200, 300, 400, 600, 800, 1000, 1400, 2000),
    ("slippage", "worst-case"): (100, 200, 400, 600, 800, 1000, 1400, 2000),
}
SHARE = {  # share of the replications
    "contrast": 1.0,
    "linlucb": 1.0,
    "round-robin+ols": 1.0,
    "reduce:successive-rejects": 1.0,
    "top-two-thompson": 0.1,
}
LABELS = {  # as in the ledger of the paper's claims
    "contrast": "contrast",
    "linlucb": "LinLUCB",
    "round-robin+ols": "round robin, OLS selection",
    "reduce:successive-rejects": "SR, reduced",
    "top-two-thompson": "top-two Thompson",
}
FEWEST = 10  # errors that a point of the picture needs
COLUMNS = ("configuration", "scenario", "policy", "budget", "replications", "errors", "pics", "low", "high")


def rows(replications: int, names: Collection[str] = SHARE) -> Iterator[dict[str, Any]]:
    """Yield a row for each panel, policy and budget.

    A policy that needs the horizon is run for each budget, up to the first without errors.
    """
    for (configuration, scenario), budgets in PANELS.items():
        world = getattr(tp, configuration)(5, scenario)
        for name in names:
            count = max(int(replications * SHARE[name]), 1)
            known = tp.policy(name).policy.needs_horizon  # such a policy needs a run for each budget
            for some in [(budget,) for budget in budgets] if known else [budgets]:
                study = tp.simulate(world, name, some, count, SEED)
                scored = zip(some, study.errors(name).tolist(), *study.interval(name), strict=True)
                for budget, errors, low, high in scored:
                    pics = errors / count
                    found = configuration, scenario, name, budget, count, errors, pics, low, high
                    yield dict(zip(COLUMNS, found, strict=True))
                if study.errors(name)[-1] == 0:
                    break


def facets(found: list[dict[str, Any]]) -> list[Facet]:
    """Return the facets to draw: one for each world, with 95 % intervals."""
    made = []
    for (configuration, scenario), budgets in PANELS.items():
        mine = [row for row in found if (row["configuration"], row["scenario"]) == (configuration, scenario)]
        curves = []
        for name in SHARE:
            shown = [row for row in mine if row["policy"] == name and row["errors"] >= FEWEST]
            x, value, low, high = (
                np.array([row[key] for row in shown], float) for key in ("budget", "pics", "low", "high")
            )
            curves.append(PolicyCurve(LABELS[name], x.tolist(), value, low, high))
        title = panel_title("sc" if configuration == "slippage" else "mdm", 5, scenario)
        worlds, _, scenario = title.rpartition(", ")
        made.append(Facet(scenario.capitalize(), curves, budgets[-1], worlds.replace(", ", ",\n")))
    return made


def draw(found: list[dict[str, Any]]) -> Any:
    """Return a matplotlib figure of the rows."""
    return draw_facets(facets(found), "PICS", 2, 4.6, len(SHARE))


def report() -> Iterator[str]:
    """Yield the errors at the last budgets from few replications."""
    shown = {(row["configuration"], row["scenario"], row["policy"]): row for row in rows(2000)}
    yield table(
        "## Tails\n\nErrors at the last budget, or the first without any; 1e8 replications would show more.",
        ["", "policy", "pulls", "errors", "of"],
        [
            [
                f"{r['configuration']}, {r['scenario']}",
                *(str(r[c]) for c in ("policy", "budget", "errors", "replications")),
            ]
            for r in shown.values()
        ],
    )


def kept(path: Path, names: Collection[str]) -> list[dict[str, Any]]:
    """Return the stored rows of the policies that are not run again."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    kinds = (
        dict.fromkeys(COLUMNS[:3], str) | dict.fromkeys(COLUMNS[3:6], int) | dict.fromkeys(COLUMNS[6:], float)
    )
    return [
        {column: kind(row[column]) for column, kind in kinds.items()}
        for row in found
        if row["policy"] in SHARE and row["policy"] not in names
    ]


def place(row: dict[str, Any]) -> tuple[int, ...]:
    """Return the sort key of a row: panel, policy and budget."""
    panel = row["configuration"], row["scenario"]
    return list(PANELS).index(panel), list(SHARE).index(row["policy"]), row["budget"]


def main(replications: int, folder: Path, names: Collection[str]) -> None:
    start, found = time.perf_counter(), kept(folder / "tails.csv", names)
    for row in rows(replications, names):
        found.append(row)
        print(f"{time.perf_counter() - start:6.1f} s", *row.values(), flush=True)
    found.sort(key=place)
    with replace_atomically(folder / "tails.csv") as path:
        Table({column: [row[column] for row in found] for column in COLUMNS}).to_csv(path)
    with replace_atomically(folder / "tails.pdf") as pdf, replace_atomically(folder / "tails.png") as png:
        save_for_print(draw(found), pdf, png)


if __name__ == "__main__":
    main(int(float(sys.argv[1])), Path(sys.argv[2]), sys.argv[3:] or list(SHARE))
