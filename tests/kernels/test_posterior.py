"""The posterior's contenders and factor against NumPy, and one draw by hand."""

import math

import numpy as np
import pytest

from tideproof.core.kernel_linker import ignore_overflow
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.choose.posterior_draws import Posterior, best_of_draw, find_contenders
from tideproof.kernels.fit.fixed_effects import FixedEffects
from tideproof.kernels.simulate.threefry import TELL, Draw, normal_quantile, threefry, unit

best_of_draw, threefry = ignore_overflow(best_of_draw), ignore_overflow(threefry)


def fitted(seed, arms):
    """Return a fit with a covariance matrix in some gauge, and means."""
    random = np.random.default_rng(seed)
    fit = allocate(FixedEffects, arms).view
    root = random.normal(size=(arms, arms))
    fit.P[:] = root @ root.T / arms
    gauge = random.normal(size=arms)
    fit.P[:] += gauge[:, None] + gauge[None, :]
    fit.mu[:] = random.normal(size=arms)
    return fit


def contrast(fit, arms):
    D = np.eye(len(fit.mu))[arms[1:]] - np.eye(len(fit.mu))[arms[0]]
    return D @ fit.P @ D.T


@pytest.mark.parametrize("arms", [2, 3, 5, 8])
@pytest.mark.parametrize("variance", [0.01, 0.5, 4.0])
def test_contenders(arms, variance):
    fit = fitted(arms, arms)
    posterior = allocate(Posterior, arms).view
    find_contenders(posterior, fit, variance)
    leader = int(np.argmax(fit.mu))
    distance = {}
    for i in range(arms):
        if i != leader:
            distance[i] = (fit.mu[leader] - fit.mu[i]) ** 2 / (variance * contrast(fit, [leader, i])[0, 0])
    inside = [i for i in distance if distance[i] <= 6.5**2]
    m = int(posterior.size[0])
    assert posterior.arms[:m].tolist() == [leader, *inside]
    nearest = min([distance[i] for i in inside], default=6.5**2)
    assert posterior.settled[0] == pytest.approx(math.exp(-nearest / 2), rel=1e-9)
    if inside:
        upper = np.linalg.cholesky(contrast(fit, [leader, *inside])).T
        np.testing.assert_allclose(np.triu(posterior.factor[1:m, 1:m]), upper, rtol=1e-8, atol=1e-9)


def test_only_those_within_reach_contend():
    """At 6.5 standard errors, on both sides of it."""
    for gap, size in ((6.4999, 2.0), (6.5001, 1.0)):
        fit = allocate(FixedEffects, 2).view
        fit.P[:] = np.diag([0.25, 0.75])  # the difference has variance 1
        fit.mu[:] = [gap, 0.0]
        posterior = allocate(Posterior, 2).view
        find_contenders(posterior, fit, 1.0)
        assert posterior.size[0] == size


def test_arms_that_tie_without_any_variance():
    fit = allocate(FixedEffects, 3).view
    posterior = allocate(Posterior, 3).view
    find_contenders(posterior, fit, 1.0)
    assert posterior.arms.tolist() == [0, 1, 2]
    assert posterior.settled[0] == 1.0
    assert not posterior.factor.any()


@pytest.mark.parametrize("arms", [2, 3, 4, 5])
@pytest.mark.parametrize("lane", [0, 7])
@pytest.mark.parametrize("clear", [False, True])
def test_a_draw_by_hand(arms, lane, clear):
    fit = fitted(10 + arms, arms)
    fit.mu[:] *= 0.1
    if clear:  # all others are three standard errors behind arm 0
        fit.mu[:] = [-6.0 * math.sqrt(contrast(fit, [0, i])[0, 0]) for i in range(arms)]
    posterior = allocate(Posterior, arms).view
    find_contenders(posterior, fit, 4.0)
    order = posterior.arms.tolist()
    assert len(order) == arms
    upper = np.linalg.cholesky(contrast(fit, order)).T
    settled, seen = 0, set()
    for step in range(60):
        draw = Draw(np.uint64(3), np.uint64(4), TELL, np.uint64(step))
        uniforms = []
        for pair in range(arms // 2):
            counter = (int(TELL) << 32) + lane + pair
            uniforms += [
                unit(w) for w in threefry(draw.step, np.uint64(counter), draw.seed, draw.replication)
            ]
        uniforms = np.array(uniforms[: arms - 1])
        z = 2.0 * np.array([normal_quantile(u) for u in uniforms])
        values = fit.mu[order] + np.append(0.0, z @ upper)
        posterior.values[:] = math.nan
        best = best_of_draw(posterior, fit, 2.0, draw, lane)
        assert best == order[int(np.argmax(values))]
        if np.prod(2.0 * np.minimum(uniforms, 1.0 - uniforms)) > posterior.settled[0]:
            settled += 1
            assert best == order[0]
            assert np.isnan(posterior.values).all(), "no normal number was needed"
        else:
            np.testing.assert_allclose(posterior.values, values, rtol=1e-9, atol=1e-9)
        seen.add(best)
    assert len(seen) > 1 or clear
    assert settled > 10 or not clear
