"""Selection rules against their formulas in NumPy, at random estimates."""

from types import SimpleNamespace

import numpy as np
import pytest

from tideproof.core.kernel_linker import ignore_overflow
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.choose.elimination import Race
from tideproof.kernels.fit.fixed_effects import FixedEffects
from tideproof.kernels.simulate.threefry import SELECT, Draw
from tideproof.policies.final_selection_rules import (
    CONTROL,
    FLOOR,
    MEAN,
    OLS,
    PERIOD,
    SHRUNK,
    SURVIVOR,
)


def selected(rule, replication=0, **data):
    """Return the arm that a rule selects from the given statistics."""
    draw = Draw(np.uint64(3), np.uint64(SELECT), np.uint64(1), np.uint64(replication))
    state = SimpleNamespace(race=data.pop("race", None))
    return ignore_overflow(rule.select)(None, state, SimpleNamespace(**data), draw)


def fitted(random, arms, nu, rss):
    """Return a fit of connected arms: estimates, their covariance in some gauge, and the noise."""
    fit = allocate(FixedEffects, arms).view
    root = random.normal(size=(arms, arms)) * random.choice([0.2, 1.0, 3.0], arms)[:, None]
    gauge = random.normal(size=arms)
    fit.P[:] = root @ root.T / arms + gauge[:, None] + gauge
    fit.mu[:] = random.normal(size=arms) + 5.0 * random.normal()
    fit.group[:], fit.joins[0], fit.environments[0] = 1, arms - 1, 4
    fit.told[0], fit.rss[0] = nu + 4 + arms - 1, rss
    return fit


def shrunk(P, mu, noise):
    """Return the estimates after shrinkage, and whether the smallest variance between arms was assumed."""
    K = len(mu)
    M = np.eye(K) - 1.0 / K
    own = np.diag(M @ P @ M)
    moments = (np.sum((mu - mu.mean()) ** 2) - noise * own.sum()) / (K - 1)
    between = max(moments, 0.005 * noise)
    variance = between + noise * own
    return (mu - np.average(mu, weights=1.0 / variance)) * between / variance, between > moments


@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.02, 0.3, 2.0])
def test_shrinkage_selects_the_largest_shrunk_estimate(arms, noise):
    random = np.random.default_rng(arms)
    changed, floored = 0, 0
    for _ in range(300):
        nu = int(random.integers(1, 4))
        fit = fitted(random, arms, nu, noise * nu)
        values, floor = shrunk(fit.P, fit.mu, noise)
        assert selected(SHRUNK, fit=fit) == np.argmax(values)
        changed += np.argmax(values) != np.argmax(fit.mu)
        floored += floor
    assert FLOOR == 0.005
    assert floored > 100 or noise < 2.0
    assert changed > 5 or arms == 2 or noise < 0.3


def test_an_estimate_that_is_known_exactly_is_not_shrunk_more_than_others():
    """Its variance may come out below 0 by rounding."""
    fit = fitted(np.random.default_rng(1), 3, 2, 2.0)
    fit.P[:] = np.diag([-1e-18, -1e-18, -1e-18])
    fit.mu[:] = [0.0, 2.0, 1.0]
    assert selected(SHRUNK, fit=fit) == 1


@pytest.mark.parametrize(("nu", "rss"), [(0, 1.0), (-1, 1.0), (2, 0.0)])
def test_without_an_estimate_of_the_noise_nothing_is_shrunk(nu, rss):
    random = np.random.default_rng(2)
    for _ in range(20):
        fit = fitted(random, 4, nu, rss)
        assert selected(SHRUNK, fit=fit) == np.argmax(fit.mu)


@pytest.mark.parametrize("rule", [OLS, SHRUNK], ids=lambda rule: rule.name)
def test_of_arms_that_are_not_connected_the_best_of_the_group_with_the_most_pulls(rule):
    random, later = np.random.default_rng(3), 0
    for _ in range(300):
        fit = fitted(random, 5, 3, 1.0)
        fit.group[:] = random.integers(0, 3, 5)  # 0: an arm alone
        fit.joins[0] = 3
        pulls = random.integers(0, 4, 5)
        groups = [[i] if fit.group[i] == 0 else np.flatnonzero(fit.group == fit.group[i]) for i in range(5)]
        totals = [pulls[group].sum() for group in groups]
        group = groups[int(np.argmax(totals))]  # of equal ones that of the first arm
        best = group[int(np.argmax(fit.mu[group]))]
        assert selected(rule, fit=fit, pulls=pulls) == best
        later += best > 0
    assert later > 100


def drawn_often(rule, **data):
    """Return the arms that a rule selects with a hundred random numbers; a false alarm in 10^12."""
    return {int(selected(rule, replication=r, **data)) for r in range(100)}


def test_the_largest_mean_is_of_arms_with_rewards():
    moments = SimpleNamespace(told=np.array([3.0, 0.0, 1.0, 2.0]), mean=np.array([-4.0, 0.0, -2.0, -2.0]))
    assert drawn_often(MEAN, moments=moments) == {2, 3}
    moments.told[:] = 0.0
    assert drawn_often(MEAN, moments=moments) == {0, 1, 2, 3}


def test_the_survivor_is_of_arms_that_are_left():
    race = allocate(Race, 4).view
    race.dropped[:] = [0, 1, 0, 0]
    moments = SimpleNamespace(told=np.array([3.0, 9.0, 1.0, 0.0]), mean=np.array([-4.0, 9.0, -4.0, 0.0]))
    assert drawn_often(SURVIVOR, race=race, moments=moments) == {0, 2}


def test_the_largest_mean_over_environments():
    periods = SimpleNamespace(top=np.array([-9.0, 0.0, -4.0, -2.0]), bottom=np.array([3.0, 0.0, 2.0, 1.0]))
    assert drawn_often(PERIOD, periods=periods) == {2, 3}


def test_the_largest_difference_to_the_control():
    share = np.array([0.0, 0.5, 0.0, 4.0])
    periods = SimpleNamespace(versus=np.array([7.0, 1.0, 9.0, 4.0]), share=share)
    assert drawn_often(CONTROL, periods=periods) == {1}
    periods.versus[3] = 8.0
    assert drawn_often(CONTROL, periods=periods) == {1, 3}
    periods.versus[[1, 3]] = 0.0
    assert drawn_often(CONTROL, periods=periods) == {0, 1, 3}  # the control differs from itself by 0
    chosen = [selected(CONTROL, replication=r, periods=periods) for r in range(600)]
    assert np.bincount(chosen)[[0, 1, 3]] == pytest.approx(200, abs=58)  # five standard errors
    periods.versus[[1, 3]] = -1.0
    assert drawn_often(CONTROL, periods=periods) == {0}


def test_all_met_the_control():
    for share, met in (([0.0, 1.0, 2.0], True), ([0.0, 0.0, 2.0], False), ([5.0, 0.5, 0.0], False)):
        assert CONTROL.identified(SimpleNamespace(periods=SimpleNamespace(share=np.array(share)))) == met
