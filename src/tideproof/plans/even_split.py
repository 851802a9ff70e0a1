"""Formulas for tests that split pulls evenly: their budget, and the probability of selecting a wrong arm.

The formula for the budget is the first guess of the simulations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.plans.plan_question import Question
from tideproof.stats.best.student_inference import dunnett_constants, normal_from_student
from tideproof.stats.pairs.pair_tests import FEWEST_EVENTS

_STEP, _END = 0.05, 9.0  # step and end of the numerical integration, in standard deviations
_SIGMAS = 100  # equally likely values that represent the distribution of the estimated sigma
POWER = 0.8  # the customary power of a test


def even_error(question: Question, pulls: int) -> float:
    """Return the probability that a test selects a wrong arm if all arms get equally many pulls.

    >>> two = Question(2, 0.5, 1.0, (50, 50), 0.05)
    >>> round(even_error(two, 32), 6)  # Phi(-0.5 / sqrt(1/16 + 1/16))
    0.07865
    """
    return _probability_of_no_lead(question, pulls, np.zeros(1))


def unnamed_probability(question: Question, pulls: int) -> float:
    """Return the probability that an analysis does not name the best arm if pulls are split evenly.

    `fit` names the best arm if it excludes all others, each by Dunnett's critical value with the best arm as
    the control; with two arms, both sides of the test count. The critical value is in standard errors with an
    estimated sigma, whose square is distributed as chi-squared divided by its N - K - J + 1 degrees of
    freedom. For 0/1 rewards sigma is not estimated: the tests use the variance that both arms would have if
    they were equal, and arms with only a handful of events are not excluded.

    >>> two = Question(2, 2.0, 1.0, (5, 5), 0.05)
    >>> round(unnamed_probability(two, 10), 3)  # scipy.stats.nct.cdf(2.365, 7, 2.0 * sqrt(0.96 * 10) / 2)
    0.243
    """
    from scipy.special import chdtri

    K = question.arms
    degrees_of_freedom = pulls - K - math.ceil(pulls / _environment_length(question.size, pulls)) + 1
    if degrees_of_freedom < 1:
        return 1.0
    confidence = 1.0 - (question.error if K > 2 else 0.5 * question.error)
    bar = float(
        dunnett_constants(np.eye(K), np.full(K, float(degrees_of_freedom)), confidence, np.array([0]))[0]
    )
    if question.rates is not None:
        missed = _probability_of_no_lead(
            question,
            pulls,
            _pooled_error_ratio(question) * np.array([normal_from_student(bar, degrees_of_freedom)]),
        )
        return 1.0 - (1.0 - missed) * _probability_of_enough_events(question, pulls)
    middles = (np.arange(_SIGMAS) + 0.5) / _SIGMAS
    return _probability_of_no_lead(
        question, pulls, bar * np.sqrt(chdtri(degrees_of_freedom, middles) / degrees_of_freedom)
    )


def _pooled_error_ratio(question: Question) -> float:
    """Return the pooled standard error of a difference of two rates, divided by the true standard error.

    The pooled one is computed as if both arms had the mean of the two rates.
    """
    assert question.rates is not None
    low, high = question.rates
    middle = 0.5 * (low + high)
    return math.sqrt(2.0 * middle * (1.0 - middle) / (low * (1.0 - low) + high * (1.0 - high)))


def _probability_of_enough_events(question: Question, pulls: int) -> float:
    """Return the probability that all arms have enough rewards of 1 and of 0 for a test.

    The best arm and each other arm must have enough of them together. Events are ones and zeros; their number
    is treated as normal.
    """
    from scipy.special import ndtr

    assert question.rates is not None
    low, high = question.rates
    n = pulls / question.arms
    deviation = math.sqrt(n * (low * (1.0 - low) + high * (1.0 - high)))
    fewest = n * min(low + high, 2.0 - low - high)
    return float(ndtr((fewest - FEWEST_EVENTS + 0.5) / deviation)) ** (question.arms - 1)


def _probability_of_no_lead(question: Question, pulls: int, bars: Floats) -> float:
    """Return the probability that the best arm is not ahead of every other by `bars` standard errors.

    With n pulls of each arm, e the efficiency of a pull, z the noise of the mean of the best arm, and s the
    ratio of its standard deviation to that of the others, it is

        integral of phi(z) (1 - Phi(sqrt(e n) gap + s z - b)^(K - 1)) dz,   b = bar sqrt(1 + s^2),

    averaged over the bars.
    """
    from scipy.special import log_ndtr

    K = question.arms
    z = np.arange(-_END, _END + _STEP, _STEP)
    s = question.best_sigma
    gap = math.sqrt(pull_efficiency(K, question.size, pulls) * pulls / K) * question.gap
    ahead = gap + s * z - math.hypot(1.0, s) * bars[:, None]
    wrong = -np.expm1((K - 1) * log_ndtr(ahead)).mean(axis=0)
    return float(wrong @ np.exp(-0.5 * z * z)) * _STEP / math.sqrt(2.0 * math.pi)


def pull_efficiency(arms: int, size: float, pulls: int) -> float:
    """Return the statistical information from a pull under shifts, relative to a pull without shifts.

    This ratio is the efficiency e. Arms take turns in rounds of random order. An environment of L pulls, n_i
    of arm i, gives as much information as (L - sum n_i^2/L) K/(K - 1) pulls. If it begins and ends in the
    middle of a round, with a and b pulls of these rounds, the expected sum of squares is larger by 2 a b/K
    than with whole rounds only. If the last round is incomplete, variances are those of the harmonic mean of
    the n_i. Environments that are too short for all arms contain no arm twice, and two arms share one only by
    chance, with probability p = (L - 1)/(K - 1). With c = (1 - p)/(p N), the variance of the eigenvalues of
    the information matrix, which follow a semicircle law, the mean of their inverses is larger by the factor
    2/(1 + sqrt(1 - 4 c)). For c > 1/4 arms share too few environments, and e = 0.

    >>> pull_efficiency(3, 6, 18), pull_efficiency(3, math.inf, 30)
    (1.0, 1.0)
    >>> pull_efficiency(2, 3, 12), pull_efficiency(3, 6, 2)
    (0.8888888888888888, 0.0)
    >>> round(pull_efficiency(3, 2, 120), 3), pull_efficiency(10, 2, 30)
    (0.744, 0.0)
    """
    if pulls < arms:
        return 0.0
    length = _environment_length(size, pulls)
    whole, rest = divmod(pulls, length)
    turn = np.arange(arms)  # after K environments, the next one begins at the same position of a round
    often = (whole - turn + arms - 1) // arms
    information = float(often @ _environment_information(arms, length, turn * length % arms))
    if rest:
        information += float(_environment_information(arms, rest, np.array([whole * length % arms]))[0])
    each, more = divmod(pulls, arms)
    even = arms**2 / (pulls * ((arms - more) / each + more / (each + 1)))
    return even * _connection_factor(arms, length, pulls) * information / pulls * arms / (arms - 1.0)


def _environment_information(arms: int, length: int, start: Ints) -> Floats:
    """Return the information on arm differences from one environment, by the arm with which it begins.

    The information of L pulls, n_i of arm i, is L - sum n_i^2/L. The environment has `length` pulls. `start`
    holds positions in the round of arms at which it may begin.
    """
    first = np.minimum(-start % arms, length)
    rounds, last = np.divmod(length - first, arms)
    squares = arms * rounds**2 + (2 * rounds + 1) * (first + last) + 2.0 * first * last / arms
    if length < arms:
        squares = np.full(start.size, float(length))
    return np.asarray(length - squares / length)


def _connection_factor(arms: int, length: int, pulls: int) -> float:
    """Return the factor by which information shrinks because environments are too short to contain all arms.

    It is 1 if every environment contains all arms, and 0 if arms share too few environments.
    """
    if length >= arms:
        return 1.0
    c = (arms - length) / (length - 1.0) / pulls
    return 0.5 + 0.5 * math.sqrt(1.0 - 4.0 * c) if c <= 0.25 else 0.0


def _environment_length(size: float, pulls: int) -> int:
    """Return the length of an environment as a whole number of pulls, at most the length of the test."""
    return pulls if size >= pulls else max(2, round(size))


def even_budget(question: Question) -> int:
    """Return, by formula, the budget at which an even split selects a wrong arm with the allowed probability.

    >>> even_budget(Question(2, 0.5, 1.0, (50, 50), 0.05))
    44
    """
    return _least(question.arms, lambda pulls: even_error(question, pulls) <= question.error)


def named_budget(question: Question) -> int:
    """Return the budget of an even split after which `fit` names the best arm in 80 % of tests.

    >>> named_budget(Question(2, 0.5, 1.0, (50, 50), 0.05))  # 2 (1.96 + 0.84)^2 / 0.5^2 each: 126, and sigma
    128
    """
    return _least(question.arms, lambda pulls: unnamed_probability(question, pulls) <= 1.0 - POWER)


def _least(arms: int, enough: Callable[[int], bool]) -> int:
    """Return the smallest number of pulls, one for each arm or more, for which `enough(pulls)` is true."""
    low, high = arms - 1, 2 * arms
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
