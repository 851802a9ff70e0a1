"""Experiments without labels: time of a call, and coverage of the intervals.

    python benchmarks/hidden_live.py speed
    python benchmarks/hidden_live.py late
    python benchmarks/hidden_live.py intervals --runs 1000

"speed": processor milliseconds of an ask and a tell, the fastest of three runs. "late": the same with many pending
pulls, whose rewards arrive in any order. "intervals": how often the 95 % interval of `recommend()` at the
end of a budget covers the difference of the two arms that it names (normal noise, tides that jump by up to
20 after 2 to 50 pulls).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import tideproof as tp


def play(arms, tide, policy, pulls, seed, out=0, begun=0):
    """Run an experiment and return it, the seconds of a pull after the first `begun`, and the true means."""
    random = np.random.default_rng(seed)
    means = dict(zip(arms, -0.5 * np.arange(len(arms)), strict=True))  # MDM
    run = tp.Experiment(arms, budget=pulls, policy=policy, tide=tide, seed=seed)
    left, day, shift, waiting, start = 0, 0, 0.0, [], 0.0
    for step in range(pulls):
        if step == begun:
            start = time.process_time()
        if not left:
            left, day, shift = int(random.integers(2, 51)), day + 1, random.uniform(0.0, 20.0)
        left -= 1
        pull = run.ask() if tide == "hidden" else run.ask(environment=day)
        waiting.append((pull, means[pull.arm] + shift + random.standard_normal()))
        if len(waiting) > out:
            run.tell(*waiting.pop(int(random.integers(len(waiting)))))
    return run, (time.process_time() - start) / (pulls - begun), means


def names(count):
    return [f"arm {i}" for i in range(count)]


def speed() -> None:
    for K in (5, 10):
        for tide in ("labels", "hidden", "both"):
            best = min(play(names(K), tide, "contrast", 350, seed, begun=50)[1] for seed in range(3))
            print(f"{K} arms, {tide}: {1e3 * best:.2f} ms", flush=True)


def late() -> None:
    for out in (0, 10, 50, 200):
        best = min(
            play(names(5), "hidden", "contrast", 3 * out + 150, s, out, 3 * out + 50)[1] for s in range(3)
        )
        print(f"5 arms, {out} pending pulls: {1e3 * best:.1f} ms", flush=True)


def intervals(runs) -> None:
    for policy in ("contrast", "round-robin+ols"):
        for K, pulls in ((2, 100), (5, 100), (5, 200)):
            held = 0
            for seed in range(runs):
                run, _, means = play(names(K), "hidden", policy, pulls, seed)
                found = run.recommend()
                held += found.low <= means[found.arm] - means[found.runner_up] <= found.high
            print(f"{policy}, {K} arms, {pulls} pulls: {held} of {runs} cover", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("speed", "late", "intervals"))
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    {"speed": speed, "late": late, "intervals": lambda: intervals(given.runs)}[given.what]()
