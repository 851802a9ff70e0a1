"""Shared parts of policies that choose the arm for which one more pull is the most valuable.

Each policy starts with n0 pulls of every arm in a fixed order. While too few rewards have arrived to
estimate every variance, the arms continue in randomised round robin.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK, Int1
from tideproof.kernels.choose.arm_choice import argmax, least_pulled
from tideproof.kernels.choose.round_robin_start import all_pulled, all_told, in_turn
from tideproof.kernels.choose.student_tail import FURTHEST


class PullValues(NamedTuple):
    """State of a policy: the value of one more pull of each arm.

    Attributes
    ----------
    known : (1,) 1 once the values of all arms are known.
    values : (K,) the value of one more pull, or its logarithm.
    """

    known: Int1
    values: FloatK


@kernel
def most_valuable(pull_values, data, n0, draw):
    """Return the arm whose next pull is the most valuable.

    During the initial pulls, return the next arm in round robin.
    """
    if pull_values.known[0] == 1:
        return argmax(pull_values.values, draw)
    if not all_pulled(data.pulls, n0):
        return in_turn(data.pulls)
    return least_pulled(data.pulls, draw)


@kernel
def can_judge(pull_values, data, n0):
    """Return whether the initial pulls are complete and every arm's variance can be estimated.

    The answer is also stored.
    """
    if pull_values.known[0] == 0 and all_pulled(data.pulls, n0) and all_told(data.moments, 2):
        pull_values.known[0] = 1
    return pull_values.known[0] == 1


@kernel
def two_best(mean):
    """Return the arms with the largest and the second largest mean."""
    best, second = (0, 1) if mean[0] >= mean[1] else (1, 0)
    for i in range(2, mean.size):
        if mean[i] > mean[best]:
            best, second = i, best
        elif mean[i] > mean[second]:
            second = i
    return best, second


@kernel
def step_of_mean(data, i):
    """Return the standard deviation of the change that one more pull makes to an arm's mean.

    It is sqrt(s2/(N (N + 1))).
    """
    moments, pulls = data.moments, data.pulls[i]
    return math.sqrt(moments.squares[i] / ((moments.told[i] - 1.0) * (pulls * (pulls + 1.0))))


@kernel
def steps_to_rival(data, i, rival, step):
    """Return the distance between the means of arm i and another arm, `rival`, in units of `step`."""
    gap = abs(data.moments.mean[i] - data.moments.mean[rival])
    if gap < step * FURTHEST:
        return gap / step
    return FURTHEST if gap > 0.0 else 0.0
