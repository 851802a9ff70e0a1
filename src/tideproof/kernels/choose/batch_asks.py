"""Choose several arms at once: each chosen arm counts as a pending pull before the next is chosen."""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_linker import hole, kernel
from tideproof.kernels.fit.policy_data import enter, expect
from tideproof.kernels.simulate.threefry import ASK, TELL, Draw

ask = hole("ask")

_0 = np.uint64(0)


@kernel
def ask_many(params, state, data, slot, seed, asked, noticed, arms):
    """Fill the array `arms` with the next arms to pull in one environment, and return their number.

    The number is smaller than the size of `arms` if the policy stops, or returns an invalid arm. `asked` and
    `noticed` are the steps of the first draws. Afterwards, the statistics include all of these arms but the
    last as pending pulls.
    """
    for i in range(arms.size):
        if i > 0:
            draw = Draw(seed, _0, TELL, noticed + np.uint64(i - 1))
            expect(params, state, data, slot, arms[i - 1], 1, draw)
        arm = ask(params, state, data, slot, Draw(seed, _0, ASK, asked + np.uint64(i)))
        if arm < 0 or arm >= data.pulls.size:
            return i
        arms[i] = arm
    return arms.size


@kernel
def enter_pending(slot, out):
    """Add pending pulls to an environment's statistics, as if each reward were the environment's mean."""
    for arm in range(out.size):
        if out[arm] > 0:
            enter(slot, arm, out[arm], slot.mean[0])
