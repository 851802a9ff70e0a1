"""Errors and costs of the two stopping rules of `Experiment(models, environments=items, confidence=0.95)`.

Twelve worlds: four kinds of scores, each with 2, 10 and 50 models. In `tie`, the best model answers one item more
than all others, whose accuracies are equal: the least favourable case. An error is a decision for a model that is
not the best on the whole set (or, with a tolerance, is worse by more than that). `upper` is the exact upper
95 % limit of the error rate.

    python benchmarks/evaluation_stops.py [--runs 2000] [--tolerance 0.01]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from evaluation_rules import race
from scipy.special import betaincinv

from tideproof.policies.environment_choice.arm_race import FIRST_CHECK, RaceRule

KINDS = ("tie", "logit:1000:0.3:1.5", "logit:2000:1:1.5", "graded")
MODELS = (2, 10, 50)


def draw_scores(kind: str, models: int, random: np.random.Generator) -> np.ndarray:
    """Return the scores of one run in [0, 1]: items in a random order x models in a random order."""
    if kind.startswith("logit"):
        items, model_sd, item_sd = (float(part) for part in kind.split(":")[1:])
        ability, hardness = random.normal(0.0, model_sd, models), random.normal(0.0, item_sd, int(items))
        chance = 1.0 / (1.0 + np.exp(hardness[:, None] - ability))
        return (random.random(chance.shape) < chance).astype(float)
    if kind == "tie":  # equal sums, then one more item
        chance = 1.0 / (1.0 + np.exp(random.normal(-0.5, 1.5, 1000)))
        order = np.argsort(random.random((1000, models)) - chance[:, None], axis=0)
        scores = np.zeros((1000, models))
        np.put_along_axis(scores, order[:600], 1.0, axis=0)
        best = random.integers(models)
        scores[random.choice(np.flatnonzero(scores[:, best] == 0.0)), best] = 1.0
        return scores
    quality = random.normal(0.0, 0.15, models)  # graded: scores that are mostly 1, with rare low ones
    low = random.random((1000, models)) < 0.08 / (1.0 + np.exp(8.0 * quality))
    return np.where(low, random.random((1000, models)) * 0.3, 1.0 - 0.05 * random.random((1000, models)))


def upper_limit(errors: int, runs: int) -> float:
    """Return the exact one-sided upper 95 % limit of an error rate."""
    return 1.0 if errors == runs else float(betaincinv(errors + 1, runs - errors, 0.95))


def play_world(
    kind: str, models: int, runs: int, tolerance: float, first: int = 0
) -> list[dict[str, object]]:
    """Return errors and costs of both rules in one world."""
    rows = []
    for proven in (True, False):
        wrong, cost, sure = 0, 0.0, 0
        for run in range(first, first + runs):
            random = np.random.default_rng([run, models, *kind.encode()])
            scores = draw_scores(kind, models, random)
            rule = RaceRule(0.95, proven, tolerance, (0.0, 1.0))
            pick, used, decided = race(
                scores, rule.threshold(models, len(scores)), proven, tolerance, FIRST_CHECK
            )
            mean = scores.mean(axis=0)
            wrong += bool(decided and mean[pick] < mean.max() - tolerance - 1e-12)
            cost += used / scores.size
            sure += decided
        rows.append({"kind": kind, "models": models, "rule": "proven" if proven else "calibrated", "runs": runs,
                     "wrong": wrong, "cost": cost, "sure": sure})  # fmt: skip
    return rows


def show(rows: list[dict[str, object]]) -> None:
    """Print one line per world and rule."""
    for row in rows:
        runs = row["runs"]
        print(f"{row['kind']:20s} {row['models']:3d} models  {row['rule']:10s}  wrong {row['wrong'] / runs:.4f}  "
              f"upper {upper_limit(row['wrong'], runs):.4f}  calls {row['cost'] / runs:.2f}  decided "
              f"{row['sure'] / runs:.3f}", flush=True)  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--tolerance", type=float, default=0.0)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    rows = []
    for kind in KINDS:
        for models in MODELS:
            rows += play_world(kind, models, given.runs, given.tolerance)
            show(rows[-2:])
    if given.json:
        given.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
