"""Elimination: arms are dropped, phase by phase, until one is left.

The remaining arms are played in randomised round robin: each pull goes to an arm with the fewest pulls in
this phase. Pending pulls count as pulls. A phase ends when its *rewards* have arrived; until then, the round
robin continues. When one arm is left, it gets the remaining pulls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK, IntK
from tideproof.kernels.choose.arm_choice import LOWEST, contend
from tideproof.kernels.fit.policy_data import begin_anew
from tideproof.kernels.simulate.threefry import below


class Race(NamedTuple):
    """State of a policy that eliminates arms: which arms remain.

    Attributes
    ----------
    dropped : (K,) 1 for an arm that was dropped.
    begun : (K,) number of pulls at the start of the phase; always 0 if every pull counts.
    scores : (K,) scratch.
    """

    dropped: IntK
    begun: IntK
    scores: FloatK


@kernel
def ceiling(x):
    """Round x up to a whole number, but not if x exceeds a whole number only by a rounding error."""
    return math.ceil(x * (1.0 - 1e-12))


@kernel
def still_in(race):
    """Return the number of arms that have not been eliminated."""
    count = 0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            count += 1
    return count


@kernel
def in_race(params, state, arm):
    """Return whether an arm has not been eliminated yet.

    This is `Policy.active` of policies that eliminate arms.
    """
    return state.race.dropped[arm] == 0


@kernel
def race_arm(race, data, draw):
    """Return the next arm to pull: among those not eliminated, one with the fewest pulls in this phase."""
    best, top, ties = -1, 0.0, 0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            fewness = float(race.begun[i] - data.pulls[i])
            best, top, ties = contend(best, top, ties, i, fewness, draw)
    return best


@kernel
def front_runner(race, moments, draw):
    """Return the arm with the largest mean among those not eliminated; arms without a reward come last."""
    best, top, ties = -1, 0.0, 0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            value = moments.mean[i] if moments.told[i] > 0.0 else LOWEST
            best, top, ties = contend(best, top, ties, i, value, draw)
    return best


@kernel
def fewest_told(race, told):
    """Return the smallest number of rewards of any arm that has not been eliminated."""
    fewest = -1.0
    for i in range(race.dropped.size):
        if race.dropped[i] == 0 and (fewest < 0.0 or told[i] < fewest):
            fewest = told[i]
    return fewest


@kernel
def drop_lowest(race, scores, draw):
    """Eliminate the arm with the lowest score among those not eliminated yet."""
    K = race.dropped.size
    lane = K * (K - still_in(race))  # if several arms drop at once, each tie uses new random numbers
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
    """Eliminate all but the `keep` arms with the best means in this phase, and start the next phase."""
    sums, weights = data.moments.sums, data.moments.weights
    for i in range(race.dropped.size):
        if race.dropped[i] == 0:
            race.scores[i] = sums[i] / weights[i]
    while still_in(race) > keep:
        drop_lowest(race, race.scores, draw)
    for i in range(race.dropped.size):
        race.begun[i] = data.pulls[i]
    begin_anew(data.moments)
