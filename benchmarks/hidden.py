"""Errors of `hidden:contrast`, which sees no labels, compared with policies that know more.

    python benchmarks/hidden.py --replications 100000
    python benchmarks/hidden.py --replications 4000 --arms 5 --worlds jumps --policy hidden:contrast

Worlds: "jumps", the paper's scenarios, compared with `contrast` with labels and with raw round robin;
"none", no tide, and "smooth", both compared with `contrast` in the world without a tide, which is what a
policy would achieve that knows the tide exactly. MDM and slippage, 20 K and 40 K pulls. A ratio of PICS
counts in the geometric mean if the policy that knows more errs at least ten times. "detectors": comparison
with policies that detect changes and restart (benchmarks/cusum_lucb.py); in each cell, the best of twelve
variants counts. "speed" prints the cost of a step.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import replace

from cusum_lucb import POLICY as CUSUM

import tideproof as tp

BARS = {"general": 1.4, "sample-1-to-10": 1.6, "cannot-sample-all-arms": 2.5, "worst-case": 4.0}
SMOOTH = {f"sinusoid, period {period}": tp.worlds.Sinusoid(3.0, period) for period in (50, 150, 500)}
SMOOTH |= {f"walk, sd {sd}": tp.worlds.Wander(sd) for sd in (0.03, 0.1, 0.3)}
FEWEST = 10  # errors that a ratio needs


def worlds(make, arms, which) -> Iterator[tuple[str, float, tp.World, tp.World]]:
    """Yield the name, the target ratio, the world without labels, and the world of the policy that knows more."""
    still = make(arms, "stationary")
    if "jumps" in which:
        for scenario, bar in BARS.items():
            world = make(arms, scenario)
            yield scenario, bar, replace(world, announced=False), world
    if "none" in which:
        yield "no tide", 1.1, replace(still, announced=False), still
    if "smooth" in which:
        for name, drift in SMOOTH.items():
            yield name, 1.3, replace(still, drift=drift, announced=False), still


def rows(policy, arms, which, replications, engine, seed):
    for K in arms:
        for make in (tp.mdm, tp.slippage):
            for name, bar, hidden, told in worlds(make, K, which):
                budgets = [20 * K, 40 * K]
                ours = tp.simulate(
                    hidden, [policy, "round-robin"], budgets, replications, seed, engine=engine
                )
                theirs = tp.simulate(told, "contrast", budgets, replications, seed, engine=engine)
                pics = (ours.pics(policy), theirs.pics("contrast"), ours.pics("round-robin"))
                for budget, *three in zip(budgets, *pics, strict=True):
                    yield name, bar, make.__name__, K, budget, *three


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def show(found, replications):
    print("| world | means | arms | pulls | hidden | with tide | ratio | raw round robin | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, _, make, K, budget, mine, told, raw in found:
        ratio = f"{mine / told:.2f}" if told * replications >= FEWEST else ""
        to_raw = f"{mine / raw:.3f}" if raw * replications >= FEWEST else ""
        print(
            f"| {name} | {make} | {K} | {budget} | {mine:.5f} | {told:.5f} | {ratio} | {raw:.5f} | {to_raw} |"
        )
    print("\n| world | geometric mean | target | | to raw round robin | worst |\n|---|---|---|---|---|---|")
    for name, bar in {row[0]: row[1] for row in found}.items():
        of = [row for row in found if row[0] == name]
        ratios = [max(r[5], 0.5 / replications) / r[6] for r in of if r[6] * replications >= FEWEST]
        raw = [max(r[5], 0.5 / replications) / r[7] for r in of if r[7] * replications >= FEWEST]
        reached = "reached" if mean(ratios) <= bar else "not reached"
        print(
            f"| {name} | {mean(ratios):.3f} | {bar} | {reached} | {mean(raw):.3f} | {max(raw, default=0):.3f} |"
        )


def detectors(policy, arms, replications, engine, seed):
    """Print errors of the policy and of the best change detector in each cell."""
    variants = [
        tp.policy(
            CUSUM, selection=rule, m=m, slack=slack, threshold=h, label=f"{rule}, m {m}, threshold {h:g}"
        )
        for rule in ("pooled", "recent", "most-played")
        for m, slack, h in ((1, 1.0, 3.0), (2, 1.0, 5.0), (2, 1.5, 8.0), (4, 1.0, 6.0))
    ]
    ratios = []
    print(
        "| world | means | arms | pulls | ours | best detector | | ratio |\n|---|---|---|---|---|---|---|---|"
    )
    for K in arms:
        for make in (tp.mdm, tp.slippage):
            for name, _, hidden, _ in worlds(make, K, ["jumps"]):
                budgets = [20 * K, 40 * K]
                study = tp.simulate(hidden, [policy, *variants], budgets, replications, seed, engine=engine)
                for place, budget in enumerate(budgets):
                    mine = study.pics(policy)[place]
                    least, which = min((study.pics(each.label)[place], each.label) for each in variants)
                    ratios.append(max(mine, 0.5 / replications) / least)
                    print(
                        f"| {name} | {make.__name__} | {K} | {budget} | {mine:.5f} | {least:.5f} | {which} "
                        f"| {ratios[-1]:.3f} |",
                        flush=True,
                    )
    print(f"\ngeometric mean {mean(ratios):.3f} (target 0.7), worst cell {max(ratios):.3f}")


def speed(policy, arms, replications):
    """Print the cost of a step on one core relative to the same policy with labels, the best of five rounds."""
    for K in arms:
        for name, world in (("general", tp.mdm(K)), ("worst-case", tp.mdm(K, "worst-case"))):
            costs = []
            for each in (policy, "contrast"):
                turns = []
                for _ in range(6):
                    start = time.process_time()
                    tp.simulate(world, each, 40 * K, replications, 1, engine="cpu")
                    turns.append((time.process_time() - start) / (replications * 40 * K) * 1e9)
                costs.append(min(turns))
            print(
                f"{K} arms, {name}: {costs[0]:.0f} ns, with labels {costs[1]:.0f}: {costs[0] / costs[1]:.1f} times"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=4000)
    parser.add_argument("--policy", default="hidden:contrast")
    parser.add_argument("--arms", default="5,10")
    parser.add_argument(
        "--worlds", default="jumps,none,smooth", help="some of jumps, none, smooth, detectors, speed"
    )
    parser.add_argument("--engine", default="auto")
    parser.add_argument(
        "--seed", type=int, default=24, help="seed; the constants of the policy were chosen with 23"
    )
    given = parser.parse_args()
    wanted, counts = given.worlds.split(","), [int(K) for K in given.arms.split(",")]
    if "speed" in wanted:
        speed(given.policy, counts, given.replications)
    if "detectors" in wanted:
        detectors(given.policy, counts, given.replications, given.engine, given.seed)
    found = list(rows(given.policy, counts, wanted, given.replications, given.engine, given.seed))
    if found:
        show(found, given.replications)
