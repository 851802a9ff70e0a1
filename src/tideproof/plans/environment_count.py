"""Number of environments that a claim about environments like those of a pilot needs.

If differences between arms vary from environment to environment, more pulls in the same environments only
tell which arm was the best there. What matters is then the number of environments, by the power of a paired
t-test with one difference for each environment.
"""

from __future__ import annotations

import math

from tideproof.plans.plan_question import Question

FEWEST_ENVIRONMENTS = 2  # a t-test needs two differences
MOST_ENVIRONMENTS = 1_000_000


def paired_test_power(environments: int, effect: float, alpha: float) -> float:
    """Return the power of a one-sided paired t-test at the level `alpha`.

    `effect` is the mean of a difference, divided by its standard deviation from environment to environment.

    >>> round(paired_test_power(6, 1.0, 0.025), 3)  # scipy.stats.nct.sf(2.571, 5, sqrt(6))
    0.507
    """
    from scipy.special import nctdtr, stdtrit

    freedom = environments - 1.0
    bar = float(stdtrit(freedom, 1.0 - alpha))
    return 1.0 - float(nctdtr(freedom, effect * math.sqrt(environments), bar))


def needed_environments(question: Question, power: float) -> int | None:
    """Return the number of environments after which the best arm beats another one with the given power.

    The difference of the two arms in an environment has the variance 2 omega^2 + (1 + s^2)/m, in units of the
    noise variance. omega is the standard deviation of the interaction, s the standard deviation of the best
    arm, and m the number of pulls of each arm in an environment. The level of the test is the allowed error,
    divided by the number of other arms; two arms are tested on both sides.

    None without interaction; and if more than a million environments would be needed.
    """
    if not question.interaction > 0.0:
        return None
    each = max(question.size / question.arms, 1.0)
    variance = 2.0 * question.interaction**2 + (1.0 + question.best_sigma**2) / each
    effect = question.gap / math.sqrt(variance)
    alpha = question.error / max(question.arms - 1, 2)

    def enough(environments: int) -> bool:
        return paired_test_power(environments, effect, alpha) >= power

    low, high = FEWEST_ENVIRONMENTS - 1, FEWEST_ENVIRONMENTS
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_ENVIRONMENTS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
