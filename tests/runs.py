"""Experiments for tests: three arms, 0, 1 and 2 on average."""

from __future__ import annotations

import json

import numpy as np

import tideproof as tp
from tideproof.live.saving import to_dict

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.0, "B": 1.0, "C": 2.0}


def experiment(**options):
    return tp.Experiment(ARMS, **{"budget": 200, "policy": "linlucb", "seed": 3, **options})


def snapshot(run):
    return json.dumps(to_dict(run))


def drive(run, steps, seed=0, tide=None, each=5):
    """Ask and tell for that many steps, a new environment every few."""
    random = np.random.default_rng(seed)
    for step in range(steps):
        pull = run.ask(environment=step // each)
        shift = tide[step // each] if tide is not None else 0.0
        run.tell(pull, MEANS[pull.arm] + shift + random.standard_normal())
    return run
