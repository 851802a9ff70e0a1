"""Write docs/contrast/cells.csv: errors of `contrast` relative to those of `linlucb`, paired.

    python benchmarks/contrast.py 1e6 docs/contrast/cells.csv

There are sixteen panels: both configurations, 5 and 10 arms, four scenarios. A cell is a budget at which
LinLUCB errs with a probability between 0.004 and 0.4. These budgets are found first, with a tenth of the
replications and a margin.
"""

import csv
import sys
import time

import numpy as np

import tideproof as tp

SCENARIOS = ("worst-case", "cannot-sample-all-arms", "sample-1-to-10", "general")
BUDGETS = {5: [100, 150, 200, 250, 300, 400], 10: [100, 150, 200, 250, 300, 400, 500, 700]}
LOW, HIGH = 0.004, 0.4
SEED = 2026


def panels():
    for configuration in (tp.mdm, tp.slippage):
        for arms, budgets in BUDGETS.items():
            for scenario in SCENARIOS:
                yield configuration.__name__, arms, scenario, configuration(arms, scenario=scenario), budgets


def cells(replications, policy="contrast"):
    """Yield a row for each cell: PICS of both policies, their ratio and its lower 99.9 % bound."""
    for name, arms, scenario, world, budgets in panels():
        rough = tp.simulate(world, ["linlucb"], budgets, replications // 10, SEED + 1).pics("linlucb")
        near = [b for b, p in zip(budgets, rough, strict=True) if 0.8 * LOW <= p <= 1.05 * HIGH]
        if not near:
            continue
        study = tp.simulate(world, ["linlucb", policy], near, replications, SEED)
        ours, theirs = study.pics(policy), study.pics("linlucb")
        bounds = study.ratio(policy, "linlucb", confidence=0.998).low  # each bound alone holds with 99.9 %
        for budget, p, q, low in zip(near, ours, theirs, bounds, strict=True):
            if LOW <= q <= HIGH:
                yield [name, arms, scenario, budget, q, p, p / q, low]


def summary(rows, replications, seconds):
    ratio = np.array([row[6] for row in rows])
    return (
        f"{len(rows)} cells, {replications:,} replications, {seconds:.0f} s: geometric mean of PICS relative to "
        f"LinLUCB {np.exp(np.log(ratio).mean()):.4f}, worst {ratio.max():.4f}, "
        f"largest lower 99.9 % bound {max(row[7] for row in rows):.4f}"
    )


def report(replications=2000):
    """Yield a summary line from few replications."""
    start = time.perf_counter()
    rows = list(cells(replications))
    yield f"## contrast\n\n{summary(rows, replications, time.perf_counter() - start)}."


def main(replications, path):
    start = time.perf_counter()
    rows = []
    for row in cells(replications):
        print(*row[:4], *(f"{x:.5f}" for x in row[4:]), flush=True)
        rows.append(row)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["configuration", "arms", "scenario", "budget", "linlucb", "contrast", "ratio", "low"]
        )
        writer.writerows([*row[:4], *(f"{x:.6g}" for x in row[4:])] for row in rows)
    print(summary(rows, replications, time.perf_counter() - start))


if __name__ == "__main__":
    main(int(float(sys.argv[1])), sys.argv[2])
