"""An even split by a formula: how often it errs, and how many pulls it needs. A first guess for all else."""

from __future__ import annotations

import math

import numpy as np

from tideproof.plans.question import Question

_STEP, _END = 0.05, 9.0  # of the trapezoid rule, in standard deviations


def even_error(question: Question, pulls: float) -> float:
    """Return how often a wrong arm is selected if every arm gets as many of the pulls.

    With n pulls each, e of them worth their while and z the noise of the best arm's mean, s its standard
    deviation over that of the others,

        integral of phi(z) (1 - Phi(sqrt(e n) gap + s z)^(K - 1)) dz.

    An environment of L < K pulls compares L arms, which is worth e = K (L - 1)/(L (K - 1)) of a pull each
    (the efficiency of balanced incomplete blocks); in a longer one next to all is.

    >>> two = Question(2, 0.5, 1.0, (50, 50), 0.05)
    >>> round(even_error(two, 32), 6)  # Phi(-0.5 / sqrt(1/16 + 1/16))
    0.07865
    """
    from scipy.special import log_ndtr

    K = question.arms
    worth = min(1.0, (1.0 - 1.0 / question.size) * K / (K - 1.0))
    z = np.arange(-_END, _END + _STEP, _STEP)
    right = (K - 1) * log_ndtr(math.sqrt(worth * pulls / K) * question.gap + question.best_sigma * z)
    return float(-np.expm1(right) @ np.exp(-0.5 * z * z)) * _STEP / math.sqrt(2.0 * math.pi)


def even_budget(question: Question) -> int:
    """Return how many pulls an even split needs, by the formula.

    >>> even_budget(Question(2, 0.5, 1.0, (50, 50), 0.05))
    44
    """
    low, high = 0, 2 * question.arms
    while even_error(question, high) > question.error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if even_error(question, middle) > question.error else (low, middle)
    return high
