"""Can single rewards show the tide? Not if most are equal, or if large ones stand alone.

Whoever follows a tide row by row takes noise for about normal: what it is not, was a jump. A buyer among
visitors who spend nothing then is a jump up and, a row later, one down, and what arms differ by is gone.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats, Ints

TIED = 0.4  # share of rewards that equal the one before of their arm: whole numbers of sd 1 have 0.28
FAR = 4.0  # standard deviations of a step from row to row, by which a row stands out from both beside it
ALONE = 0.003  # share of rows that stand out, upwards more than downwards or the other way
FEW = 5  # fewer such rows say nothing yet
ENOUGH = 10  # pairs of rewards of one arm, before they count as tied
ROUNDS = 3  # in which arms are put level


def too_coarse(arm: Ints, reward: Floats) -> bool:
    """Tell whether rewards in the order of time are such that a tide cannot be followed row by row.

    Tails on both sides alike do no harm: jumps up and jumps down then take as much from each arm.

    >>> rng = np.random.default_rng(1)
    >>> arm = rng.integers(2, size=500)
    >>> too_coarse(arm, arm + rng.normal(size=500)), too_coarse(arm, (rng.random(500) < 0.1) * 1.0)
    (False, True)
    """
    return _varies(arm, reward) and (_tied(arm, reward) or _alone(_level(arm, reward)))


def _varies(arm: Ints, reward: Floats) -> bool:
    """Tell whether an arm has different rewards: where none has, there is no noise."""
    return any(np.ptp(reward[arm == k]) > 0.0 for k in np.unique(arm).tolist())


def _tied(arm: Ints, reward: Floats) -> bool:
    order = np.argsort(arm, kind="stable")
    equal = np.diff(reward[order])[np.diff(arm[order]) == 0] == 0.0
    return bool(equal.size >= ENOUGH and equal.mean() >= TIED)


def _level(arm: Ints, reward: Floats) -> Floats:
    """Return rewards less their arms', by the medians of steps from arm to arm, which no tide moves."""
    level, arms = reward.copy(), int(arm.max()) + 1
    part = (arms - 1) / arms  # of the way: the others move, too
    for _ in range(ROUNDS):
        step = np.diff(level)
        for k in range(arms):
            into, out_of = (arm[1:] == k) & (arm[:-1] != k), (arm[:-1] == k) & (arm[1:] != k)
            steps = np.concatenate([step[into], -step[out_of]])
            if steps.size:
                level[arm == k] -= part * np.median(steps)
    return level


def _alone(level: Floats) -> bool:
    if level.size < 3:
        return False
    far = FAR * float(np.median(np.abs(np.diff(level)))) / 0.6745
    before, here, after = level[:-2], level[1:-1], level[2:]
    up = here - np.maximum(before, after) > far
    down = np.minimum(before, after) - here > far
    more = abs(int(up.sum()) - int(down.sum()))
    return bool(far > 0.0 and more >= max(FEW, ALONE * level.size))
