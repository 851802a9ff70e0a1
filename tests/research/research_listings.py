"""What research declares, as data: `python tests/research/research_listings.py` writes the stored values anew."""

import sys
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from golden_data import Cases, numbers, rewrite
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.study import Recipe, Study
from tideproof.research.paper.algebra_identities import CHAINED, DISCONNECTED, TWO_ENVIRONMENTS
from tideproof.research.paper.claim_verdicts import judge
from tideproof.research.paper.claims import CLAIMS
from tideproof.research.paper.panels import panels
from tideproof.research.paper.side_studies import SIDE_STUDIES
from tideproof.research.suite.policy_suite import COLLECTIONS
from tideproof.research.trust import random_logs
from tideproof.research.trust.combinations import (
    adaptive_calibration,
    combined_options,
    covariate_calibration,
    environment_calibration,
    random_variations,
    share_calibration,
    tail_calibration,
    unit_calibration,
)
from tideproof.research.trust.ledger_part import PartOptions
from tideproof.research.trust.ledger_part_registry import PARTS, find_part
from tideproof.research.trust.log_settings import POWER_SETTINGS, SETTINGS
from tideproof.research.trust.outcome_counts import play
from tideproof.research.trust.reference_tests import run_paired_tests

FOLDER = Path(__file__).parent / "golden"
RUNS = 400  # replications of a canned study


def panel(name):
    """Return what determines the numbers of a panel."""
    found = panels()[name]
    definition = found.definition(1, 0, "cpu")
    del definition["tideproof"], definition["replications"], definition["seed"], definition["engine"]
    return {"title": found.title, "work": found.work, **definition}


@cache
def canned(name):
    """Return a study of a panel with invented counts, the better the longer and the earlier the policy."""
    found = panels()[name]
    P, B, K = len(found.policies), len(found.budgets), found.world.arms
    random = np.random.default_rng(sum(name.encode()))
    share = (0.6 * found.world.gaps[0] if K > 2 else 0.4) + 0.1 * np.arange(P)[:, None] / P
    share = np.broadcast_to(share / (1.0 + 2.0 * np.arange(B) / B), (P, B))
    wrong = random.binomial(RUNS, np.minimum(share, 0.9))
    others = np.flatnonzero(found.world.gaps > 0.0)
    chosen = np.zeros((P, B, K), np.int64)
    for p in range(P):
        for b in range(B):
            chosen[p, b, others] = random.multinomial(wrong[p, b], np.full(others.size, 1.0 / others.size))
    chosen[..., found.world.best[0]] = RUNS - wrong
    pairs = [(i, j) for i in range(P) for j in range(i + 1, P)]
    both = np.array([np.minimum(wrong[i], wrong[j]) // 2 for i, j in pairs]).reshape(len(pairs), B)
    apart = np.array([(wrong[i] + wrong[j]) * 0.3 for i, j in pairs]).reshape(len(pairs), B)
    samples = RUNS * np.broadcast_to(37 * np.arange(1, P + 1)[:, None] + np.arange(B), (P, B))
    kept = [found.budgets.index(budget) for budget in found.keep]
    selected = np.zeros((P, len(kept), RUNS), np.int16)
    for p in range(P):
        for at, b in enumerate(kept):
            selected[p, at] = random.permutation(np.repeat(np.arange(K), chosen[p, b]))
    sums = ReplicationSums(
        chosen=chosen, unidentified=wrong // 7, pulls=chosen, samples=samples, squares=samples**2 // RUNS + RUNS,
        stopped=wrong, stops=chosen // 2, both=both, cost_gap_squares=apart,
        selected=selected,
    )  # fmt: skip
    recipes = tuple(Recipe(spec.name, dict(spec.options), spec.label) for spec in found.policies)
    return Study(found.world, recipes, found.budgets, RUNS, 0, sums, keep=found.keep)


@cache
def side_study(name):
    """Return the table of a side study with few replications."""
    return SIDE_STUDIES[name](1, 2)


class Found(dict):
    """Canned studies and small side studies, made when they are needed."""

    def __missing__(self, name):
        return canned(name) if name in panels() else side_study(name)


def claim(one):
    """Return what a claim needs, and its parts: how many comparisons, the first, the last, and sums."""
    judged = judge(one, Found())
    return {
        "needs": one.needs,
        "section": one.section,
        "ours": one.ours,
        "level": judged.level,
        "verdict": judged.verdict,
        "parts": [
            {
                "what": part.what,
                "wanted": [part.side, part.bar, part.some, part.universal, part.outcome],
                "counts": [*part.counts.values()],
                "where": [part.comparisons[0].where, part.comparisons[-1].where] if part.comparisons else [],
                "sums": np.nansum(
                    np.nan_to_num([one.measured for one in part.comparisons], posinf=9.0), axis=0
                )
                if part.comparisons
                else [],
            }
            for part in judged.parts
        ],
    }


def columns(table):
    """Return the columns of a table: their number of rows, first and last value, and sum or distinct texts."""
    found = {"rows": len(table)}
    for name in table.columns:
        values = list(table[name])
        if all(isinstance(value, str) or value is None for value in values):
            found[name] = list(dict.fromkeys(values))
        else:
            numbers = np.array([np.nan if value is None else value for value in values], float)
            found[name] = [values[0], values[-1], float(np.nansum(numbers))]
    return found


def part(name, cells, runs, **options):
    """Return the defaults of a part of the ledger, all cells, and the rows and lines of some of them."""
    found = find_part(name)
    asked = PartOptions(runs, workers=None if "workers" not in found.options else 1, **options)
    every = found.cells(asked)
    rows = [row for rows in found.play([every[i] for i in cells], asked) for row in rows]
    return {
        "runs": found.runs,
        "options": found.options,
        "cells": [each.name for each in every],
        "table": found.table(rows),
        "lines": [numbers(line) for line in found.summarize(rows)],
    }


def world(case):
    """Return a held-out world of the suite."""
    return [case.budget, case.replications, list(case.too_slow), case.world.to_dict()]


def log(setting):
    """Return sums of the first log of a setting."""
    found = random_logs.draw(setting, 0)
    cells = found.cells
    weighted = np.arange(1, cells.n.size + 1) * cells.mean
    return [cells.n.sum(), cells.n @ cells.mean, weighted.sum(), cells.squares.sum(), found.means.sum()]


DRAWS = {
    "unit_calibration": lambda setting: (
        unit_calibration.draw_plates if setting.rewards == "plates" else unit_calibration.draw
    ),
    "share_calibration": lambda _: share_calibration.draw_traffic,
    "covariate_calibration": lambda _: covariate_calibration.draw_log,
    "adaptive_calibration": lambda _: adaptive_calibration.draw,
    "environment_calibration": lambda _: environment_calibration.draw,
    "tail_calibration": lambda _: tail_calibration.draw,
}


def combined_log(cell):
    """Return sums of the columns or cells of a log with combined options, and what is counted of three."""
    found = DRAWS[cell.module](cell.setting)(cell.setting, 1)
    if isinstance(found, tuple):
        found = {"selected": [found[0]], "arm": found[1][0], "day": found[1][1], "reward": found[1][2]}
    elif not isinstance(found, dict):
        names = ("arm", "environment", "n", "mean", "squares", "cubes", "fourths", "low")
        found = {name: getattr(found, name) for name in names if getattr(found, name) is not None}
    codes = {name: np.unique(column, return_inverse=True)[1] for name, column in found.items()}
    values = {
        name: codes[name] if np.asarray(column).dtype.kind in "UO" else np.asarray(column, float)
        for name, column in found.items()
    }
    log = {
        name: [column.size, column.sum(), np.arange(1, column.size + 1) @ column]
        for name, column in values.items()
    }
    play = import_module(f"tideproof.research.trust.combinations.{cell.module}").play
    return log | {"wrong": [play(cell.setting, number) for number in (1, 2, 3)]}


PLAYED = {
    "stops": ([0, 7], 60, {"budgets": (40, 80)}),
    "ends": ([0, 20], 40, {}),
    "chances": ([0, 4], 60, {}),
    "plans": ([0, 15], 100, {"replications": 300}),
    "interactions": ([0, 33, 61], 4, {}),
    "wrong_cells": ([0, 3], 30, {}),
    "times": ([3, 29, 58], 2, {}),
    "combinations": ([4, 11, 12], 20, {}),
}
PANELS = {name: partial(panel, name) for name in panels()}
CLAIM_PARTS = {one.name: partial(claim, one) for one in CLAIMS}
SIDE = {
    **{name: lambda name=name: columns(side_study(name)) for name in SIDE_STUDIES},
    "designs of identities": lambda: [TWO_ENVIRONMENTS, DISCONNECTED, CHAINED],
}
WORLDS = {
    f"{name}: {case.name}": partial(world, case) for name, (cases, _) in COLLECTIONS.items() for case in cases
}
POLICIES = {name: lambda usual=usual: list(usual) for name, (_, usual) in COLLECTIONS.items()}
LEDGER = {name: partial(part, name, cells, runs, **more) for name, (cells, runs, more) in PLAYED.items()}
LOGS = {one.name: partial(log, one) for one in SETTINGS[::2] if one.arms * one.pulls < 40_000}
FILES: dict[str, Cases] = {
    "panels": PANELS,
    "claims": CLAIM_PARTS,
    "side_studies": SIDE,
    "suite": WORLDS | POLICIES,
    "ledger": LEDGER,
    "logs": {
        "names": lambda: [one.name for one in SETTINGS],
        "names of two arms": lambda: [one.name for one in POWER_SETTINGS],
        "parts": lambda: dict(PARTS),
        "counts": lambda: [play(SETTINGS[i], 0, 2) for i in (0, 3, 45, 55, 70)],
        "tests": lambda: [run_paired_tests(POWER_SETTINGS[i], 0, 3) for i in (0, 6, 10)],
        **LOGS,
    },
    "combinations": {
        "settings": combined_options.cells,
        "variations": lambda: {kind.name: kind.settings for kind in random_variations.KINDS},
        **{f"{cell.module}: {cell.name}": partial(combined_log, cell) for cell in combined_options.cells()},
    },
}

if __name__ == "__main__":
    for file in sys.argv[1:] or FILES:
        rewrite(FILES[file], FOLDER / f"{file}.json")
