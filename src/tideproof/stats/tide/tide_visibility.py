"""Functions that decide whether a hidden tide can be estimated from the single rewards of a log.

The filter treats noise as approximately normal and takes large deviations for jumps. If most rewards are
equal and a few are large, as with revenue, each large reward looks like a jump up and a jump down, and the
differences between arms are lost.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints

TIED_SHARE = (
    0.4  # Share of rewards equal to the arm's previous one; rounded normal rewards of sd 1 have 0.28.
)
FAR_STEPS = 4.0  # Standard deviations of steps by which an outlying row exceeds both neighbours.
ISOLATED_SHARE = 0.003  # Excess share of rows that stand out in one direction.
FEWEST_ISOLATED = 5  # Fewer outlying rows are no evidence.
FEWEST_PAIRS = 10  # Fewer pairs of successive rewards are no evidence of ties.
ROUNDS = 3  # Iterations of estimating arm effects.


def too_coarse(arm: Ints, reward: Floats) -> bool:
    """Return whether rewards are too coarse (such as 0/1) or too skewed to estimate a hidden tide from them.

    Symmetric heavy tails do no harm: jumps up and jumps down then take as much from each arm.

    >>> rng = np.random.default_rng(1)
    >>> arm = rng.integers(2, size=500)
    >>> too_coarse(arm, arm + rng.normal(size=500)), too_coarse(arm, (rng.random(500) < 0.1) * 1.0)
    (False, True)
    """
    return _has_variation(arm, reward) and (
        _has_ties(arm, reward) or _has_isolated_rows(level_arms(arm, reward))
    )


def _has_variation(arm: Ints, reward: Floats) -> bool:
    """Return whether the rewards of at least one arm differ from each other; otherwise there is no noise."""
    return any(np.ptp(reward[arm == k]) > 0.0 for k in np.unique(arm).tolist())


def _has_ties(arm: Ints, reward: Floats) -> bool:
    """Return whether a large share of rewards equals the previous reward of the same arm."""
    order = np.argsort(arm, kind="stable")
    equal = np.diff(reward[order])[np.diff(arm[order]) == 0] == 0.0
    return bool(equal.size >= FEWEST_PAIRS and equal.mean() >= TIED_SHARE)


def level_arms(arm: Ints, reward: Floats) -> Floats:
    """Subtract arm effects, estimated by the median change between successive rows, from the rewards.

    Most steps are too short for the tide to move noticeably.
    """
    level, arms = reward.copy(), int(arm.max()) + 1
    part = (arms - 1) / arms  # Damping, because the other arms move as well.
    for _ in range(ROUNDS):
        step = np.diff(level)
        for k in range(arms):
            into, out_of = (arm[1:] == k) & (arm[:-1] != k), (arm[:-1] == k) & (arm[1:] != k)
            steps = np.concatenate([step[into], -step[out_of]])
            if steps.size:
                level[arm == k] -= part * np.median(steps)
    return level


def _has_isolated_rows(level: Floats) -> bool:
    """Return whether many rewards stand out from both neighbours in time, mostly in the same direction."""
    far = FAR_STEPS * float(np.median(np.abs(np.diff(level)))) / 0.6745
    before, here, after = level[:-2], level[1:-1], level[2:]
    up = here - np.maximum(before, after) > far
    down = np.minimum(before, after) - here > far
    more = abs(int(up.sum()) - int(down.sum()))
    return bool(far > 0.0 and more >= max(FEWEST_ISOLATED, ISOLATED_SHARE * level.size))
