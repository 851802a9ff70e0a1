"""Choice of the next arm and environment: the pair that best reduces uncertainty about the best arm.

With b the best estimate, V_k the variance of the lead of b over arm k in the finite set of N environments,
and A the information matrix of all pairs asked for:

    V_k = noise ((e_b - e_k)' A^-1 (e_b - e_k) - 2 / N),   u_k = A^-1 (e_b - e_k)
    w_k = exp(-h lead_k^2 / (2 V_k)) / sqrt(V_k),          h = sqrt(T / (T - t + 0.02 T))
    G = sum_k w_k u_k u_k',   value(M) = tr G_MM - ratio / (1 + ratio |M|) 1' G_MM 1

The value of a set M of arms in one environment is what asking for M adds to the information about the leads
that matter. T is the budget and t the number of pairs asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.kernels.simulate.pair_rules import FULL_ENVIRONMENTS, LOOKAHEAD, ROUNDING, TIE
from tideproof.policies.environment_choice.arm_environment_pairs import PairTable
from tideproof.policies.environment_choice.score_model import ScoreModel, information


def first_environments(arms: int, budget: int) -> int:
    """Return in how many environments all arms are pulled before pairs are chosen by their value."""
    return max(1, min(FULL_ENVIRONMENTS, budget // (4 * arms)))


def next_pair(table: PairTable, model: ScoreModel | None, budget: int) -> tuple[int, int] | None:
    """Return the environment and the active arm (as indices) whose score would be most informative.

    The result is None if no pair is left.
    """
    asked, free, counts, numbers = table.patterns()
    arms = asked.shape[1]
    rows = first_environments(arms, budget)
    start = np.argwhere(table.status[:rows, table.active] == 0)
    if len(start):
        return int(start[0, 0]), int(start[0, 1])
    if not free.any():
        return None
    spent = float(counts @ asked.sum(axis=1))
    used = np.flatnonzero(asked.any(axis=1))
    if model is None:
        return _first_free(table)
    weights = _weights(table, model, asked[used], counts[used], spent, budget)
    if weights is None:
        return _first_free(table)
    pattern, arm = _best_gain(weights, asked, free, model.ratio)
    return table.first_row(int(numbers[pattern])), arm


def _first_free(table: PairTable) -> tuple[int, int]:
    row, arm = np.argwhere(table.status[:, table.active] == 0)[0]
    return int(row), int(arm)


def _weights(
    table: PairTable, model: ScoreModel, asked: Floats, counts: Floats, spent: float, budget: int
) -> Floats | None:
    """Return a matrix that weights arm differences by their relevance; None if the best arm is certain."""
    size = len(table.labels)
    inverse: Floats = np.linalg.inv(information(asked, counts, model.ratio)).astype(float)
    best = int(np.argmax(model.mean))
    heat = float(np.sqrt(budget / max(budget - spent + 0.02 * budget, 1.0)))
    lead = model.mean[best] - model.mean
    known, ahead = (_lead_variances(each, best, model.noise, size) for each in (model.inverse, inverse))
    uncertain = (np.arange(lead.size) != best) & (ahead > 1e-9 * model.noise)
    if not uncertain.any():
        return None
    known = np.maximum(known, ahead)
    logs = np.full(lead.size, -np.inf)
    logs[uncertain] = -0.5 * heat * lead[uncertain] ** 2 / known[uncertain] - 0.5 * np.log(ahead[uncertain])
    weight = np.exp(logs - logs.max())
    directions = inverse[:, [best]] - inverse
    return np.asarray((directions * weight) @ directions.T)


def _lead_variances(inverse: Floats, best: int, noise: float, size: int) -> Floats:
    """Return the variance of the best arm's estimated lead over each arm, in a finite set of environments."""
    own = inverse[best, best] + np.diag(inverse) - 2.0 * inverse[best]
    return np.asarray(noise * (own - 2.0 / size))


def _best_gain(weights: Floats, asked: Floats, free: Any, ratio: float) -> tuple[int, int]:
    """Return which kind of environment and which arm would give the most information per pull.

    Arms are added greedily, several at once where that gains more per call. A new environment may be asked
    of any number of arms, as its first call alone tells little.
    """
    inside, size = asked.copy(), asked.sum(axis=1)
    own = np.diag(weights)
    cross = inside @ weights
    trace, total = inside @ own, (cross * inside).sum(axis=1)
    start = trace - ratio / (1.0 + ratio * size) * total
    first = np.full(len(asked), -1)
    gain = np.full(len(asked), -np.inf)
    open_, index = free.copy(), np.flatnonzero(free.any(axis=1))
    cost, found = 0, np.zeros(len(asked), np.int64)
    while len(index):
        cost += 1
        shrink = ratio / (1.0 + ratio * (size[index] + 1.0))
        more = total[index, None] + own + 2.0 * cross[index]
        value = np.where(open_[index], trace[index, None] + own - shrink[:, None] * more, -np.inf)
        arm = value.argmax(axis=1)
        rate = (value[np.arange(len(index)), arm] - start[index]) / cost
        if cost == 1:
            first[index] = arm
        better = rate > gain[index] * (1.0 + 1e-12)
        gain[index[better]], found[index[better]] = rate[better], cost
        trace[index] += own[arm]
        total[index] = more[np.arange(len(index)), arm]
        cross[index] += weights[arm]
        size[index] += 1.0
        open_[index, arm] = False
        patient = (cost < found[index] + 2) & ((cost < LOOKAHEAD) | (asked[index].sum(axis=1) == 0.0))
        index = index[patient & open_[index].any(axis=1)]
    best = int(np.argmax(gain >= gain.max() - ROUNDING * abs(gain.max())))
    empty = np.flatnonzero(asked.sum(axis=1) == 0.0)
    if len(empty) and gain[empty[0]] * (1.0 + TIE) >= gain[best]:
        best = int(empty[0])
    return best, int(first[best])
