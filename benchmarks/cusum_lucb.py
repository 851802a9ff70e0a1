"""CUSUM-LUCB, a rival policy: when the mean of an arm changes, forget everything and restart.

The mean of an arm's first `m` rewards since the last alarm is its reference. From then on, two sums
accumulate by how much rewards are above or below it, less `slack`, and never fall below 0. An alarm is
raised when one of them exceeds `threshold`. An alarm of any arm forgets all arms, because changes affect
all of them. Pulls go to the leader and its most promising challenger by the rewards since the alarm. The
policy knows that the noise has variance 1; tideproof's policies do not.

Liu, Lee, Shroff (2018), A change-detection based framework for piecewise-stationary multi-armed bandit
problem, AAAI, for CUSUM with restarts; Besson, Kaufmann, Maillard, Seznec (2022), Efficient change-point
detection for tackling piecewise-stationary bandits, JMLR, for global restarts; Kalyanakrishnan et al.
(2012) for LUCB. These policies maximise rewards and do not select an arm. Selection `recent` takes the
largest mean since the last alarm, `pooled` the largest mean of rewards less the mean of all rewards between
the same two alarms, `most-played` the arm with the most pulls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.plugin import (
    LOWEST,
    MOST_PLAYED,
    Float1,
    FloatK,
    Int1,
    Policy,
    Selection,
    argmax,
    argmax_in_lane,
    kernel,
)


class Params(NamedTuple):
    """Parameters of CUSUM-LUCB: rewards for the reference, slack, alarm threshold, pulls at the start."""

    m: float
    slack: float
    threshold: float


class State(NamedTuple):
    """State of CUSUM-LUCB: statistics since the last alarm, and sums over all intervals between alarms.

    Attributes
    ----------
    count, mean : (K,) number and mean of rewards since the last alarm.
    level, above, below : (K,) the reference and the two sums of CUSUM.
    size, total : (1,) number and sum of all rewards since the last alarm.
    before, weight : (K,) sum of differences to the mean of all arms over forgotten intervals, and their
        number.
    leader, challenger, half : (1,) the pair to play next, and whether one of the two was played.
    bounds : (K,) scratch space.
    """

    count: FloatK
    mean: FloatK
    level: FloatK
    above: FloatK
    below: FloatK
    size: Float1
    total: Float1
    before: FloatK
    weight: FloatK
    leader: Int1
    challenger: Int1
    half: Int1
    bounds: FloatK


def configure(
    arms: int,
    horizon: int | None,
    selection: str,
    *,
    m: int = 2,
    slack: float = 1.0,
    threshold: float = 6.0,
) -> Params:
    """Set the number of reference rewards, and the slack and threshold in standard deviations of noise."""
    return Params(float(m), slack, threshold)


@kernel
def ask(params, state, data, slot, draw):
    """Return an arm without a reference since the last alarm, or the next arm of the pair."""
    for i in range(data.pulls.size):
        if state.count[i] < 1.0:
            return _least_known(state)
    return state.challenger[0] if state.half[0] == 1 else state.leader[0]


@kernel
def _least_known(state):
    first = 0
    for i in range(state.count.size):
        if state.count[i] < state.count[first]:
            first = i
    return first


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Record a reward, raise an alarm if there is a change, and plan the next pair."""
    if data.told[0] == 0:
        return
    x = data.reward[0]
    if _is_alarm(params, state, arm, x):
        _forget(state)
    state.count[arm] += 1.0
    state.mean[arm] += (x - state.mean[arm]) / state.count[arm]
    if state.count[arm] <= params.m:
        state.level[arm] = state.mean[arm]
    state.size[0] += 1.0
    state.total[0] += x
    state.half[0] = 1 - state.half[0]
    if state.half[0] == 0:
        _plan(state, draw)


@kernel
def _is_alarm(params, state, arm, x):
    if state.count[arm] < params.m:
        return False
    away = x - state.level[arm]
    state.above[arm] = max(0.0, state.above[arm] + away - params.slack)
    state.below[arm] = max(0.0, state.below[arm] - away - params.slack)
    return max(state.above[arm], state.below[arm]) > params.threshold


@kernel
def _forget(state):
    centre = state.total[0] / state.size[0]
    for i in range(state.count.size):
        state.before[i] += state.count[i] * (state.mean[i] - centre)
        state.weight[i] += state.count[i]
        state.count[i] = 0.0
        state.mean[i] = 0.0
        state.level[i] = 0.0
        state.above[i] = 0.0
        state.below[i] = 0.0
    state.size[0] = 0.0
    state.total[0] = 0.0


@kernel
def _plan(state, draw):
    for i in range(state.count.size):
        state.bounds[i] = state.mean[i] if state.count[i] > 0.0 else LOWEST
    leader = argmax(state.bounds, draw)
    for i in range(state.count.size):
        root = math.sqrt(2.0 * math.log(max(state.size[0], 2.0)) / max(state.count[i], 1.0))
        state.bounds[i] = state.mean[i] + root if i != leader else LOWEST
    state.leader[0] = leader
    state.challenger[0] = argmax_in_lane(state.bounds, draw, 1)


@kernel
def _always(data):
    return True


@kernel
def _select_recent(params, state, data, draw):
    best = 0
    for i in range(state.count.size):
        mine = state.mean[i] if state.count[i] > 0.0 else LOWEST
        most = state.mean[best] if state.count[best] > 0.0 else LOWEST
        if mine > most:
            best = i
    return best


@kernel
def _select_pooled(params, state, data, draw):
    centre = state.total[0] / max(state.size[0], 1.0)
    best, highest = 0, LOWEST
    for i in range(state.count.size):
        number = state.weight[i] + state.count[i]
        value = (state.before[i] + state.count[i] * (state.mean[i] - centre)) / max(number, 1.0)
        if number > 0.0 and value > highest:
            best, highest = i, value
    return best


RECENT = Selection(
    "recent", "the largest mean since the last alarm", _select_recent, _always, frozenset({"reward"})
)
POOLED = Selection(
    "pooled",
    "the largest difference to arms of the same time",
    _select_pooled,
    _always,
    frozenset({"reward"}),
)

POLICY = Policy(
    name="cusum-lucb",
    idea="notices changes by CUSUM, forgets everything, and plays leader and challenger",
    reference="Liu, Lee, Shroff 2018",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms,
    selections=(POOLED, RECENT, MOST_PLAYED),
    reads=frozenset({"reward"}),
    needs_horizon=False,
    shift_aware=False,
)
