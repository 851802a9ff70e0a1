"""Elimination: arms drop out of the race, phase by phase, until one is left.

The arms still in are played in randomised round robin, which is to play, each time, one of those
with the fewest pulls in this phase. Pulls that are out count as pulls; a phase ends when its
*rewards* are told, and until then the arms still in go on in turn. Once one is left it gets the
pulls left over.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.array_layout import FloatK, IntK
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import LOWEST, contend
from tideproof.kernels.fit.reward_moments import begin_anew
from tideproof.kernels.simulate.threefry import below


class Race(NamedTuple):
    """Which arms are still in.

    Attributes
    ----------
    dropped : (K,) 1 once the arm has dropped out.
    begun : (K,) its pulls when the phase began; 0 for ever where every pull counts.
    scores : (K,) scratch.
    """

    dropped: IntK
    begun: IntK
    scores: FloatK


@kernel
def ceiling(x):
    """Round up, but not a whole number that is a last bit too large."""
    return math.ceil(x * (1.0 - 1e-12))


@kernel
def still_in(race):
    """Return how many arms are still in."""
    count = 0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            count += 1
    return count


@kernel
def in_race(params, state, arm):
    """Tell whether the arm is still in: `Policy.active` of a policy that eliminates."""
    return state.race.dropped[arm] == 0


@kernel
def race_arm(race, data, draw):
    """Return the next arm: one of those still in with the fewest pulls in this phase."""
    best, top, ties = -1, 0.0, 0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            fewness = float(race.begun[i] - data.pulls[i])
            best, top, ties = contend(best, top, ties, i, fewness, draw)
    return best


@kernel
def front_runner(race, moments, draw):
    """Return the arm still in with the largest mean; one without a told reward comes last."""
    best, top, ties = -1, 0.0, 0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            value = moments.mean[i] if moments.told[i] > 0.0 else LOWEST
            best, top, ties = contend(best, top, ties, i, value, draw)
    return best


@kernel
def fewest_told(race, told):
    """Return the smallest of the numbers of rewards told, over the arms still in."""
    fewest = -1.0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0 and (fewest < 0.0 or told[i] < fewest):
            fewest = told[i]
    return fewest


@kernel
def drop_lowest(race, scores, draw):
    """Drop the arm still in with the lowest score."""
    K = race.dropped.size
    lane = K * (K - still_in(race))  # several may drop at once: ties fall anew for each
    lowest, ties = -1, 0
    for i in range(K):
        if race.dropped[i] == 0:
            if lowest < 0 or scores[i] < scores[lowest]:
                lowest, ties = i, 1
            elif scores[i] == scores[lowest]:
                ties += 1
                if below(draw, lane + i, ties) == 0:
                    lowest = i
    race.dropped[lowest] = 1


@kernel
def end_phase(race, data, keep, draw):
    """Keep that many arms, the best by their means in this phase, and begin the next phase."""
    sums, weights = data.moments.sums, data.moments.weights
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            race.scores[i] = sums[i] / weights[i]
    while still_in(race) > keep:
        drop_lowest(race, race.scores, draw)
    for i in range(race.dropped.size):
        race.begun[i] = data.pulls[i]
    begin_anew(data.moments)
