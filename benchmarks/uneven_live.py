"""Experiments with unequal noise, interactions or outlying cells in their model: time of a call, and coverage.

    python benchmarks/uneven_live.py speed
    python benchmarks/uneven_live.py late
    python benchmarks/uneven_live.py corrections
    python benchmarks/uneven_live.py intervals --runs 1000

Times are processor milliseconds of interpreted code. "speed": an ask and a tell, the fastest of five runs
of 350, and the ratio to a plain `contrast`. "late": the same with many pending pulls, whose rewards arrive
in any order. "corrections": a correction and an ask, with five arms and several numbers of environments.
"intervals": how often the 95 % interval of `recommend()` at the end of a budget covers the difference of
the two arms that it names, and how often it selects the best arm; five arms, environments of 10 pulls, 150
pulls.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from dataclasses import replace

import numpy as np
from hidden_live import names, play

import tideproof as tp

POLICIES = ("contrast", "by-arm:contrast", "auto:contrast", "by-arm:auto:contrast", "robust:contrast")


def speed() -> None:
    for K in (5, 10):
        plain = 0.0
        for policy in POLICIES:
            best = min(play(names(K), "labels", policy, 350, seed, begun=50)[1] for seed in range(5))
            plain = plain or best
            print(f"{K} arms, {policy}: {1e3 * best:.2f} ms, {best / plain:.2f} times", flush=True)


def late() -> None:
    for out in (0, 10, 50, 200):
        for policy in POLICIES:
            runs = (
                play(names(5), "labels", policy, 3 * out + 150, seed, out, 3 * out + 50) for seed in range(3)
            )
            print(
                f"5 arms, {policy}, {out} pending pulls: {1e3 * min(run[1] for run in runs):.2f} ms",
                flush=True,
            )


def corrections() -> None:
    for environments in (10, 30, 100, 300):
        for policy in POLICIES:
            run, random = tp.Experiment(names(5), budget=10**6, policy=policy), np.random.default_rng(0)
            for place in range(environments):
                for arm in run.arms:
                    run.tell_summary(arm=arm, environment=place, n=20, mean=random.normal(), variance=1.0)
            pull = run.ask(environment=0)
            run.tell(pull, 1.0)
            took = []
            for reward in (2.0, 3.0, 4.0):
                start = time.process_time()
                run.correct(pull, reward)
                run.ask(environment=0)
                took.append(time.process_time() - start)
            print(f"{environments} environments, {policy}: {1e3 * min(took):.1f} ms", flush=True)


WORLDS = {
    "omega 0": {},
    "omega 0.5": {"interaction": 0.5},
    "omega 1": {"interaction": 1.0},
    "noise 1 and 3": {"sigma": (3.0, 1.0, 1.0, 3.0, 1.0)},
    "5 % of cells off by 20": {"outliers": tp.worlds.Outliers(0.05, 20.0)},
}
SUITED = {
    "omega 0": POLICIES,
    "omega 0.5": ("contrast", "auto:contrast", "by-arm:auto:contrast"),
    "omega 1": ("contrast", "auto:contrast", "by-arm:auto:contrast"),
    "noise 1 and 3": ("contrast", "by-arm:contrast", "by-arm:auto:contrast"),
    "5 % of cells off by 20": ("contrast", "robust:contrast"),
}


def told(world, policy, budget, seed) -> tp.Experiment:
    """Return an experiment that received the rewards of the lab's replication with that seed."""
    arms = names(len(world.means))
    run = tp.Experiment(arms, budget=budget, policy=policy, seed=seed)
    for row in tp.replay(world, policy, seed=seed, budget=budget).table():
        pull = run.ask(environment=row["environment"])
        assert pull.arm == arms[row["arm"]]
        run.tell(pull, row["reward"])
    return run


def intervals(runs) -> None:
    for name, options in WORLDS.items():
        world = replace(tp.mdm(5), lengths=(10, 10), **options)
        means = dict(zip(names(5), world.means, strict=True))
        for policy in SUITED[name]:
            held = right = 0
            fits: Counter[str] = Counter()
            for seed in range(runs):
                run = told(world, policy, 150, seed)
                found = run.recommend()
                fits[run.fit().variance] += 1
                gap = means[found.arm] - means[found.runner_up] if found.runner_up else math.nan
                held += found.low is not None and found.low <= gap <= found.high
                right += means[found.arm] == max(means.values())
            print(f"{name}, {policy}: {held} cover, {right} right of {runs}; {dict(fits)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("speed", "late", "corrections", "intervals"))
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    every = {
        "speed": speed,
        "late": late,
        "corrections": corrections,
        "intervals": lambda: intervals(given.runs),
    }
    every[given.what]()
