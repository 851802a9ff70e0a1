"""Errors of `contrast` by its tide model, where environments are labelled and a tide also moves inside them.

    python benchmarks/both.py --replications 100000

Five arms, MDM and slippage, 100 and 200 pulls, with labels. "still": the paper's scenarios, in which shifts
are constant inside an environment. "moving": the general scenario with a further tide inside environments.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import tideproof as tp

POLICIES = ("contrast", "both:contrast", "hidden:contrast")
STILL = ("general", "cannot-sample-all-arms", "worst-case")
MOVING = {"walk, sd 0.3": tp.worlds.Wander(0.3), "sinusoid of 3, period 50": tp.worlds.Sinusoid(3.0, 50)}


def worlds(arms: int) -> Iterator[tuple[str, tp.World]]:
    for make in (tp.mdm, tp.slippage):
        for scenario in STILL:
            yield f"{make.__name__}, {scenario}", make(arms, scenario)
        for name, drift in MOVING.items():
            yield f"{make.__name__}, {name}", replace(make(arms, "general"), drift=drift)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replications", type=int, default=4000)
    parser.add_argument("--arms", type=int, default=5)
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--engine", default="auto")
    given = parser.parse_args()
    budgets = [20 * given.arms, 40 * given.arms]
    print(f"| world | pulls | {' | '.join(POLICIES)} |")
    print("|---|---|" + "---|" * len(POLICIES))
    for name, world in worlds(given.arms):
        study = tp.simulate(world, POLICIES, budgets, given.replications, given.seed, engine=given.engine)
        pics = [study.pics(policy) for policy in POLICIES]
        for budget, *row in zip(budgets, *pics, strict=True):
            print(f"| {name} | {budget} | {' | '.join(f'{x:.4f}' for x in row)} |", flush=True)


if __name__ == "__main__":
    main()
