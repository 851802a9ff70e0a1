"""Thompson sampling whose posterior is updated once a period, such as an hour or a day.

Each arm has the posterior N(xbar_i, s_i^2/n_i) of its raw mean over all days, under a flat prior. It is
computed once for each period and kept until the next. Every visitor gets the best arm of a draw from it, so
that an arm's share of the traffic is its probability of being the best. At the start, all arms have equal
shares. Selection `mean` takes the largest raw mean, which under drifting days belongs to the arm with
visitors on good days; `most-played` takes the arm with the most visitors; `ols` removes the days by least
squares.

Statsig's Autotune works like this according to its documentation (pages Methodology, Monitoring and Setup
of Autotune): shares are the probability of being best, computed every hour, after an exploration window
with equal shares. Its stop at a winner's threshold and its attribution window are not simulated: this rival
receives all rewards at once and continues to the end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.plugin import (
    MEAN,
    MOST_PLAYED,
    OLS,
    FloatK,
    Int1,
    Policy,
    below,
    contend,
    kernel,
    normal,
    require_whole_number,
)


class Params(NamedTuple):
    """Visitors between two updates, 0 for one at each new environment; visitors of each arm before the first."""

    every: int
    enough: int


class State(NamedTuple):
    """State of the policy: the current posterior.

    Attributes
    ----------
    ready : (1,) 1 once there is a posterior.
    since : (1,) visitors since the last update.
    centre, spread : (K,) its means and standard deviations.
    """

    ready: Int1
    since: Int1
    centre: FloatK
    spread: FloatK


def configure(arms: int, horizon: int | None, selection: str, *, every: int = 0, enough: int = 100) -> Params:
    """Set how often the shares change, and the average visitors of each arm before they do."""
    return Params(require_whole_number("every", every, 0), require_whole_number("enough", enough, 2))


@kernel
def ask(params, state, data, slot, draw):
    """Return the best arm of a draw from the current posterior, or any arm before there is one."""
    K = data.pulls.size
    if state.ready[0] == 0:
        return below(draw, 0, K)
    best, top, ties = -1, 0.0, 0
    for i in range(K):
        value = state.centre[i] + state.spread[i] * normal(draw, K + i)
        best, top, ties = contend(best, top, ties, i, value, draw)
    return best


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Record the reward, and update the posterior if a period is over."""
    state.since[0] += n
    over = slot.size[0] == 0.0 if params.every == 0 else state.since[0] >= params.every
    if over:
        _update(params, state, data)


@kernel
def _update(params, state, data):
    state.since[0] = 0
    moments = data.moments
    told, fewest = 0.0, 2.0
    for i in range(data.pulls.size):
        told += moments.told[i]
        if moments.told[i] < 2.0 or moments.squares[i] <= 0.0:
            fewest = 0.0
    if fewest < 2.0 or told < params.enough * data.pulls.size:
        return
    state.ready[0] = 1
    for i in range(data.pulls.size):
        n = moments.told[i]
        state.centre[i] = moments.mean[i]
        state.spread[i] = math.sqrt(moments.squares[i] / (n - 1.0) / n)


POLICY = Policy(
    name="periodic-thompson",
    idea="the best arm of a draw from the posterior of raw means as of the last update",
    reference="Thompson 1933; as Statsig's Autotune",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms,
    selections=(MEAN, MOST_PLAYED, OLS),
    reads=frozenset({"moments"}),
    needs_horizon=False,
    shift_aware=False,
)
