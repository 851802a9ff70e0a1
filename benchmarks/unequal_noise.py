"""Errors of `contrast` that learns the noise of each arm, where arms are not equally noisy.

    python benchmarks/unequal_noise.py --replications 100000

Five and ten arms, both configurations, four scenarios, 40 pulls an arm; one arm, the best or the second, or every
second arm, the best among them or not, has three times the noise of the others. Errors relative to today's
`contrast` (paired), and to one that is told the variances. `--equal` plays the panels of contrast.py.
"""

import argparse
from dataclasses import replace
from functools import cache

import numpy as np

import tideproof as tp
from tideproof.core.link import kernel
from tideproof.policies.tides import STATISTICS, knowing

SCENARIOS = ("worst-case", "cannot-sample-all-arms", "sample-1-to-10", "general")
POLICY = "by-arm:contrast"
PATTERNS = {
    "best": slice(-1, None),
    "second": slice(-2, -1),
    "half": slice(None, None, -2),
    "others": slice(-2, None, -2),
}
SEED = 24


@cache
def told_variances(sigma):
    """Return `contrast` that knows the noise of arms: every statistic as in `by-arm`, nothing learned."""
    v = tuple(float(s) for s in np.square(sigma) / np.mean(np.square(sigma)))

    @kernel
    def noise(arm):
        return v[arm]

    @kernel
    def ratio(f):
        return 0.0

    name = f"told{v}:"
    STATISTICS[name] = knowing(name, noise, ratio)
    ours = tp.policy(POLICY).policy
    return tp.policy(replace(ours, name="told", tide=name), label="told")


def cells():
    """Yield configuration, arms, scenario, pattern and the world."""
    for make in (tp.mdm, tp.slippage):
        for arms in (5, 10):
            for scenario in SCENARIOS:
                for pattern, noisy in PATTERNS.items():
                    sigma = np.ones(arms)
                    sigma[noisy] = 3.0
                    world = replace(make(arms, scenario), sigma=tuple(sigma.tolist()))
                    yield make.__name__, arms, scenario, pattern, world


def unequal(replications, oracle):
    rows = []
    for name, arms, scenario, pattern, world in cells():
        policies = ["contrast", POLICY, *([told_variances(world.sigma)] if oracle else [])]
        study = tp.simulate(world, policies, [40 * arms], replications, SEED)
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
        print(f"{chosen or 'all'}: geometric mean {ours:.3f}, with variances told {told:.3f}")


def equal(policy, replications):
    """Print the geometric mean over the cells of contrast.py, errors relative to `contrast`."""
    from contrast import BUDGETS, HIGH, LOW, panels

    logs = []
    for _name, arms, _scenario, world, _ in panels():
        rough = tp.simulate(world, ["linlucb"], BUDGETS[arms], max(replications // 5, 1000), SEED + 1).pics(
            "linlucb"
        )
        budgets = [b for b, p in zip(BUDGETS[arms], rough, strict=True) if LOW <= p <= HIGH]
        if budgets:
            study = tp.simulate(world, ["contrast", policy], budgets, replications, SEED)
            logs += np.log(study.ratio(policy, "contrast").estimate).tolist()
    print(
        f"{policy}, equal noise and no interaction: {len(logs)} cells, geometric mean {np.exp(np.mean(logs)):.4f}, "
        f"worst {np.exp(max(logs)):.3f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--equal", action="store_true", help="the 65 cells of contrast.py instead")
    parser.add_argument("--policy", default=POLICY, help="for --equal")
    parser.add_argument("--no-oracle", action="store_true")
    given = parser.parse_args()
    if given.equal:
        equal(given.policy, given.replications)
    else:
        unequal(given.replications, not given.no_oracle)
