"""GrowthBook's bandit: top-two Thompson weights, updated once a period, from means weighted by period.

A period j lasts from one update of the weights to the next and had m_j of all M visitors. An arm's mean is

    sum_j (m_j / M) xbar_ij,  with the variance  sum_j (m_j / M)^2 s_ij^2 / n_ij,

over the periods in which the arm was played. The weights of the other periods are not redistributed: a
period without the arm counts as one in which its mean was zero. (The variance of a period with one visit
counts as zero, too.) An arm's weight is its share of the first and second places in draws from these normal
posteriors, which have a flat prior. Weights are raised to at least 1 % and then divided by their sum. They
stay equal until there are 100 visitors for each arm, and all that time is one period.

This follows GrowthBook's source of November 2026: `packages/stats/gbstats/bayesian/bandits.py` (weights,
`top_two`, `min_variation_weight`, 100 visitors), `bandits_previous.py` beside it (means by period in
Python, where the mean of an absent arm is set to zero) and the SQL that replaced it,
`packages/back-end/src/integrations/sql/ctes/ bandit-statistics-cte.ts` (a sum over existing rows, of
weights that add up to one over all periods). There, 10,000 draws make the weights; here their number is an
option. Its documentation recommends an update a day or less often. By default, days are the periods here,
which is favourable to its estimator: it then knows when the tide changes.

Selection `growthbook` takes the largest of its means, and `period` the same but weighted over the periods
with the arm alone (if periods are days); `mean`, `ols` and `most-played` are other selections from the same
visitors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.plugin import (
    LOWEST,
    MEAN,
    MOST_PLAYED,
    OLS,
    PERIOD,
    Float1,
    FloatK,
    InputError,
    Int1,
    Policy,
    Selection,
    below,
    contend,
    kernel,
    normal,
    require_finite,
    require_whole_number,
    uniform,
)


class Params(NamedTuple):
    """Parameters of the bandit.

    Attributes
    ----------
    every : visitors in a period, 0 for environments.
    enough : visitors of each arm before weights change.
    draws, least : number of draws, and the least weight.
    zero : whether a period without the arm counts as zero.
    """

    every: int
    enough: int
    draws: int
    least: float
    zero: int


class State(NamedTuple):
    """State of the bandit: the weights, sums over past periods, and the current period.

    Attributes
    ----------
    ready : (1,) 1 once weights differ.
    weights : (K,) the current weights.
    total : (1,) M of past periods.
    sums, variances : (K,) sum_j m_j xbar_ij and sum_j m_j^2 s_ij^2/n_ij over past periods.
    seen : (K,) sum_j m_j over past periods with the arm.
    size : (1,) m_j of the current period.
    counts, means, squares : (K,) n_ij, xbar_ij and squared deviations of the current period.
    drawn : (K,) scratch space.
    """

    ready: Int1
    weights: FloatK
    total: Float1
    sums: FloatK
    variances: FloatK
    seen: FloatK
    size: Float1
    counts: FloatK
    means: FloatK
    squares: FloatK
    drawn: FloatK


def configure(
    arms: int,
    horizon: int | None,
    selection: str,
    *,
    every: int = 0,
    enough: int = 100,
    draws: int = 1000,
    least: float = 0.01,
    zero: bool = True,
) -> Params:
    """Set how often weights change, the visitors of each arm before they do, and how they are computed.

    With `zero=False`, which GrowthBook does not do, means are over the periods that had the arm alone.
    """
    if not 0.0 <= require_finite("least", least) < 0.5:
        raise InputError(f"least must be a weight between 0 and 0.5, not {least!r}")
    numbers = (
        require_whole_number("every", every, 0),
        require_whole_number("enough", enough, 2),
        require_whole_number("draws", draws, 1),
    )
    return Params(*numbers, least, int(zero))


@kernel
def ask(params, state, data, slot, draw):
    """Draw an arm by the current weights."""
    K = data.pulls.size
    if state.ready[0] == 0:
        return below(draw, 0, K)
    left = uniform(draw, 0)
    for i in range(K - 1):
        left -= state.weights[i]
        if left < 0.0:
            return i
    return K - 1


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Close a finished period, compute the weights, and record the reward."""
    if state.size[0] > 0.0 and state.total[0] + state.size[0] >= params.enough * data.pulls.size:
        over = slot.size[0] == 0.0 if params.every == 0 else state.size[0] >= params.every
        if over:
            _close(state)
            _weigh(params, state, draw)
    told = data.told[0]
    if told == 0:  # a pending pull
        return
    before = state.counts[arm]
    state.counts[arm] = before + told
    gap = data.reward[0] - state.means[arm]
    state.means[arm] += gap * told / state.counts[arm]
    state.squares[arm] += data.squares[0] + gap * gap * before * told / state.counts[arm]
    state.size[0] += told


@kernel
def _close(state):
    """Add the current period to the sums and start a new one."""
    size = state.size[0]
    for i in range(state.sums.size):
        n = state.counts[i]
        if n > 0.0:
            state.sums[i] += size * state.means[i]
            state.seen[i] += size
        if n > 1.0:
            state.variances[i] += size * size * state.squares[i] / (n - 1.0) / n
        state.counts[i] = 0.0
        state.means[i] = 0.0
        state.squares[i] = 0.0
    state.total[0] += size
    state.size[0] = 0.0


@kernel
def _weigh(params, state, draw):
    """Count first and second places in draws from the posteriors."""
    K = state.weights.size
    total = state.total[0]
    for i in range(K):
        if state.variances[i] <= 0.0:
            return
    state.ready[0] = 1
    for i in range(K):
        state.weights[i] = 0.0
    for d in range(params.draws):
        for i in range(K):
            z = normal(draw, K + d * K + i)
            weight = total if params.zero == 1 else state.seen[i]
            state.drawn[i] = (state.sums[i] + math.sqrt(state.variances[i]) * z) / weight
        for _ in range(2):
            best = 0
            for i in range(1, K):
                if state.drawn[i] > state.drawn[best]:
                    best = i
            state.weights[best] += 0.5 / params.draws
            state.drawn[best] = LOWEST
    whole_weight = 0.0
    for i in range(K):
        state.weights[i] = max(state.weights[i], params.least)
        whole_weight += state.weights[i]
    for i in range(K):
        state.weights[i] /= whole_weight


@kernel
def select(params, state, data, draw):
    """Return the arm with the largest period-weighted mean, including the current period."""
    best, top, ties = -1, 0.0, 0
    for i in range(state.sums.size):
        value = state.sums[i] + state.size[0] * state.means[i]
        if params.zero == 0:
            seen = state.seen[i] + (state.size[0] if state.counts[i] > 0.0 else 0.0)
            value = value / seen if seen > 0.0 else LOWEST
        best, top, ties = contend(best, top, ties, i, value, draw)
    return best


@kernel
def _always(data):
    return True


ITS_OWN = Selection(
    "growthbook", "the largest mean weighted by period, zero where absent", select, _always, frozenset()
)

POLICY = Policy(
    name="growthbook",
    idea="top-two Thompson weights once a period, from means weighted by period",
    reference="GrowthBook, bandits",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms,
    selections=(ITS_OWN, MEAN, MOST_PLAYED, PERIOD, OLS),
    reads=frozenset({"reward"}),
    needs_horizon=False,
    shift_aware=False,
)
