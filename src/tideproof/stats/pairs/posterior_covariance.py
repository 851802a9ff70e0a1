"""Covariance of arm effects in which an arm counts as noisier if few rewards say how noisy it is.

After an adaptive policy each arm has its own degrees of freedom, but the posterior distribution of the arm
effects (`p_best`) has one number of them. The variances of arms with fewer make up for the difference.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.student_inference import student_from_normal
from tideproof.stats.pairs.pair_tests import MeasuredRewards, PairTests
from tideproof.stats.solve.least_squares import Solution, meat, sandwich

_AT = 1.96  # z-score at which a widened normal distribution and Student's t have the same tail


def posterior_covariance(pairs: PairTests, solution: Solution) -> Floats:
    """Return the covariance of arm effects, with the variances of arms widened to the tails of Student's t.

    The noise of an arm with f degrees of freedom counts (t_f/z)^2 times, with t_f the point of Student's t
    distribution that has the tail probability of the normal point z = 1.96. The variances of 0/1 rewards
    follow from their means, and are not widened.
    """
    law, cells = pairs.law, pairs.scale.cells
    if not isinstance(law, MeasuredRewards) or not np.all(law.spreads.arm_freedom > 0.0):
        return pairs.covariance
    wider = np.array([student_from_normal(_AT, nu) / _AT for nu in law.spreads.arm_freedom.tolist()]) ** 2
    middle = meat(cells, cells.n * pairs.variance * wider[cells.arm])
    return sandwich(solution.P, middle, solution.short)
