"""A policy for comparison with `robust:contrast`: `contrast` that recognises outlying cells at their first pull.

It recognises them by the size of a reward, so its worlds need outlying cells that are off by more than `FAR`.
"""

from dataclasses import replace

import tideproof as tp
from tideproof.core.kernel_array_access import add_at
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.fit import fixed_effects
from tideproof.kernels.fit.outlying_cells import (
    ADDED_VARIANCE,
    _accepted_arm,
    _along,
    _count_environment,
    _noise,
    _shares,
    _update,
)
from tideproof.kernels.fit.outlying_cells import pull_here as pull_among_believed
from tideproof.policies.statistics_models import ROBUST, STATISTICS

FAR = 1e5
NAME = "told cells:"


@kernel
def observe(fit, slot, arm, n, mean, squares):
    """Record rewards, unless their cell is outlying."""
    doubt, c, before = fit.doubt, slot.counts[arm], slot.means[arm]
    believed = 0
    for k in range(slot.counts.size):
        believed += 1 if slot.counts[k] > 0.0 and slot.weights[k] == 0.0 else 0
    if fit.told[0] == 0:
        slot.first[0] = 1
    fit.told[0] += n
    fit.rss[0] += squares
    if c > 0.0:
        doubt.inside[0] += c * n / (c + n) * (mean - before) * (mean - before)
        doubt.freedom[0] += 1
    if slot.first[0] == 1:
        add_at(fit.first, arm, n)
        fit.first_size[0] += n
    if slot.size[0] == 0.0:
        fit.environments[0] += 1
    if abs(mean) > FAR:
        slot.weights[arm] = 1.0
    if believed > 0 and slot.weights[arm] == 0.0:
        total, centre = _shares(doubt, slot)
        fitted, quadratic = _along(fit, arm)
        if c == 0.0:
            _count_environment(doubt, slot, arm)
        _update(fit, arm, _accepted_arm(doubt), mean - centre - fitted, 1.0 / n + 1.0 / total + quadratic)
    elif slot.size[0] > 0.0 and (c > 0.0 or slot.weights[arm] != 0.0):
        fit.rss[0] += n * _noise(doubt)
    for i in range(fit.mu.size):
        fit.mu[i] = doubt.mu[i]
        for k in range(fit.mu.size):
            fit.P[i, k] = doubt.P[i, k]
        if i != arm and slot.counts[i] == 0.0 and fit.environments[0] > 1 and doubt.seen[i] < 1:
            fit.P[i, i] += ADDED_VARIANCE


@kernel
def pull_here(fit, slot, here):
    """Prepare the gain of a pull here; an environment with outlying cells only counts as one with the best rival."""
    P, believed, leader, K = fit.P, 0, 0, here.size
    for i in range(K):
        believed += 1 if slot.counts[i] != 0.0 and slot.weights[i] == 0.0 else 0
        if slot.weights[leader] != 0.0 or (fit.mu[i] > fit.mu[leader] and slot.weights[i] == 0.0):
            leader = i
    if believed > 0:
        return pull_among_believed(fit, slot, here)
    for i in range(K):
        here[i] = P[leader, i]
    return 2.0 + P[leader, leader]


def told_cells():
    """Return the policy that recognises outlying cells."""
    plain = STATISTICS[ROBUST]
    kernels = {fixed_effects.observe: observe, fixed_effects.pull_here: pull_here}
    STATISTICS[NAME] = replace(plain, prefix=NAME, kernels={**plain.kernels, **kernels})
    ours = tp.policy(ROBUST + "contrast").policy
    return tp.policy(replace(ours, name="told", tide=NAME), label="told")
