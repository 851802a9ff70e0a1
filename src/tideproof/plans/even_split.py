"""An even split by a formula: how often it errs, and how many pulls it needs. A first guess for all else."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.plans.plan_question import Question
from tideproof.stats.best.student_inference import critical_values
from tideproof.stats.pairs.event_counts import HANDFUL
from tideproof.stats.pairs.skewed_tails import normal_from_student

_STEP, _END = 0.05, 9.0  # of the trapezoid rule, in standard deviations
_SIGMAS = 100  # values of a sigma that is measured, each as likely as the others
POWER = 0.8  # what people mean by a test that is large enough


def even_error(question: Question, pulls: int) -> float:
    """Return how often a wrong arm is selected if every arm gets as many of the pulls.

    >>> two = Question(2, 0.5, 1.0, (50, 50), 0.05)
    >>> round(even_error(two, 32), 6)  # Phi(-0.5 / sqrt(1/16 + 1/16))
    0.07865
    """
    return _behind(question, pulls, np.zeros(1))


def not_named(question: Question, pulls: int) -> float:
    """Return how often `fit` does not name the best arm after an even split.

    It does where all others are excluded, each by Dunnett's bar with it as the control; of two arms both
    sides count. The bar is in standard errors, of a sigma that is measured: its square is a chi-squared
    number over its N - K - J + 1 degrees of freedom. That of 0/1 rewards is not measured: tests go by how
    they would vary if both arms were alike, and a handful of events excludes nobody.

    >>> two = Question(2, 2.0, 1.0, (5, 5), 0.05)
    >>> round(not_named(two, 10), 3)  # scipy.stats.nct.cdf(2.365, 7, 2.0 * sqrt(0.96 * 10) / 2)
    0.243
    """
    from scipy.special import chdtri

    K = question.arms
    freedom = pulls - K - math.ceil(pulls / _each(question.size, pulls)) + 1
    if freedom < 1:
        return 1.0
    level = 1.0 - (question.error if K > 2 else 0.5 * question.error)
    bar = float(critical_values(np.eye(K), np.full(K, float(freedom)), level, np.array([0]))[0])
    if question.rates is not None:
        missed = _behind(question, pulls, _if_alike(question) * np.array([normal_from_student(bar, freedom)]))
        return 1.0 - (1.0 - missed) * _eventful(question, pulls)
    middles = (np.arange(_SIGMAS) + 0.5) / _SIGMAS
    return _behind(question, pulls, bar * np.sqrt(chdtri(freedom, middles) / freedom))


def _if_alike(question: Question) -> float:
    """Return the standard error of a difference of two rates if they were equal, over what it is."""
    assert question.rates is not None
    low, high = question.rates
    middle = 0.5 * (low + high)
    return math.sqrt(2.0 * middle * (1.0 - middle) / (low * (1.0 - low) + high * (1.0 - high)))


def _eventful(question: Question, pulls: int) -> float:
    """Return how often the best arm and each other have enough ones and zeros for a test, nearly normal."""
    from scipy.special import ndtr

    assert question.rates is not None
    low, high = question.rates
    n = pulls / question.arms
    spread = math.sqrt(n * (low * (1.0 - low) + high * (1.0 - high)))
    fewest = n * min(low + high, 2.0 - low - high)
    return float(ndtr((fewest - HANDFUL + 0.5) / spread)) ** (question.arms - 1)


def _behind(question: Question, pulls: int, bars: Floats) -> float:
    """Return how often the best arm is not ahead of every other by so many standard errors.

    With n pulls each, e of them worth their while, z the noise of the best arm's mean and s its standard
    deviation over that of the others,

        integral of phi(z) (1 - Phi(sqrt(e n) gap + s z - b)^(K - 1)) dz,   b = bar sqrt(1 + s^2),

    averaged over the bars.
    """
    from scipy.special import log_ndtr

    K = question.arms
    z = np.arange(-_END, _END + _STEP, _STEP)
    s = question.best_sigma
    gap = math.sqrt(_worth(K, question.size, pulls) * pulls / K) * question.gap
    ahead = gap + s * z - math.hypot(1.0, s) * bars[:, None]
    wrong = -np.expm1((K - 1) * log_ndtr(ahead)).mean(axis=0)
    return float(wrong @ np.exp(-0.5 * z * z)) * _STEP / math.sqrt(2.0 * math.pi)


def _worth(arms: int, size: float, pulls: int) -> float:
    """Return e: a pull in environments of this size tells as much as e pulls without a shift.

    Arms take turns in rounds of random order. An environment of L pulls, n_i of arm i, tells as much as
    (L - sum n_i^2/L) K/(K - 1) pulls. Where it begins and ends in the middle of a round, with a and b pulls
    of these, 2 a b/K more of the squares are expected than if it had whole rounds in between. Where the last
    round is cut short, variances go by the harmonic mean of the n_i. Environments too short for all arms
    have nobody twice, and two arms meet there by chance, p = (L - 1)/(K - 1) of the times: with
    c = (1 - p)/(p N), the variance of the information's eigenvalues, which lie on a semicircle, the mean of
    their inverses is 2/(1 + sqrt(1 - 4 c)) times as high; for c > 1/4 the arms hardly meet: e = 0.

    >>> _worth(3, 6, 18), _worth(3, math.inf, 30), _worth(2, 3, 12), _worth(3, 6, 2)
    (1.0, 1.0, 0.8888888888888888, 0.0)
    >>> round(_worth(3, 2, 120), 3), _worth(10, 2, 30)
    (0.744, 0.0)
    """
    if pulls < arms:
        return 0.0
    length = _each(size, pulls)
    whole, rest = divmod(pulls, length)
    turn = np.arange(arms)  # environments begin at the same place in a round again after so many
    often = (whole - turn + arms - 1) // arms
    told = float(often @ _told(arms, length, turn * length % arms))
    if rest:
        told += float(_told(arms, rest, np.array([whole * length % arms]))[0])
    each, more = divmod(pulls, arms)
    even = arms**2 / (pulls * ((arms - more) / each + more / (each + 1)))
    return even * _met(arms, length, pulls) * told / pulls * arms / (arms - 1.0)


def _told(arms: int, length: int, start: Ints) -> Floats:
    """Return L - sum n_i^2/L, as expected, of environments that begin at these places of a round."""
    first = np.minimum(-start % arms, length)
    rounds, last = np.divmod(length - first, arms)
    squares = arms * rounds**2 + (2 * rounds + 1) * (first + last) + 2.0 * first * last / arms
    if length < arms:
        squares = np.full(start.size, float(length))
    return np.asarray(length - squares / length)


def _met(arms: int, length: int, pulls: int) -> float:
    """Return by how much less is known because arms meet by chance; 1 where all meet in each environment."""
    if length >= arms:
        return 1.0
    c = (arms - length) / (length - 1.0) / pulls
    return 0.5 + 0.5 * math.sqrt(1.0 - 4.0 * c) if c <= 0.25 else 0.0


def _each(size: float, pulls: int) -> int:
    """Return the pulls of an environment, a whole number and not more than there are."""
    return pulls if size >= pulls else max(2, round(size))


def even_budget(question: Question) -> int:
    """Return how many pulls an even split needs, by the formula.

    >>> even_budget(Question(2, 0.5, 1.0, (50, 50), 0.05))
    44
    """
    return _least(question.arms, lambda pulls: even_error(question, pulls) <= question.error)


def named_budget(question: Question) -> int:
    """Return after how many pulls of an even split `fit` names the best arm in 80 % of tests, by the formula.

    >>> named_budget(Question(2, 0.5, 1.0, (50, 50), 0.05))  # 2 (1.96 + 0.84)^2 / 0.5^2 each: 126, and sigma
    128
    """
    return _least(question.arms, lambda pulls: not_named(question, pulls) <= 1.0 - POWER)


def _least(arms: int, enough: Callable[[int], bool]) -> int:
    """Return the least number of pulls that is enough; with fewer than there are arms nothing is."""
    low, high = arms - 1, 2 * arms
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
