"""The whole memory of every policy after simulated runs: a change of one formula of a kernel changes it.

Choices alone hide most changes of a formula, because a choice is often the same with slightly other numbers.
"""

from __future__ import annotations

import numpy as np

from golden.stored_values import fingerprint, plain
from golden.study_cases import POLICIES
from tideproof import worlds
from tideproof.lab.engines.cpu_engine import empty_trace, run_loop
from tideproof.policies.policy_registry import as_policy, policy

MEANS = [0.0, 0.6, 0.7, 1.0]
# The fields of worlds; every policy runs in each.
WORLDS: dict[str, dict] = {
    "short": {"means": MEANS, "sigma": [0.5, 1.0, 2.0, 1.0], "lengths": (1, 6), "interaction": 0.4},
    "outliers": {
        "means": MEANS,
        "lengths": (8, 20),
        "shifts": worlds.RandomWalk(2.0),
        "outliers": worlds.Outliers(0.15, 20.0),
    },
    "jumps": {
        "means": MEANS,
        "lengths": worlds.Geometric(12.0),
        "shifts": worlds.Normal(0.0, 6.0),
        "noise": worlds.StudentT(4.0),
        "noise_by_environment": 0.4,
        "announced": False,
    },
    "many arms": {
        "means": [0.0, 0.2, 0.5, 0.5, 0.9, 1.0, 1.2],
        "sigma": [0.5, 1.0, 2.0, 1.0, 1.0, 0.7, 1.5],
        "lengths": (2, 30),
        "shifts": worlds.Uniform(-3.0, 8.0),
        "outliers": worlds.Outliers(0.05, 15.0),
        "interaction": 0.6,
    },
}
MORE_POLICIES: dict[str, tuple[str, dict]] = {
    "proven:contrast": ("proven:contrast", {"confidence": 0.9}),
    "both:contrast": ("both:contrast", {}),
    "hidden:linlucb": ("hidden:linlucb", {}),
    "hidden:top-two-thompson": ("hidden:top-two-thompson", {}),
    "robust:linlucb": ("linlucb", {"robust": "cells"}),
    "robust:top-two-thompson": ("top-two-thompson", {"robust": "cells"}),
    "by-arm:linlucb": ("linlucb", {"noise": "by-arm"}),
    "by-arm:auto:contrast": ("contrast", {"noise": "by-arm", "interaction": "auto"}),
    "interaction:contrast": ("contrast", {"interaction": True}),
    "reduce:ser3": ("reduce:ser3", {"epsilon": 1.0, "log_inverse_delta": 1.0}),
    "reduce:ucb1-normal": ("reduce:ucb1-normal", {}),
    "reduce:successive-rejects": ("reduce:successive-rejects", {}),
    "hidden:reduce:lucb": ("hidden:reduce:lucb", {}),
    "ocba, n0": ("ocba", {"n0": 5}),
    "contrast, n0": ("contrast", {"n0": 4}),
}
ALL_POLICIES = POLICIES | MORE_POLICIES
STEPS = 240


def state_names():
    """Return the names of all cases: a world and a policy."""
    return [f"{world} | {name}" for world in WORLDS for name in ALL_POLICIES]


def stored_state(name):
    """Return the sums over a policy's memory after two runs, and what it selected at three budgets."""
    world, label = name.split(" | ")
    chosen, options = ALL_POLICIES[label]
    spec, world = as_policy(policy(chosen, **options)), worlds.World(**WORLDS[world])
    found = []
    for replication in (2, 5):
        score, memory = run_loop(
            spec.program().replicate,
            spec,
            world,
            [STEPS // 4, STEPS // 2, STEPS],
            11,
            replication,
            1,
            empty_trace(STEPS, world.arms),
        )
        found.append(
            {
                "selected": score.selected[:, 0].tolist(),
                "counts": score.counts.tolist(),
                "floats": fingerprint(np.asarray(memory.floats)),
                "ints": fingerprint(np.asarray(memory.ints, np.float64)),
            }
        )
    return plain(found)
