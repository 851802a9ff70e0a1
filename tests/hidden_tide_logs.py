"""Logs with a hidden tide: randomised rounds of arms, their rewards and the true shifts."""

import numpy as np

LENGTHS = {"general": (2, 50), "sample 1 to 10": (1, 10), "cannot sample all": (2, 9), "pairs": (2, 2)}


def tide(kind, n, random):
    """Draw a tide: "none", ("walk", sd), ("wave", period), or one of LENGTHS, with shifts of 0 to 20."""
    if kind == "none":
        return np.zeros(n)
    if kind in LENGTHS:
        low, high = LENGTHS[kind]
        size = random.integers(low, high + 1, size=n)
        return np.repeat(random.uniform(0.0, 20.0, size=n), size)[:n]
    what, by = kind
    if what == "walk":
        return np.cumsum(by * random.normal(size=n))
    return 3.0 * np.sin(2.0 * np.pi * (np.arange(n) / by + random.random()))


def rounds(kind, arms, n, random):
    """Draw arms in randomised rounds, rewards and the tide; means are half a standard deviation apart."""
    arm = np.concatenate([random.permutation(arms) for _ in range(-(-n // arms))])[:n]
    moved = tide(kind, n, random)
    return arm, 0.5 * arm + moved + random.normal(size=n), moved
