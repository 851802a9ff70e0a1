"""Allowance for adaptive runs: compute the table of `stats/best/multiple_comparisons.py` by simulation.

    python benchmarks/ends.py 4000 [arms ...]

The script simulates the least favourable known worlds: two arms tie or nearly tie ahead of others. It
prints by how much the 80, 90, 95 and 99 % points of the difference of the best and the second arm exceed
the usual quantiles (of its absolute error in standard errors), and last the largest excess for each number
of arms. `tideproof calibrate --part ends` checks the resulting table in other worlds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from tideproof.lab.simulation_plan import make_plan
from tideproof.research.trust.final_interval_coverage import simulate_ends
from tideproof.stats.best.student_inference import normal_quantile, normals_from_student
from tideproof.worlds import Uniform, World

ARMS = (2, 3, 5, 10, 16, 30)
LENGTHS = ((2, 3), (10, 10), (100, 200))
LEVELS = (0.8, 0.9, 0.95, 0.99)
POLICIES = ("contrast", "linlucb", "top-two-thompson")
PULLS = (20, 50)  # budgets in pulls for each arm


def worlds(arms: int) -> Iterator[tuple[str, World]]:
    ahead = {f"tie, others {gap} behind": [0.0, 0.0, *[-gap] * (arms - 2)] for gap in (0.4, 0.8, 1.6)}
    one = {f"one ahead by {gap}": [gap, *[0.0] * (arms - 1)] for gap in (0.0, 0.2)}
    for name, means in {**(ahead if arms > 2 else {}), **one}.items():
        for lengths in LENGTHS:
            shifts = Uniform(0.0, 20.0)
            yield f"{name}, {lengths[0]} to {lengths[1]} pulls", World(means, lengths=lengths, shifts=shifts)


def beyond(world: World, policy: str, runs: int) -> Iterator[tuple[int, list[float]]]:
    """Yield, for each budget, by how much each point exceeds the usual quantile."""
    plan = make_plan(world, policy, [world.arms * pulls for pulls in PULLS], seed=5)
    ends = simulate_ends(plan, runs, 0)
    for b, budget in enumerate(plan.budgets):
        known = ends.freedom[b] > 0
        freedom = ends.freedom[b][known].astype(float)
        off = ends.mu[b][known, 0] - ends.mu[b][known, 1] - (world.means[0] - world.means[1])
        se = np.sqrt(ends.rss[b][known] / freedom * ends.to_other[b][known, 1])
        size = np.abs(normals_from_student(off / se, freedom))
        yield budget, [float(np.quantile(size, p)) - normal_quantile(0.5 + 0.5 * p) for p in LEVELS]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    most: dict[int, np.ndarray] = {}
    for arms in [int(each) for each in sys.argv[2:]] or ARMS:
        for name, world in worlds(arms):
            for policy in POLICIES:
                for budget, found in beyond(world, policy, runs):
                    print(f"{arms} arms, {name}; {policy}; {budget} pulls:", *(f"{x:.2f}" for x in found))
                    most[arms] = np.maximum(most.get(arms, np.full(len(LEVELS), -np.inf)), found)
    for arms, found in most.items():
        print(f"{arms} arms, at most:", *(f"{x:.2f}" for x in found))


if __name__ == "__main__":
    main()
