"""Statistical information about arm differences that a growing log held at past looks, reconstructed now.

A boundary needs the information at past looks as a share of the information now. If the plan comes from a
file, the file holds the variances of the differences at each look. Otherwise two things are known: how far
the test was at each look, and how the information is distributed over the environments of the log. If it has
a whole number of environments for each unit of the plan (14 days after look 14), the log at a past look is
its first environments, in the order in which they are listed. Environments may also be something else than
periods, which all grow from look to look. So the share is the smaller one of that of the first environments
and that of the plan: less information at past looks makes boundaries wider.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.cells import Cells
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.pairs.exact_pairs import ExactPairs
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.variance.variance_models import Estimate

_MOST_ARMS = 30  # with more arms, the information of an environment is its number of rewards
_TINY = 1e-300  # weight of a cell without an expected event


def past_information(plan: Looks, found: Estimate, cells: Cells) -> Floats:
    """Return the information about each arm difference at each look, as a share of that now: (K, K, L)."""
    made = plan.made
    if plan.past_variances is not None:
        return _recorded_shares(plan, found, cells)
    planned = np.broadcast_to(made / made[-1], (cells.K, cells.K, made.size))
    if made[-1] != round(made[-1]) or cells.J % int(made[-1]):
        return planned
    each = cells.J // int(made[-1])
    if not np.all(made == np.round(made)):
        return planned
    growing = np.cumsum(environment_information(found, cells), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = growing[made.astype(np.int64) * each - 1] / growing[-1]
    first = np.moveaxis(np.where(np.isfinite(shares), shares, 1.0), 0, -1)
    return np.asarray(np.minimum(first, planned))


def environment_information(found: Estimate, cells: Cells) -> Floats:
    """Return each environment's information about each arm difference, up to a factor: (J, K, K).

    It is the variance of the pair's score that is due to the environment. Without a score, and with many
    arms, it is the number of rewards, for all pairs.
    """
    tests = found.pairs.tests if isinstance(found.pairs, ExactPairs) else found.pairs
    if not isinstance(tests, PairTests) or cells.K > _MOST_ARMS:
        return np.broadcast_to(cells.sizes[:, None, None], (cells.J, cells.K, cells.K))
    c, P = tests.scale.cells, tests.scale.P
    centre = c.weighted(np.maximum(c.n * tests.scale.slope(tests.scale.fitted), _TINY))
    noise = c.n * tests.variance
    information = np.zeros((c.J, c.K, c.K))
    for i in range(c.K):
        for k in range(i):
            g = centre.centred((P[:, i] - P[:, k])[c.arm])
            information[:, i, k] = information[:, k, i] = c.by_environment(noise * g * g)
    return information


def pair_errors(found: Estimate, cells: Cells) -> dict[tuple[str, str], float]:
    """Return the variance of the estimated difference of each pair of arms, by the arms' names."""
    V, names = pair_variances(found.covariance), [str(arm) for arm in cells.arms]
    return {
        (names[i], names[k]): float(V[i, k]) for i in range(cells.K) for k in range(i) if np.isfinite(V[i, k])
    }


def _recorded_shares(plan: Looks, found: Estimate, cells: Cells) -> Floats:
    """Return the information at past looks as a share of that now, from variances recorded in a file.

    A pair that was not compared at a look had no information.
    """
    past = plan.past_variances or ()
    now = pair_errors(found, cells)
    names = [str(arm) for arm in cells.arms]
    shares = np.ones((cells.K, cells.K, len(past) + 1))
    for look, variances in enumerate(past):
        for (a, b), variance in now.items():
            before = variances.get((a, b), variances.get((b, a), np.inf))
            i, k = names.index(a), names.index(b)
            share = min(1.0, variance / before) if before > 0.0 else 1.0
            shares[i, k, look] = shares[k, i, look] = share
    return shares
