"""Fixed-effects fit without outlying cells (one arm in one environment), so that wrong data do no harm.

A cell is one arm in one environment. The fit is that of `fixed_effects` over the accepted cells. Noise is
measured within cells, where a cell that is wrong as a whole does no harm. If the first reward of a cell is
more than five standard errors from its prediction, the cell is left out with all its later rewards. These
rules decide which data are wrong:

* If two cells contradict each other, the second is left out until a third arm is observed in that
  environment. If the third agrees with the excluded cell, the two cells change roles. No information is
  lost, because one cell alone says nothing about contrasts.
* If the earlier data of an arm are wrong, for example after a wrong first environment, the arm is left out
  by the same amount wherever it returns. Correct arms are more similar to each other than a wrong cell is to
  them. So the value nearer to the median of the other arms is accepted, unless the other value occurred in
  more than three times as many environments. The farther value is accepted only if it occurred in at least
  two more environments. After such a change, the earlier data of the arm are discarded.
* Before the noise is known, nothing can be left out. If the data accepted until then are inconsistent,
  everything is discarded at the first environment in which all arms were observed, and that environment is
  accepted.
* An arm that is not pulled again cannot be corrected. So an arm that was accepted in only one environment,
  or that is far from the others and was accepted in fewer than six, gets a very large variance in the next
  environment until it is observed there. If two cells contradict each other, so do all other arms.

Without outliers the result is that of `fixed_effects`, except for these additional pulls. In environments
of two pulls, outliers cannot be recognised and nothing is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_array_access import add_at
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, Int1, IntK
from tideproof.kernels.fit.fixed_effects import degrees_of_freedom, together

SQUARED_THRESHOLD = 25.0  # squared threshold: a cell more than five standard errors off is left out
MINIMUM_FREEDOM = 4  # minimum degrees of freedom within cells before a cell can be left out
ADDED_VARIANCE = 400.0  # variance, in noise variances, that is added for an arm with too few environments
ENOUGH_ENVIRONMENTS = 2  # number of environments that are enough for an arm near the others
ENOUGH_ENVIRONMENTS_FAR = 6  # number of environments that are enough for an arm far from the others
NEARER_WEIGHT = 3  # each environment with the value nearer to the median outweighs this many others
FARTHER_LEAD = 1  # the value farther from the median needs more than this many additional environments
EXCLUDED_VARIANCE = 1e6  # noise variances of a pull in a cell that is left out


class OutlierState(NamedTuple):
    """State of the detection of outlying cells (rewards of one arm in one environment).

    Attributes
    ----------
    inside, freedom : (1,) sum of squared deviations within cells, and its degrees of freedom.
    off : (K,) residual of each arm where it was left out last.
    spread : (K,) the variance of that residual, in noise variances.
    where : (K,) the number of that environment; 0 for none.
    times : (K,) number of environments with about the same residual.
    seen : (K,) number of environments in which the arm and at least one other arm were accepted.
    P, mu : the fit, without the additional variance that policies see.
    share : (K,) scratch.
    middle : (1,) the median of the estimates at the start of the environment.
    misfit : (1,) squared residuals of rewards that were accepted because the noise was not known yet.
    """

    inside: Float1
    freedom: Int1
    off: FloatK
    spread: FloatK
    where: IntK
    times: IntK
    seen: IntK
    P: FloatKK
    mu: FloatK
    share: FloatK
    middle: Float1
    misfit: Float1


class OutlierResistantFit(NamedTuple):
    """State of the outlier-resistant fit: the fields of `FixedEffects`, and those of outlier detection."""

    P: FloatKK
    mu: FloatK
    first: FloatK
    first_size: Float1
    rss: Float1
    work: FloatK
    group: IntK
    told: Int1
    environments: Int1
    joins: Int1
    doubt: OutlierState


@kernel
def observe(fit, slot, arm, n, mean, squares):
    """Update the fit with `n` rewards of `arm`, unless the arm's rewards in this environment are outlying."""
    doubt = fit.doubt
    if fit.told[0] == 0:
        slot.first[0] = 1
    fit.told[0] += n
    fit.rss[0] += squares
    c, before = slot.counts[arm], slot.means[arm]
    doubt.inside[0] += squares
    doubt.freedom[0] += n - 1
    if c > 0.0:
        doubt.inside[0] += c * n / (c + n) * (mean - before) * (mean - before)
        doubt.freedom[0] += 1
    if slot.first[0] == 1:
        add_at(fit.first, arm, n)
        fit.first_size[0] += n
    if slot.size[0] == 0.0:
        fit.environments[0] += 1
        slot.epoch[0] = fit.environments[0]
        doubt.middle[0] = median_estimate(doubt.mu, -1)
    elif slot.weights[arm] != 0.0 or not _accept(fit, slot, arm, c, n, mean):
        fit.rss[0] += n * _noise(doubt)  # an excluded reward adds the expected amount
        slot.weights[arm] = 1.0
        _reconsider_cell(fit, slot, arm, c + n, before + (mean - before) * (n / (c + n)))
    elif c == 0.0:
        for k in range(slot.counts.size):  # judge arms again that were left out by only one other cell
            if slot.counts[k] > 0.0 and slot.weights[k] != 0.0:
                _reconsider_arm(fit, slot, k, slot.counts[k], slot.means[k])
    if doubt.misfit[0] > 0.0 and doubt.freedom[0] >= MINIMUM_FREEDOM:
        _restart(fit, slot, arm, c + n, before + (mean - before) * (n / (c + n)))
    _read(fit, slot, arm)


@kernel
def place(fit, slot, arm, n):
    """Update the outlier-resistant fit for `n` pending pulls of `arm`, as if their residual were 0."""
    if slot.first[0] == 1:
        add_at(fit.first, arm, n)
        fit.first_size[0] += n
    if slot.size[0] > 0.0 and slot.weights[arm] == 0.0:
        total, _ = _shares(fit.doubt, slot)
        _, quadratic = _along(fit, arm)
        _update(fit, arm, _accepted_arm(fit.doubt), 0.0, 1.0 / n + 1.0 / total + quadratic)
    _read(fit, slot, arm)


@kernel
def pull_here(fit, slot, here):
    """Precompute how much one more pull in this environment would reduce the variances of arm differences.

    See `fixed_effects.pull_here` for the results. Only accepted cells count.
    """
    P, counts, K = fit.P, slot.counts, here.size
    total, quadratic = 0.0, 0.0
    for i in range(K):
        here[i] = 0.0
    for k in range(K):
        if counts[k] != 0.0 and slot.weights[k] == 0.0:
            total += counts[k]
            for i in range(K):
                here[i] += counts[k] * P[k, i]
    for k in range(K):
        here[k] /= total
    for k in range(K):
        if slot.weights[k] == 0.0:
            quadratic += counts[k] / total * here[k]
    return 1.0 + 1.0 / total + quadratic


@kernel
def pull_noise(fit, slot, arm):
    """Return the extra noise variance of a pull: very large if the arm's rewards here are excluded."""
    return EXCLUDED_VARIANCE * slot.weights[arm]


@kernel
def _noise(doubt):
    """Return the noise variance, estimated from deviations within cells (one arm in one environment)."""
    return doubt.inside[0] / max(doubt.freedom[0], 1)


@kernel
def _shares(doubt, slot):
    """Compute each arm's share of the accepted (not outlying) rewards of an environment.

    Return the number and the mean of these rewards.

    Cells that are left out have a share of 0, and their rewards are not counted.
    """
    share, total, centre = doubt.share, 0.0, 0.0
    for k in range(share.size):
        share[k] = slot.counts[k] if slot.weights[k] == 0.0 else 0.0
        total += share[k]
    for k in range(share.size):
        share[k] /= total
        centre += share[k] * slot.means[k]
    return total, centre


@kernel
def _along(fit, arm):
    """Return the estimated difference of an arm from the average of the accepted (not outlying) arms.

    The second result is its variance.

    With g = (unit vector of `arm`) - share, these are g'mu and g'Pg. Sets work = Pg.
    """
    P, mu, work, share = fit.doubt.P, fit.doubt.mu, fit.work, fit.doubt.share
    K = mu.size
    fitted, quadratic = mu[arm], 0.0
    for i in range(K):
        work[i] = P[arm, i]
    for k in range(K):
        if share[k] != 0.0:
            fitted -= share[k] * mu[k]
            for i in range(K):
                work[i] -= share[k] * P[k, i]
    quadratic = work[arm]
    for k in range(K):
        quadratic -= share[k] * work[k]
    return fitted, quadratic


@kernel
def _accept(fit, slot, arm, c, n, mean):
    """Update the fit with new rewards of an arm and return True, unless they are outlying.

    Return False if the rewards start an outlying cell.
    """
    total, centre = _shares(fit.doubt, slot)
    fitted, quadratic = _along(fit, arm)
    other = _accepted_arm(fit.doubt)
    residual, variance = mean - centre - fitted, 1.0 / n + 1.0 / total + quadratic
    judged = c == 0.0 and fit.doubt.freedom[0] >= MINIMUM_FREEDOM and together(fit, arm, other)
    if judged and residual * residual > SQUARED_THRESHOLD * variance * _noise(fit.doubt):
        return False
    if c == 0.0:
        _count_environment(fit.doubt, slot, arm)
    _update(fit, arm, other, residual, variance)
    return True


@kernel
def _count_environment(doubt, slot, arm):
    """Count the current environment as one in which the rewards of `arm` and of another arm were accepted.

    If only one other cell was accepted here before, the environment now counts for that arm, too.
    """
    doubt.seen[arm] += 1
    cells, alone = 0, 0
    for k in range(doubt.seen.size):
        if slot.counts[k] > 0.0 and slot.weights[k] == 0.0:
            cells, alone = cells + 1, k
    if cells == 1 and alone != arm:
        doubt.seen[alone] += 1


@kernel
def _accepted_arm(doubt):
    """Return an arm whose rewards in this environment were accepted as not outlying.

    `_shares` must have been called before.
    """
    found = 0
    for k in range(doubt.share.size):
        if doubt.share[k] > 0.0:
            found = k
    return found


@kernel
def _update(fit, arm, other, residual, variance):
    """Update the fit with one observation, given its residual and the variance of the residual.

    Expects work = Pg, as `_along` leaves it.
    """
    P, mu, work, K = fit.doubt.P, fit.doubt.mu, fit.work, fit.mu.size
    if not together(fit, arm, other):
        _join(fit, arm, other, residual, variance)
        return
    step = residual / variance
    for i in range(K):
        mu[i] += step * work[i]
        for k in range(K):
            P[i, k] -= work[i] * work[k] / variance
    fit.rss[0] += step * residual
    if fit.doubt.freedom[0] < MINIMUM_FREEDOM:
        fit.doubt.misfit[0] += step * residual


@kernel
def _join(fit, arm, other, residual, variance):
    """Merge two groups of comparable arms when an observation links `arm` and `other` for the first time.

    See `fixed_effects`.
    """
    P, mu, work, group = fit.doubt.P, fit.doubt.mu, fit.work, fit.group
    K = mu.size
    if group[arm] == 0:
        group[arm] = -1
    own, others = group[arm], group[other]
    for i in range(K):
        if group[i] == own:
            mu[i] += residual
            work[i] -= 0.5 * variance
    for i in range(K):
        for k in range(K):
            B = work[k] if group[i] == own else 0.0
            C = work[i] if group[k] == own else 0.0
            P[i, k] -= B + C
    joined = max(own, others)
    if joined <= 0:
        joined = K + fit.environments[0]  # a number that no other group has
    for i in range(K):
        if group[i] == own or (others != 0 and group[i] == others):
            group[i] = joined
    group[other] = joined
    fit.joins[0] += 1


@kernel
def _reconsider_cell(fit, slot, arm, count, mean):
    """Accept rewards that were excluded as outlying if the data that contradict them are wrong.

    They are an arm's rewards in one environment.

    The contradicting data are the accepted cell or the arm's earlier data. `count` and `mean` are those of
    the excluded cell. The rules are at the beginning of this file.
    """
    doubt, noise = fit.doubt, _noise(fit.doubt)
    cells, K = 0, slot.counts.size
    for k in range(K):
        if slot.counts[k] > 0.0 and slot.weights[k] == 0.0:
            cells += 1
    if cells > 1:
        _reconsider_arm(fit, slot, arm, count, mean)
        return
    for k in range(K):
        if k != arm and slot.counts[k] > 0.0 and slot.weights[k] == 1.0:
            for i in range(K):
                doubt.share[i] = 1.0 if i == k else 0.0
            fitted, quadratic = _along(fit, arm)
            residual, variance = mean - slot.means[k] - fitted, 1.0 / count + 1.0 / slot.counts[k] + quadratic
            if residual * residual <= SQUARED_THRESHOLD * variance * noise:
                lone = arm
                for i in range(K):
                    if slot.counts[i] > 0.0 and slot.weights[i] == 0.0:
                        lone = i
                    if slot.counts[i] > 0.0:
                        slot.weights[i] = 1.0
                slot.weights[k], slot.weights[arm] = 0.0, 0.0
                _count_environment(doubt, slot, arm)
                _update(fit, arm, k, residual, variance)
                if lone != arm:
                    _reconsider_arm(fit, slot, lone, slot.counts[lone], slot.means[lone])
                return


@kernel
def _reconsider_arm(fit, slot, arm, count, mean):
    """Accept an arm that was excluded as outlying if its earlier data are wrong, and discard these data.

    Stores the residual of the arm in this environment, and compares it with the residual of the environment
    where it was left out before. The rules are at the beginning of this file.
    """
    doubt, noise, K = fit.doubt, _noise(fit.doubt), fit.mu.size
    total, centre = _shares(doubt, slot)
    fitted, quadratic = _along(fit, arm)
    residual = mean - centre - fitted
    spread = 1.0 / count + 1.0 / total + quadratic
    gap, here = residual - doubt.off[arm], slot.epoch[0]
    before = doubt.where[arm]
    if before != here:
        agrees = before > 0 and gap * gap <= SQUARED_THRESHOLD * noise * (spread + doubt.spread[arm])
        doubt.times[arm] = doubt.times[arm] + 1 if agrees else 1
    doubt.off[arm], doubt.spread[arm], doubt.where[arm] = residual, spread, here
    others, known = median_estimate(doubt.mu, arm), doubt.seen[arm]
    nearer = abs(doubt.mu[arm] + residual - others) < abs(doubt.mu[arm] - others)
    if (
        NEARER_WEIGHT * doubt.times[arm] >= known
        if nearer
        else doubt.times[arm] > max(known, 1) + FARTHER_LEAD
    ):
        for i in range(K):
            doubt.P[arm, i] = 0.0
            doubt.P[i, arm] = 0.0
        fit.group[arm] = 0
        fit.joins[0] -= 1
        fitted, quadratic = _along(fit, arm)
        _join(fit, arm, _accepted_arm(doubt), mean - centre - fitted, 1.0 / count + 1.0 / total + quadratic)
        slot.weights[arm] = 0.0
        doubt.seen[arm], doubt.times[arm], doubt.where[arm] = doubt.times[arm], 0, 0


@kernel
def _restart(fit, slot, arm, count, mean):
    """Restart the fit from the current environment if the rewards accepted earlier do not fit together.

    All earlier data are then discarded.

    This is decided once the noise is known, in the first environment in which all arms are accepted. `count`
    and `mean` are those of the arm's cell.
    """
    doubt, K = fit.doubt, fit.mu.size
    if doubt.misfit[0] <= SQUARED_THRESHOLD * _noise(doubt):
        doubt.misfit[0] = 0.0
        return
    for i in range(K):
        if slot.weights[i] != 0.0 or (i != arm and slot.counts[i] == 0.0):
            return
    doubt.misfit[0] = 0.0
    for i in range(K):
        for k in range(K):
            doubt.P[i, k] = 0.0
        doubt.P[i, i] = 1.0 / count if i == arm else 1.0 / slot.counts[i]
        doubt.mu[i] = mean if i == arm else slot.means[i]
        doubt.seen[i], doubt.times[i], doubt.where[i] = 1, 0, 0
        fit.group[i] = 1
    fit.joins[0] = K - 1
    fit.rss[0] = _noise(doubt) * degrees_of_freedom(fit)


@kernel
def median_estimate(mu, but):
    """Return the median of the estimated means of all arms except one.

    The exception is the arm `but`; -1 for none.
    """
    K, low, high = mu.size, 0.0, 0.0
    n = K if but < 0 else K - 1
    for i in range(K):
        below, same = 0, 0
        for k in range(K):
            if k != but:
                below += 1 if mu[k] < mu[i] else 0
                same += 1 if mu[k] == mu[i] else 0
        if i != but and below <= (n - 1) // 2 < below + same:
            low = mu[i]
        if i != but and below <= n // 2 < below + same:
            high = mu[i]
    return 0.5 * (low + high)


@kernel
def _read(fit, slot, arm):
    """Copy the estimates to the arrays that policies read.

    Add variance for arms that must be pulled again.
    """
    doubt, K = fit.doubt, fit.mu.size
    believed, left_out = 0, 0
    for k in range(K):
        if k == arm or slot.counts[k] > 0.0:
            believed += 1 if slot.weights[k] == 0.0 else 0
            left_out += 1 if slot.weights[k] != 0.0 else 0
    torn, noise = believed < 2 and left_out > 0, _noise(doubt)
    doubtful = fit.environments[0] > 1 and doubt.freedom[0] >= MINIMUM_FREEDOM
    for i in range(K):
        fit.mu[i] = doubt.mu[i]
        for k in range(K):
            fit.P[i, k] = doubt.P[i, k]
        unseen = i != arm and slot.counts[i] == 0.0
        far = doubt.mu[i] - doubt.middle[0]
        often = (
            ENOUGH_ENVIRONMENTS_FAR
            if far * far > SQUARED_THRESHOLD * noise * (1.0 + doubt.P[i, i])
            else ENOUGH_ENVIRONMENTS
        )
        if unseen and doubtful and (torn or doubt.seen[i] < often):
            fit.P[i, i] += ADDED_VARIANCE
