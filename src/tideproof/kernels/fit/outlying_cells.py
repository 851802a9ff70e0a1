"""Labels, where some cells, one arm in one environment, are simply wrong and must not pick the winner.

The fit is that of `fixed_effects` over the cells that are believed. Noise is measured inside of cells,
where a cell that is wrong as a whole does no harm. A reward that opens a cell farther than five standard
errors from where the others say it should be leaves it out, and with it all rewards that follow there.
Which is wrong, though?

* Of two cells that contradict each other the second is left out, until a third arm has been seen there:
  if it agrees with the one left out, they change places. Nothing is lost: one cell alone says nothing.
* If what an arm was before is wrong, as after a first environment that was, it is left out wherever it
  comes back, by the same amount. Arms are more alike than a wrong cell is like them: the story nearer to the
  median of the other arms is believed, unless the other was told in more than three times as many
  environments; the farther one only if it was told in two more. Where the story changes, all that was known
  of the arm is forgotten, and it begins anew.
* Before noise is known, nothing can be left out. If what was taken in until then does not fit together,
  everything is forgotten at the first environment in which all arms were seen, which is believed.
* An arm that nobody looks at again cannot be put right. So one that was believed in a single
  environment, or that is far from the others and was believed in fewer than six, is shown as very uncertain
  in the next until it has been seen there; so are all others where two cells contradict each other.

Without outliers this is `fixed_effects`, but for those looks. In environments of two pulls
nothing can be told, and nothing is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.array_access import add_at
from tideproof.core.array_layout import Float1, FloatK, FloatKK, Int1, IntK
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.fit.fixed_effects import freedom, together

CUT2 = 25.0  # the square of how many standard errors are too many
ENOUGH = 4  # degrees of freedom inside cells, below which nothing is left out
UNSEEN = 400.0  # noise variances of an arm that was seen in fewer environments than
OFTEN = 2  # of these, or, if it is far from the others,
OFTEN_FAR = 6  # of these
NEARER = 3  # environments that one with a nearer story outweighs
FARTHER = 1  # environments by which a farther story must lead
NEVER = 1e6  # noise variances of a pull that would be left out


class Doubt(NamedTuple):
    """What was left out.

    Attributes
    ----------
    inside, freedom : (1,) squared deviations inside cells, and their degrees of freedom.
    off : (K,) by how much each arm was off where it was left out last.
    spread : (K,) the variance of that, in noise variances.
    where : (K,) the number of that environment; 0 for none.
    times : (K,) in how many environments by about as much.
    seen : (K,) environments in which each arm was believed, and others with it.
    P, mu : the fit, without what policies are shown of doubt.
    share : (K,) scratch.
    middle : (1,) the median of estimates when the environment began.
    misfit : (1,) squared residuals of rewards that were believed because noise was not known yet.
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


class Robust(NamedTuple):
    """The fit over cells that are believed, in the words of `FixedEffects`, and what was left out."""

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
    doubt: Doubt


@kernel
def observe(fit, slot, arm, n, mean, squares):
    """Take in `n` told rewards of `arm` in the environment of `slot`, before they enter the slot."""
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
        doubt.middle[0] = _median(doubt.mu, -1)
    elif slot.weights[arm] != 0.0 or not _believed(fit, slot, arm, c, n, mean):
        fit.rss[0] += n * _noise(doubt)  # as much as of any other
        slot.weights[arm] = 1.0
        _ask_again(fit, slot, arm, c + n, before + (mean - before) * (n / (c + n)))
    elif c == 0.0:
        for k in range(slot.counts.size):  # who was left out when there was one other cell is judged now
            if slot.counts[k] > 0.0 and slot.weights[k] != 0.0:
                _look_back(fit, slot, k, slot.counts[k], slot.means[k])
    if doubt.misfit[0] > 0.0 and doubt.freedom[0] >= ENOUGH:
        _begin_anew(fit, slot, arm, c + n, before + (mean - before) * (n / (c + n)))
    _read(fit, slot, arm)


@kernel
def place(fit, slot, arm, n):
    """Take in the place in the design of `n` pulls that are out, as if their residual were 0."""
    if slot.first[0] == 1:
        add_at(fit.first, arm, n)
        fit.first_size[0] += n
    if slot.size[0] > 0.0 and slot.weights[arm] == 0.0:
        total, _ = _shares(fit.doubt, slot)
        _, quadratic = _along(fit, arm)
        _take(fit, arm, _one_of(fit.doubt), 0.0, 1.0 / n + 1.0 / total + quadratic)
    _read(fit, slot, arm)


@kernel
def pull_here(fit, slot, here):
    """Make ready what a pull in the environment of `slot` would tell, see `fixed_effects.pull_here`."""
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
    """Return by how much the variance of a pull here is above 1: where it would be left out, very much."""
    return NEVER * slot.weights[arm]


@kernel
def _noise(doubt):
    """Return the noise variance, as it is inside of cells."""
    return doubt.inside[0] / max(doubt.freedom[0], 1)


@kernel
def _shares(doubt, slot):
    """Set the shares of believed cells, and return how many rewards they have and their mean."""
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
    """With g = e_arm - share: set work = Pg and return g'mu and g'Pg."""
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
def _believed(fit, slot, arm, c, n, mean):
    """Take in rewards and tell so, unless they open a cell that contradicts the others."""
    total, centre = _shares(fit.doubt, slot)
    fitted, quadratic = _along(fit, arm)
    other = _one_of(fit.doubt)
    residual, variance = mean - centre - fitted, 1.0 / n + 1.0 / total + quadratic
    judged = c == 0.0 and fit.doubt.freedom[0] >= ENOUGH and together(fit, arm, other)
    if judged and residual * residual > CUT2 * variance * _noise(fit.doubt):
        return False
    if c == 0.0:
        _support(fit.doubt, slot, arm)
    _take(fit, arm, other, residual, variance)
    return True


@kernel
def _support(doubt, slot, arm):
    """Count one more environment for an arm, and for the one whose cell was alone until now."""
    doubt.seen[arm] += 1
    cells, alone = 0, 0
    for k in range(doubt.seen.size):
        if slot.counts[k] > 0.0 and slot.weights[k] == 0.0:
            cells, alone = cells + 1, k
    if cells == 1 and alone != arm:
        doubt.seen[alone] += 1


@kernel
def _one_of(doubt):
    """Return an arm whose cell is believed."""
    found = 0
    for k in range(doubt.share.size):
        if doubt.share[k] > 0.0:
            found = k
    return found


@kernel
def _take(fit, arm, other, residual, variance):
    """Take in what g'mu = residual says, with that variance; expects work = Pg."""
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
    if fit.doubt.freedom[0] < ENOUGH:
        fit.doubt.misfit[0] += step * residual


@kernel
def _join(fit, arm, other, residual, variance):
    """Join the group of `arm` to that of `other`, see `fixed_effects`."""
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
        joined = K + fit.environments[0]  # a label that no group has
    for i in range(K):
        if group[i] == own or (others != 0 and group[i] == others):
            group[i] = joined
    group[other] = joined
    fit.joins[0] += 1


@kernel
def _ask_again(fit, slot, arm, count, mean):
    """See whether what was left out changes places with what was not, or shows that the past was wrong."""
    doubt, noise = fit.doubt, _noise(fit.doubt)
    cells, K = 0, slot.counts.size
    for k in range(K):
        if slot.counts[k] > 0.0 and slot.weights[k] == 0.0:
            cells += 1
    if cells > 1:
        _look_back(fit, slot, arm, count, mean)
        return
    for k in range(K):
        if k != arm and slot.counts[k] > 0.0 and slot.weights[k] == 1.0:
            for i in range(K):
                doubt.share[i] = 1.0 if i == k else 0.0
            fitted, quadratic = _along(fit, arm)
            residual, variance = mean - slot.means[k] - fitted, 1.0 / count + 1.0 / slot.counts[k] + quadratic
            if residual * residual <= CUT2 * variance * noise:
                lone = arm
                for i in range(K):
                    if slot.counts[i] > 0.0 and slot.weights[i] == 0.0:
                        lone = i
                    if slot.counts[i] > 0.0:
                        slot.weights[i] = 1.0
                slot.weights[k], slot.weights[arm] = 0.0, 0.0
                _support(doubt, slot, arm)
                _take(fit, arm, k, residual, variance)
                if lone != arm:
                    _look_back(fit, slot, lone, slot.counts[lone], slot.means[lone])
                return


@kernel
def _look_back(fit, slot, arm, count, mean):
    """Note by how much an arm is off here; if it was so elsewhere, forget what was known and begin anew."""
    doubt, noise, K = fit.doubt, _noise(fit.doubt), fit.mu.size
    total, centre = _shares(doubt, slot)
    fitted, quadratic = _along(fit, arm)
    residual = mean - centre - fitted
    spread = 1.0 / count + 1.0 / total + quadratic
    gap, here = residual - doubt.off[arm], slot.epoch[0]
    before = doubt.where[arm]
    if before != here:
        agrees = before > 0 and gap * gap <= CUT2 * noise * (spread + doubt.spread[arm])
        doubt.times[arm] = doubt.times[arm] + 1 if agrees else 1
    doubt.off[arm], doubt.spread[arm], doubt.where[arm] = residual, spread, here
    others, known = _median(doubt.mu, arm), doubt.seen[arm]
    nearer = abs(doubt.mu[arm] + residual - others) < abs(doubt.mu[arm] - others)
    if NEARER * doubt.times[arm] >= known if nearer else doubt.times[arm] > max(known, 1) + FARTHER:
        for i in range(K):
            doubt.P[arm, i] = 0.0
            doubt.P[i, arm] = 0.0
        fit.group[arm] = 0
        fit.joins[0] -= 1
        fitted, quadratic = _along(fit, arm)
        _join(fit, arm, _one_of(doubt), mean - centre - fitted, 1.0 / count + 1.0 / total + quadratic)
        slot.weights[arm] = 0.0
        doubt.seen[arm], doubt.times[arm], doubt.where[arm] = doubt.times[arm], 0, 0


@kernel
def _begin_anew(fit, slot, arm, count, mean):
    """Once noise is known: if what was believed before does not fit together, believe this environment alone.

    Waits for one in which all arms are believed. `count` and `mean` are those of the cell of `arm`.
    """
    doubt, K = fit.doubt, fit.mu.size
    if doubt.misfit[0] <= CUT2 * _noise(doubt):
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
    fit.rss[0] = _noise(doubt) * freedom(fit)


@kernel
def _median(mu, but):
    """Return the median of the estimates, those of all arms but one (-1 for all)."""
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
    """Show policies the fit, and as very uncertain an arm of which one pull here would dispel doubt."""
    doubt, K = fit.doubt, fit.mu.size
    believed, left_out = 0, 0
    for k in range(K):
        if k == arm or slot.counts[k] > 0.0:
            believed += 1 if slot.weights[k] == 0.0 else 0
            left_out += 1 if slot.weights[k] != 0.0 else 0
    torn, noise = believed < 2 and left_out > 0, _noise(doubt)
    doubtful = fit.environments[0] > 1 and doubt.freedom[0] >= ENOUGH
    for i in range(K):
        fit.mu[i] = doubt.mu[i]
        for k in range(K):
            fit.P[i, k] = doubt.P[i, k]
        unseen = i != arm and slot.counts[i] == 0.0
        far = doubt.mu[i] - doubt.middle[0]
        often = OFTEN_FAR if far * far > CUT2 * noise * (1.0 + doubt.P[i, i]) else OFTEN
        if unseen and doubtful and (torn or doubt.seen[i] < often):
            fit.P[i, i] += UNSEEN
