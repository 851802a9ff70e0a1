"""Wrong winners under drifting days: `contrast` compared with the methods of experiment platforms (rival_policies).

    python benchmarks/rivals.py 2000

runs that many replications; docs/rivals.md shows the table. With the further argument `zero`, it runs
GrowthBook's bandit alone, as it is and with means over the periods that had the arm. A shop has 5,600
visitors in days of 200 or of 40 on average, and five or ten versions of a page. One visitor in ten buys,
and more with the best version. The tide multiplies all rates.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from rival_policies import growthbook, periodic_thompson

import tideproof as tp
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.policies.policy_registry import as_policies

SEED = 2226
VISITORS = 5_600
RATE = 0.1
BEST = {5: 0.13, 10: 0.14}  # rate of the best arm, by the number of arms
DAILY = (200, 40)
COUNTED_RUNS = 40  # replications in which absent arms are counted


def tides(days: int) -> dict[str, Any]:
    """Return the drifts, as logarithms of the factors of the rates."""
    return {
        "none": tp.worlds.NoShift(),
        "a week that comes again": tp.worlds.Weekly([0.0, 0.0, 0.0, 0.0, 0.2, 0.6, 0.6]),
        "each day another": tp.worlds.Uniform(-0.7, 0.7),
        "rates double and more": tp.worlds.Weekly(np.linspace(-0.6, 0.6, days).tolist()),
        "rates more than halve": tp.worlds.Weekly(np.linspace(0.6, -0.6, days).tolist()),
    }


def methods(daily: int) -> tuple[Any, ...]:
    """Return the compared methods; each pair of them differs in the allocation or in the selection only."""
    gb, thompson = growthbook.POLICY, periodic_thompson.POLICY
    hour = max(1, round(daily / 24))
    return as_policies(
        (
            tp.policy("contrast", label="`contrast`"),
            tp.policy(gb, label="GrowthBook, daily"),
            tp.policy(gb, selection="ols", label="its visitors, days fitted"),
            tp.policy(gb, every=7 * daily, label="GrowthBook, weekly"),
            tp.policy(thompson, every=hour, label="Thompson, hourly"),
            tp.policy(thompson, every=hour, selection="ols", label="its visitors, days fitted "),
            tp.policy("round-robin", label="equal shares, raw means"),
        )
    )


def shop(arms: int, daily: int, shifts: Any) -> tp.World:
    means = [RATE] * (arms - 1) + [BEST[arms]]
    lengths = (daily // 2, daily * 3 // 2)
    return tp.World(means, 1.0, lengths, shifts, rewards="conversions", tide="multiplies")


def errors(study: Any, label: str) -> str:
    """Return the percentage of wrong winners with its interval, as text."""
    low, high = (100 * float(end[0]) for end in study.interval(label))
    return f"{100 * study.pics(label)[0]:.1f} [{low:.1f}, {high:.1f}]"


def left_out(replications: int) -> Iterator[str]:
    """Yield the cost of counting an absent arm as zero, for five arms and 40 visitors a day."""
    gb = growthbook.POLICY
    who = (tp.policy(gb, label="counts as zero"), tp.policy(gb, zero=False, label="left out"))
    for name, shifts in tides(VISITORS // 40).items():
        study = tp.simulate(shop(5, 40, shifts), who, VISITORS, replications, SEED)
        yield f"{name}: " + ", ".join(f"{label} {errors(study, label)}" for label in study.policies)


def absent(world: tp.World, spec: Any) -> float:
    """Return the share of pairs of an arm and a day without visitors."""
    loop, missing, pairs = compiled_loop(spec, trace=True), 0, 0
    for replication in range(COUNTED_RUNS):
        trace = empty_trace(VISITORS, world.arms)
        run_loop(loop, spec, world, [VISITORS], SEED, replication, 1, trace)
        seen = len(set(zip(trace.arm.tolist(), trace.environment.tolist(), strict=True)))
        here = (int(trace.environment.max()) + 1) * world.arms
        missing, pairs = missing + here - seen, pairs + here
    return missing / pairs


def rows(replications: int) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield, for each world, a row of the table and each method's share of visitors with the best arm."""
    for arms in BEST:
        for daily in DAILY:
            for name, shifts in tides(VISITORS // daily).items():
                world, specs = shop(arms, daily, shifts), methods(daily)
                study = tp.simulate(world, specs, VISITORS, replications, SEED)
                away = absent(world, specs[1])
                cells = [f"{arms}, {daily}, {name}", f"{100 * away:.0f} %"]
                cells += [errors(study, label) for label in study.policies]
                yield cells, np.array([study.pulls(label)[0, -1] for label in study.policies]) / VISITORS


def markdown(replications: int) -> str:
    """Return the table, and the shares of visitors with the best arm."""
    labels = [spec.label for spec in methods(DAILY[0])]
    head = ["arms, visitors a day, tide", "arms absent from a day, GrowthBook", *labels]
    lines = ["| " + " | ".join(each.strip() for each in head) + " |", "|---" * len(head) + "|"]
    shares = []
    for cells, share in rows(replications):
        lines.append("| " + " | ".join(cells) + " |")
        shares.append(share)
        print(lines[-1], file=sys.stderr, flush=True)
    mean = np.mean(shares, axis=0)
    got = ", ".join(
        f"{label} {100 * mean[i]:.0f} %" for i, label in enumerate(labels) if "fitted" not in label
    )
    return "\n".join(lines) + (
        f"\n\nWrong winners in percent of {replications:,} replications, with exact 95 % intervals. Visitors who got the "
        f"best arm, on average over the rows: {got}."
    )


def report() -> Iterator[str]:
    """Yield the table from few replications."""
    yield f"## Rivals\n\n{markdown(100)}"


if __name__ == "__main__":
    count = int(float(sys.argv[1]))
    for line in left_out(count) if "zero" in sys.argv else [markdown(count)]:
        print(line, flush=True)
