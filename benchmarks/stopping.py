"""Check of the calibrated stopping rule's bound: how often runs stop in worlds without a single best arm.

    python benchmarks/stopping.py --runs 20000 --engine cuda

Two arms tie ahead of the others, so every stop is wrong. There is one row for each number of arms, cap and
tail probability: the largest share of stops over policies, lengths of environments and gaps to the other
arms, and the bound of `policies/calibrated_bounds.py`. With the default of 2,000 runs, a row takes some
seconds on two cores.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace

import tideproof as tp
from tideproof.policies.calibrated_bounds import wrong_stop_probability

POLICIES = ("contrast", "round-robin", "linlucb", "top-two-thompson", "reduce:lucb")
LENGTHS = ((2, 2), (2, 50), (200, 200))
BEHIND = (0.3, 1.0, 3.0)
CAPS = (100, 300, 1000, 3000)
TAILS = (0.005, 0.002, 0.0008)


def worlds(arms: int) -> Iterator[tp.World]:
    """Yield worlds in which two arms tie and the others are worse."""
    for lengths in LENGTHS:
        for behind in BEHIND if arms > 2 else BEHIND[:1]:
            yield tp.World([0.0, 0.0, *[-behind] * (arms - 2)], lengths=lengths)


def stops(arms: int, tail: float, runs: int, engine: str) -> list[float]:
    """Return the largest share of runs that stop before each cap."""
    bound, most = -math.log(tail), [0.0] * len(CAPS)
    for name in POLICIES:
        open_ended = replace(tp.policy(f"sure:{name}").policy, needs_horizon=False)  # one run serves all caps
        chosen = tp.policy(open_ended, bound=bound, label=name)
        for world in worlds(arms):
            study = tp.simulate(world, chosen, budgets=CAPS, replications=runs, seed=11, engine=engine)
            most = [max(pair) for pair in zip(most, study.stopped(name).tolist(), strict=True)]
    return most


def report(runs: int = 500, arms: tuple[int, ...] = (2, 5), engine: str = "auto") -> Iterator[str]:
    """Yield the table, by default a small one."""
    rows = ["| arms | tail probability | cap | stops | allowed |", "|---:|---:|---:|---:|---:|"]
    for K in arms:
        for tail in TAILS:
            for cap, share in zip(CAPS, stops(K, tail, runs, engine), strict=True):
                allowed = wrong_stop_probability(-math.log(tail), K, cap)
                rows.append(f"| {K} | {tail:g} | {cap:,} | {share:.4f} | {allowed:.4f} |")
    yield "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure how often runs stop that should not.")
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--arms", type=int, nargs="+", default=[2, 5, 10])
    parser.add_argument("--engine", default="auto")
    given = parser.parse_args()
    print(*report(given.runs, tuple(given.arms), given.engine))
