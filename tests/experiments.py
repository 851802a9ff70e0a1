"""Experiments for tests: three arms, 0, 1 and 2 on average."""

from __future__ import annotations

import numpy as np

import tideproof as tp

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.0, "B": 1.0, "C": 2.0}


def experiment(**options):
    return tp.Experiment(ARMS, **{"budget": 200, "policy": "linlucb", "seed": 3, **options})


def snapshot(run):
    """Return all that an experiment is: what happened, and every number that it added up to."""
    return run.events(), run._numbers.buffers(), run.history()


def drive(run, steps, seed=0, tide=None, each=5):
    """Ask and tell for that many steps, a new environment every few."""
    random = np.random.default_rng(seed)
    for step in range(steps):
        pull = run.ask(environment=step // each)
        shift = tide[step // each] if tide is not None else 0.0
        run.tell(pull, MEANS[pull.arm] + shift + random.standard_normal())
    return run


def number(pull):
    """Return how many pulls were asked for before this one."""
    return int(pull.id.rpartition("-")[2])


def shown(pulls):
    """Return pulls without the part of their ids that no two runs share."""
    return [(number(pull), pull.arm, pull.environment) for pull in pulls]
