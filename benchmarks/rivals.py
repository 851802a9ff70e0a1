"""Wrong winners on days that drift, of `contrast` and of what experiment platforms do (rival_policies).

    python benchmarks/rivals.py 2000

plays that many replications; the table stands in docs/rivals.md. With the word `zero` behind it, it plays GrowthBook's
bandit alone, once as it is and once with means over the periods that had the arm. A shop has 5,600 visitors in days of 200 or
of 40 on average, and five or ten versions of a page; one in ten buys, but of the best version more. The tide multiplies
all rates.
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
BEST = {5: 0.13, 10: 0.14}  # by the number of arms
DAILY = (200, 40)
LOOKED_AT = 40  # replications in which absent arms are counted


def tides(days: int) -> dict[str, Any]:
    """Return the drifts, as logarithms of what multiplies the rates."""
    return {
        "none": tp.NoShift(),
        "a week that comes again": tp.Weekly([0.0, 0.0, 0.0, 0.0, 0.2, 0.6, 0.6]),
        "each day another": tp.Uniform(-0.7, 0.7),
        "rates double and more": tp.Weekly(np.linspace(-0.6, 0.6, days).tolist()),
        "rates more than halve": tp.Weekly(np.linspace(0.6, -0.6, days).tolist()),
    }


def players(daily: int) -> tuple[Any, ...]:
    """Return who plays: every pair of them differs by the allocation or by how the winner is read from it."""
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
    """Return the wrong winners in percent, with their interval."""
    low, high = (100 * float(end[0]) for end in study.interval(label))
    return f"{100 * study.pics(label)[0]:.1f} [{low:.1f}, {high:.1f}]"


def left_out(replications: int) -> Iterator[str]:
    """Yield what it costs that an absent arm counts as zero: five arms, 40 visitors a day."""
    gb = growthbook.POLICY
    who = (tp.policy(gb, label="counts as zero"), tp.policy(gb, zero=False, label="left out"))
    for name, shifts in tides(VISITORS // 40).items():
        study = tp.simulate(shop(5, 40, shifts), who, VISITORS, replications, SEED)
        yield f"{name}: " + ", ".join(f"{label} {errors(study, label)}" for label in study.policies)


def absent(world: tp.World, spec: Any) -> float:
    """Return the share of pairs of an arm and a day in which nobody got the arm."""
    loop, missing, pairs = compiled_loop(spec, trace=True), 0, 0
    for replication in range(LOOKED_AT):
        trace = empty_trace(VISITORS, world.arms)
        run_loop(loop, spec, world, [VISITORS], SEED, replication, 1, trace)
        seen = len(set(zip(trace.arm.tolist(), trace.environment.tolist(), strict=True)))
        here = (int(trace.environment.max()) + 1) * world.arms
        missing, pairs = missing + here - seen, pairs + here
    return missing / pairs


def rows(replications: int) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield a row of the table, and each player's share of visitors with the best arm, for each world."""
    for arms in BEST:
        for daily in DAILY:
            for name, shifts in tides(VISITORS // daily).items():
                world, who = shop(arms, daily, shifts), players(daily)
                study = tp.simulate(world, who, VISITORS, replications, SEED)
                away = absent(world, who[1])
                cells = [f"{arms}, {daily}, {name}", f"{100 * away:.0f} %"]
                cells += [errors(study, label) for label in study.policies]
                yield cells, np.array([study.pulls(label)[0, -1] for label in study.policies]) / VISITORS


def markdown(replications: int) -> str:
    """Return the table and what visitors had of it."""
    labels = [spec.label for spec in players(DAILY[0])]
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
    """Yield a rough version of the table."""
    yield f"## Rivals\n\n{markdown(100)}"


if __name__ == "__main__":
    count = int(float(sys.argv[1]))
    for line in left_out(count) if "zero" in sys.argv else [markdown(count)]:
        print(line, flush=True)
