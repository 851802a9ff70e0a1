"""Check of whether rewards are suitable for estimating a hidden tide row by row.

The filter treats noise as approximately normal and takes large deviations for jumps. If most rewards are
equal and a few are large, as with revenue, each large reward looks like a jump up and a jump down, and the
differences between arms are lost.
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
    """Return True if rewards in the order of time are too coarse or skewed to show a hidden tide.

    Symmetric heavy tails do no harm: jumps up and jumps down then take as much from each arm.

    >>> rng = np.random.default_rng(1)
    >>> arm = rng.integers(2, size=500)
    >>> too_coarse(arm, arm + rng.normal(size=500)), too_coarse(arm, (rng.random(500) < 0.1) * 1.0)
    (False, True)
    """
    return _varies(arm, reward) and (_tied(arm, reward) or _alone(_level(arm, reward)))


def _varies(arm: Ints, reward: Floats) -> bool:
    """Return True if at least one arm has different rewards; otherwise there is no noise."""
    return any(np.ptp(reward[arm == k]) > 0.0 for k in np.unique(arm).tolist())


def _tied(arm: Ints, reward: Floats) -> bool:
    """Return True if a large share of rewards equals the previous reward of the same arm."""
    order = np.argsort(arm, kind="stable")
    equal = np.diff(reward[order])[np.diff(arm[order]) == 0] == 0.0
    return bool(equal.size >= ENOUGH and equal.mean() >= TIED)


def _level(arm: Ints, reward: Floats) -> Floats:
    """Return rewards minus arm effects, estimated by medians of steps between arms.

    Most steps are too short for the tide to move noticeably.
    """
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
    """Return True if many rows stand out from both neighbours, more in one direction than in the other."""
    if level.size < 3:
        return False
    far = FAR * float(np.median(np.abs(np.diff(level)))) / 0.6745
    before, here, after = level[:-2], level[1:-1], level[2:]
    up = here - np.maximum(before, after) > far
    down = np.minimum(before, after) - here > far
    more = abs(int(up.sum()) - int(down.sum()))
    return bool(far > 0.0 and more >= max(FEW, ALONE * level.size))
