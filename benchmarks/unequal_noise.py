"""Errors of `contrast` that estimates the noise of each arm, where arms have unequal noise.

    python benchmarks/unequal_noise.py --replications 100000

Five and ten arms, both configurations, four scenarios, 40 pulls an arm. One arm, the best or the second, or
every second arm, the best among them or not, has three times the noise of the others. Errors are relative
to plain `contrast` (paired), and to a policy that knows the variances. `--equal` runs the cells of
contrast.py with `--policy`.
"""

import argparse
import csv
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from oracle_noise import informed_policy

import tideproof as tp
from tideproof.core.kernel_linker import kernel

SCENARIOS = ("worst-case", "cannot-sample-all-arms", "sample-1-to-10", "general")
POLICY = "by-arm:contrast"
PATTERNS = {
    "best": slice(-1, None),
    "second": slice(-2, -1),
    "half": slice(None, None, -2),
    "others": slice(-2, None, -2),
}
SEED = 24
CELLS = Path(__file__).parent.parent / "docs/contrast/cells.csv"


@cache
def known_variances(sigma):
    """Return `contrast` with known noise of the arms: every statistic as in `by-arm`, without estimates."""
    v = tuple(float(s) for s in np.square(sigma) / np.mean(np.square(sigma)))

    @kernel
    def noise(arm):
        return v[arm]

    @kernel
    def ratio(f):
        return 0.0

    return informed_policy(POLICY, f"told{v}:", noise, ratio)


def cells():
    """Yield configuration, arms, scenario, pattern of noise, and world."""
    for make in (tp.mdm, tp.slippage):
        for arms in (5, 10):
            for scenario in SCENARIOS:
                for pattern, noisy in PATTERNS.items():
                    sigma = np.ones(arms)
                    sigma[noisy] = 3.0
                    world = replace(make(arms, scenario), sigma=tuple(sigma.tolist()))
                    yield make.__name__, arms, scenario, pattern, world


def unequal(replications, oracle, engine):
    rows = []
    for name, arms, scenario, pattern, world in cells():
        policies = ["contrast", POLICY, *([known_variances(world.sigma)] if oracle else [])]
        study = tp.simulate(world, policies, [40 * arms], replications, SEED, engine=engine)
        ratio = study.ratio(POLICY, "contrast", 0.998)
        rest = float(study.ratio("told", "contrast").estimate[0]) if oracle else np.nan
        rows.append((pattern, float(ratio.estimate[0]), rest))
        print(
            f"| {name} | {arms} | {scenario} | {pattern} | {study.pics('contrast')[0]:.4f} | "
            f"{study.pics(POLICY)[0]:.4f} | {ratio.estimate[0]:.3f} | {ratio.low[0]:.3f} | {rest:.3f} |",
            flush=True,
        )
    for chosen in (*PATTERNS, None):
        logs = np.log([row[1:] for row in rows if chosen in (None, row[0])])
        ours, told = np.exp(logs.mean(axis=0))
        print(f"{chosen or 'all'}: geometric mean {ours:.3f}, with known variances {told:.3f}")


def equal(policy, replications, engine):
    """Print errors relative to `contrast` in the cells of contrast.py, and their geometric mean."""
    with CELLS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    logs = []
    for row in rows:
        name, arms, scenario, budget = (row[key] for key in ("configuration", "arms", "scenario", "budget"))
        world = getattr(tp, name)(int(arms), scenario)
        study = tp.simulate(world, ["contrast", policy], [int(budget)], replications, SEED, engine=engine)
        ratio = study.ratio(policy, "contrast", 0.998)
        logs.append(np.log(ratio.estimate[0]))
        print(
            f"| {name} | {arms} | {scenario} | {budget} | {study.errors('contrast')[0]} | "
            f"{study.errors(policy)[0]} | {ratio.estimate[0]:.3f} | {ratio.low[0]:.3f} |",
            flush=True,
        )
    print(
        f"{policy}, equal noise and no interaction: {len(logs)} cells, geometric mean {np.exp(np.mean(logs)):.4f}, "
        f"worst {np.exp(max(logs)):.3f}"
    )


def steps(rounds, replications=2000):
    """Print the processor time of a step relative to `contrast`, the least of several rounds in turns."""
    policies = ["contrast", "auto:contrast", POLICY, "by-arm:auto:contrast", "robust:contrast"]
    for arms in (5, 10):
        world, least = tp.slippage(arms), dict.fromkeys(policies, np.inf)
        for turn in range(rounds + 1):
            for policy in policies:
                start = time.process_time()
                tp.simulate(world, [policy], [40 * arms], replications, SEED, engine="cpu")
                if turn > 0:  # the first round compiles
                    least[policy] = min(least[policy], time.process_time() - start)
        for policy, seconds in least.items():
            each = 1e9 * seconds / (replications * 40 * arms)
            print(f"| {arms} | {policy} | {each:.0f} ns | {seconds / least['contrast']:.2f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--equal", action="store_true", help="run the 65 cells of contrast.py instead")
    parser.add_argument("--policy", default=POLICY, help="policy for --equal")
    parser.add_argument(
        "--steps", type=int, metavar="ROUNDS", help="measure the time of a step; set NUMBA_NUM_THREADS=1"
    )
    parser.add_argument("--no-oracle", action="store_true")
    parser.add_argument("--engine", default="auto")
    given = parser.parse_args()
    if given.steps:
        steps(given.steps)
    elif given.equal:
        equal(given.policy, given.replications, given.engine)
    else:
        unequal(given.replications, not given.no_oracle, given.engine)
