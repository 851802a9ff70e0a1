"""An even split by a formula: how often it errs, and how many pulls it needs. A first guess for all else."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tideproof.plans.question import Question
from tideproof.stats.inference import critical_values

_STEP, _END = 0.05, 9.0  # of the trapezoid rule, in standard deviations
POWER = 0.8  # what people mean by a test that is large enough


def even_error(question: Question, pulls: float, bar: float = 0.0) -> float:
    """Return how often a wrong arm is selected if every arm gets as many of the pulls.

    With n pulls each, e of them worth their while and z the noise of the best arm's mean, s its standard
    deviation over that of the others,

        integral of phi(z) (1 - Phi(sqrt(e n) gap + s z - b)^(K - 1)) dz,

    b = 0. If the best arm has to be ahead of each other one by `bar` standard errors, b = bar sqrt(1 + s^2).

    An environment of L pulls, n_i of arm i, tells as much as e L pulls without a shift,
    e = (1 - sum (n_i/L)^2) K/(K - 1): for L < K that of balanced incomplete blocks, for multiples of K 1.

    >>> two = Question(2, 0.5, 1.0, (50, 50), 0.05)
    >>> round(even_error(two, 32), 6)  # Phi(-0.5 / sqrt(1/16 + 1/16))
    0.07865
    """
    from scipy.special import log_ndtr

    K = question.arms
    z = np.arange(-_END, _END + _STEP, _STEP)
    ahead = math.sqrt(_worth(K, question.size) * pulls / K) * question.gap
    ahead -= bar * math.hypot(1.0, question.best_sigma)
    right = (K - 1) * log_ndtr(ahead + question.best_sigma * z)
    return float(-np.expm1(right) @ np.exp(-0.5 * z * z)) * _STEP / math.sqrt(2.0 * math.pi)


def _worth(arms: int, size: float) -> float:
    """Return e for environments of this size.

    >>> _worth(3, 2), round(_worth(3, 5), 3), _worth(3, 6), _worth(3, math.inf)
    (0.75, 0.96, 1.0, 1.0)
    """
    if math.isinf(size):
        return 1.0
    length = max(2, round(size))
    each, more = divmod(length, arms)
    squares = (arms - more) * each**2 + more * (each + 1) ** 2
    return (1.0 - squares / length**2) * arms / (arms - 1.0)


def even_budget(question: Question) -> int:
    """Return how many pulls an even split needs, by the formula.

    >>> even_budget(Question(2, 0.5, 1.0, (50, 50), 0.05))
    44
    """
    return _least(question.arms, lambda pulls: even_error(question, pulls) <= question.error)


def named_budget(question: Question) -> int:
    """Return after how many pulls of an even split `fit` names the best arm in 80 % of tests, by the formula.

    It does where all others are excluded, each by Dunnett's bar with it as the control; of two arms both
    sides count.

    >>> named_budget(Question(2, 0.5, 1.0, (50, 50), 0.05))  # 2 (1.96 + 0.84)^2 / 0.5^2 each
    128
    """
    K = question.arms
    level = 1.0 - (question.error if K > 2 else 0.5 * question.error)

    def often_enough(pulls: int) -> bool:
        freedom = np.full(K, max(1.0, pulls - K - pulls / question.size))
        [bar] = critical_values(np.eye(K), freedom, level, np.array([0]))[:1]
        return even_error(question, pulls, float(bar)) <= 1.0 - POWER

    return _least(K, often_enough)


def _least(arms: int, enough: Callable[[int], bool]) -> int:
    """Return the least number of pulls that is enough."""
    low, high = 0, 2 * arms
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
