"""Simulated runs in every kind of world and with every policy, and what is stored of each."""

from __future__ import annotations

import numpy as np

import tideproof as tp
from golden.stored_values import plain
from tideproof import worlds

MEANS = [0.0, 0.5, 1.0]
POSITIVE = [0.2, 0.3, 0.5]

# The fields of worlds; each is replayed with several policies.
WORLDS: dict[str, dict] = {
    "general": {"means": MEANS},
    "unequal noise": {"means": MEANS, "sigma": [0.5, 1.0, 2.0]},
    "stationary": {"means": MEANS, "lengths": None, "shifts": worlds.NoShift()},
    "pairs": {"means": MEANS, "lengths": (2, 2), "shifts": worlds.Uniform(-10.0, 10.0)},
    "geometric": {"means": MEANS, "lengths": worlds.Geometric(6.0, 2), "shifts": worlds.Normal(1.0, 3.0)},
    "one by one": {"means": MEANS, "lengths": worlds.Geometric(1.0), "shifts": worlds.RandomWalk(0.5, 2.0)},
    "lengths": {"means": MEANS, "lengths": worlds.Lengths([3, 5, 11]), "shifts": worlds.RandomWalk(2.0)},
    "weekly": {"means": MEANS, "lengths": (5, 9), "shifts": worlds.Weekly([0.0, 1.0, 5.0], 0.5)},
    "weekly, exact": {"means": MEANS, "lengths": (5, 5), "shifts": worlds.Weekly([0.0, 1.0, 5.0])},
    "student": {"means": MEANS, "noise": worlds.StudentT(3.0)},
    "conversions": {"means": POSITIVE, "rewards": "conversions", "shifts": worlds.Uniform(0.0, 0.4)},
    "conversions, times": {
        "means": POSITIVE,
        "rewards": "conversions",
        "tide": "multiplies",
        "shifts": worlds.Normal(0.0, 0.2),
    },
    "counts": {"means": [1.0, 2.0, 4.0], "rewards": "counts", "shifts": worlds.Uniform(0.0, 2.0)},
    "many counts": {"means": [30.0, 40.0, 80.0], "rewards": "counts", "shifts": worlds.Uniform(0.0, 9.0)},
    "counts, times": {
        "means": [1.0, 2.0, 4.0],
        "rewards": "counts",
        "tide": "multiplies",
        "shifts": worlds.Normal(0.0, 0.5),
    },
    "money": {"means": [1.0, 2.0, 4.0], "rewards": "money", "shifts": worlds.Uniform(0.0, 2.0)},
    "money, zeros": {
        "means": [1.0, 2.0, 4.0],
        "rewards": worlds.Money(2.0, 0.6),
        "tide": "multiplies",
        "shifts": worlds.Normal(0.0, 0.5),
    },
    "normal, times": {"means": [1.0, 2.0, 4.0], "tide": "multiplies", "shifts": worlds.Normal(0.0, 0.5)},
    "sinusoid": {
        "means": MEANS,
        "lengths": None,
        "shifts": worlds.NoShift(),
        "drift": worlds.Sinusoid(3.0, 20.0),
    },
    "wander": {"means": MEANS, "drift": worlds.Wander(0.3), "announced": False},
    "trend": {"means": MEANS, "drift": worlds.Trend(0.1)},
    "curve": {
        "means": MEANS,
        "lengths": None,
        "shifts": worlds.NoShift(),
        "drift": worlds.Curve([0.0, 4.0, 1.0], 15.0),
    },
    "curve, anywhere": {"means": MEANS, "drift": worlds.Curve([0.0, 4.0, 1.0], 15.0, anywhere=True)},
    "not announced": {"means": MEANS, "announced": False},
    "interaction": {"means": MEANS, "interaction": 0.8},
    "own interactions": {"means": MEANS, "interaction": [0.1, 0.5, 2.0]},
    "loud environments": {"means": MEANS, "noise_by_environment": 0.7},
    "wrong cells": {"means": MEANS, "outliers": worlds.Outliers(0.2, 15.0)},
    "everything": {
        "means": MEANS,
        "sigma": [0.5, 1.0, 2.0],
        "noise": worlds.StudentT(5.0),
        "drift": worlds.Wander(0.1),
        "interaction": 0.5,
        "noise_by_environment": 0.3,
        "outliers": worlds.Outliers(0.05, 8.0),
    },
}
POLICIES: dict[str, tuple[str, dict]] = {
    "contrast": ("contrast", {}),
    "linlucb": ("linlucb", {"n0": 3}),
    "linlucb, reduced": ("linlucb", {"covariance": "reduced"}),
    "linlucb, printed": ("linlucb", {"covariance": "printed"}),
    "round-robin+ols": ("round-robin+ols", {}),
    "round-robin+period": ("round-robin+period", {}),
    "round-robin+control": ("round-robin+control", {}),
    "ucb1-normal": ("ucb1-normal", {}),
    "lucb": ("lucb", {}),
    "p1+ips": ("p1+ips", {}),
    "exp4p": ("exp4p", {"lo": -30.0, "hi": 50.0}),
    "successive-rejects": ("successive-rejects", {}),
    "sequential-halving": ("sequential-halving", {}),
    "pss": ("pss", {}),
    "ser3": ("ser3", {"epsilon": 1.0, "log_inverse_delta": 1.0}),
    "zero-one": ("zero-one", {}),
    "ocba": ("ocba", {}),
    "knowledge-gradient": ("knowledge-gradient", {}),
    "top-two-thompson": ("top-two-thompson", {}),
    "reduce:lucb": ("reduce:lucb", {}),
    "reduce:p1": ("reduce:p1", {}),
    "reduce:sequential-halving": ("reduce:sequential-halving", {}),
    "sure:contrast": ("sure:contrast", {"confidence": 0.9}),
    "sure:linlucb, bound": ("sure:linlucb", {"confidence": 0.9, "bound": 2.5}),
    "hidden:contrast": ("hidden:contrast", {}),
    "both:linlucb": ("both:linlucb", {}),
    "by-arm:contrast": ("contrast", {"noise": "by-arm"}),
    "interaction:linlucb": ("linlucb", {"interaction": True}),
    "auto:contrast": ("contrast", {"interaction": "auto"}),
    "by-arm:auto:top-two-thompson": ("top-two-thompson", {"noise": "by-arm", "interaction": "auto"}),
    "robust:contrast": ("contrast", {"robust": "cells"}),
}
HIDDEN = {"hidden:contrast", "both:linlucb"}  # slow when interpreted
REPLAYS = [*((world, "linlucb") for world in WORLDS), *((world, policy) for world in
           ("unequal noise", "everything") for policy in POLICIES)]  # fmt: skip


def stored_replay(name):
    """Replay a few replications, interpreted; `name` is a world and a policy."""
    world, policy = name.split(" | ")
    name, options = POLICIES[policy]
    found = []
    for replication, budget in ((3, 90),) if policy in HIDDEN else ((0, 60), (7, 120)):
        run = tp.replay(
            worlds.World(**WORLDS[world]),
            tp.policy(name, **options),
            seed=9,
            replication=replication,
            budget=budget,
        )
        found.append(
            {
                "arms": "".join(map(str, run.arm)),
                "environments": run.environment,
                "shift": run.shift,
                "reward": run.reward,
                "estimates": [run.estimates[:, i] for i in range(run.estimates.shape[1])],
                "end": [run.selected, run.identified],
            }
        )
    return plain(found)


STUDIES: dict[str, tuple[dict, list, list[int]]] = {
    "general": (WORLDS["general"], ["linlucb", "round-robin+ols", "round-robin"], [20, 30, 60]),
    "stopping": (WORLDS["general"], ["sure:linlucb", "linlucb"], [40, 90]),
    "with a horizon": (WORLDS["pairs"], ["sequential-halving", "contrast", "successive-rejects"], [20, 45]),
}


def stored_study(name):
    """Simulate a few replications and return what every method of the study returns.

    Outside the generator the caller has replaced the compiled loop by the interpreted one.
    """
    world, policies, budgets = STUDIES[name]
    study = tp.simulate(
        worlds.World(**world), policies, budgets, replications=23, seed=4, engine="cpu", keep=[budgets[-1]]
    )
    found = {"table": study.table(), "policies": study.policies}
    for label in study.policies:
        found[label] = {
            "errors": study.errors(label),
            "pics": study.pics(label),
            "eoc": study.eoc(label),
            "samples": study.samples(label),
            "stopped": study.stopped(label),
            "wrong stops": study.wrong_stops(label),
            "unidentified": study.unidentified(label),
            "pulls": study.pulls(label),
            "selected": study.selected(label, budgets[-1]),
            "wrong": study.wrong(label, budgets[-1]),
            "error": [study.standard_error(label), study.standard_error(label, "eoc")],
            "interval": [study.interval(label), study.interval(label, 0.8, "eoc")],
        }
    a, b = study.policies[:2]
    found["pair"] = [study.difference(a, b), study.difference(a, b, "eoc", 0.8), study.ratio(a, b)]
    return plain(found)


def replay_names():
    return list(dict.fromkeys(f"{world} | {policy}" for world, policy in REPLAYS))


def world_values():
    """Return the world of every case as a dict, and its gaps."""
    made = {name: worlds.World(**fields) for name, fields in WORLDS.items()}
    assert all(worlds.World.from_dict(world.to_dict()) == world for world in made.values())
    return {name: [world.to_dict(), np.asarray(world.gaps)] for name, world in made.items()}


def stored_world(name):
    return plain(world_values()[name])
