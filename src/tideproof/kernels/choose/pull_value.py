"""What one more pull of an arm is worth: shared by the policies that play the arm of the largest value.

Each begins with n0 pulls of every arm in a fixed order. While too few of their rewards are told to
know every variance, the arms go on in randomised round robin.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.array_layout import FloatK, Int1
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import argmax, least_pulled
from tideproof.kernels.choose.round_robin_start import all_pulled, all_told, in_turn
from tideproof.kernels.choose.student_tail import FURTHEST


class PullValues(NamedTuple):
    """What one more pull of each arm is worth.

    Attributes
    ----------
    known : (1,) 1 once every arm has one.
    values : (K,) what one more pull is worth, or its logarithm.
    """

    known: Int1
    values: FloatK


@kernel
def most_valuable(pull_values, data, n0, draw):
    """Return the arm of the largest value, or the next arm of the beginning."""
    if pull_values.known[0] == 1:
        return argmax(pull_values.values, draw)
    if not all_pulled(data.pulls, n0):
        return in_turn(data.pulls)
    return least_pulled(data.pulls, draw)


@kernel
def can_judge(pull_values, data, n0):
    """Tell, and note, whether the beginning is over and every arm has a variance."""
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
    """Return how far one more pull is likely to move the mean: sqrt(s2_i/(N_i (N_i + 1)))."""
    moments, pulls = data.moments, data.pulls[i]
    return math.sqrt(moments.squares[i] / ((moments.told[i] - 1.0) * (pulls * (pulls + 1.0))))


@kernel
def steps_to_rival(data, i, rival, step):
    """Return how many such steps lie between the means of arm i and its rival."""
    gap = abs(data.moments.mean[i] - data.moments.mean[rival])
    if gap < step * FURTHEST:
        return gap / step
    return FURTHEST if gap > 0.0 else 0.0
