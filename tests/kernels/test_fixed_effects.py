"""The recursion against dense least squares, after every single observation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import dense, groups
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.fit.fixed_effects import (
    FixedEffects,
    anchor,
    connected,
    degrees_of_freedom,
    observe,
    place,
    sigma2,
    together,
    variance_to,
)
from tideproof.kernels.fit.policy_data import Slot, enter

# Contrasts come out of O(100) rank-one steps in double precision.
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


class Recursion:
    """The kernels, driven by hand."""

    def __init__(self, arms):
        self.arms = arms
        self.fit = allocate(FixedEffects, arms).view
        self.slots = {}

    def slot(self, environment):
        return self.slots.setdefault(environment, allocate(Slot, self.arms)).view

    def tell(self, arm, environment, reward, n=1, squares=0.0):
        slot = self.slot(environment)
        observe(self.fit, slot, arm, n, reward, squares)
        enter(slot, arm, n, reward)

    def variance(self, i, k):
        P = self.fit.P
        return variance_to(P, i, P[i, i], P[i], k)

    def place(self, arm, environment, n=1):
        slot = self.slot(environment)
        place(self.fit, slot, arm, n)
        enter(slot, arm, n, slot.mean[0])


def design(random, arms, environments, size):
    arm = random.integers(arms, size=size)
    environment = random.integers(environments, size=size)
    reward = random.normal(size=arms)[arm] + 50.0 * random.normal(size=environments)[environment]
    return arm, environment, reward + random.normal(size=size)


def contrasts(arm, environment, reward, arms):
    """Yield (i, k, estimate, variance) of all pairs, the last two None where not comparable."""
    environments = environment.max() + 1
    oracle, sets = dense(arm, environment, reward, arms, environments), groups(arm, environment, arms)
    for i in range(arms):
        for k in range(i):
            c = np.zeros(arms + environments)
            c[i], c[k] = 1.0, -1.0
            known = any({i, k} <= s for s in sets)
            yield (i, k, *(oracle.combination(c) if known else (None, None)))


def check(run, arm, environment, reward):
    oracle = dense(arm, environment, reward, run.arms, environment.max() + 1)
    assert degrees_of_freedom(run.fit) == oracle.freedom
    assert run.fit.rss[0] == pytest.approx(oracle.rss, rel=1e-8, abs=1e-7)
    for i, k, estimate, variance in contrasts(arm, environment, reward, run.arms):
        assert together(run.fit, i, k) == (estimate is not None)
        if estimate is not None:
            np.testing.assert_allclose(run.fit.mu[i] - run.fit.mu[k], estimate, **CLOSE)
            np.testing.assert_allclose(run.variance(i, k), variance, **CLOSE)


@pytest.mark.parametrize("seed", range(12))
def test_every_observation_against_dense_least_squares(seed):
    random = np.random.default_rng(seed)
    arms, environments = int(random.integers(2, 7)), int(random.integers(1, 9))
    arm, environment, reward = design(random, arms, environments, 40)
    run = Recursion(arms)
    for t in range(40):
        run.tell(arm[t], environment[t], reward[t])
        check(run, arm[: t + 1], environment[: t + 1], reward[: t + 1])


@pytest.mark.parametrize("seed", range(6))
def test_batches_equal_single_observations(seed):
    random = np.random.default_rng(100 + seed)
    arm, environment, reward = design(random, 5, 4, 60)
    run = Recursion(5)
    for j in random.permutation(4):
        for i in random.permutation(5):
            values = reward[(arm == i) & (environment == j)]
            for part in np.split(values, [len(values) // 2]):
                if part.size:
                    run.tell(i, j, part.mean(), part.size, ((part - part.mean()) ** 2).sum())
    check(run, arm, environment, reward)


@pytest.mark.parametrize("seed", range(6))
def test_pulls_that_are_out_shape_the_design_only(seed):
    random = np.random.default_rng(200 + seed)
    arm, environment, reward = design(random, 4, 3, 30)
    run = Recursion(4)
    for t in range(20):
        run.tell(arm[t], environment[t], reward[t])
    before = run.fit.mu.copy(), run.fit.rss[0], degrees_of_freedom(run.fit)
    group = run.fit.group.copy()
    for t in range(20, 30):
        run.place(arm[t], environment[t])
    for i, k, _, variance in contrasts(arm, environment, reward, 4):
        if variance is not None:
            np.testing.assert_allclose(run.variance(i, k), variance, **CLOSE)
        if group[i] and group[i] == group[k]:
            gap = before[0][i] - before[0][k]
            np.testing.assert_allclose(run.fit.mu[i] - run.fit.mu[k], gap, **CLOSE)
    assert run.fit.rss[0] == before[1]
    assert run.fit.told[0] == 20


@pytest.mark.parametrize("seed", range(6))
def test_the_papers_gauge(seed):
    """Cov(muhat) with s_1 = 0 equals that of the regression with the first dummy left out."""
    random = np.random.default_rng(300 + seed)
    arm, environment, reward = design(random, 4, 6, 60)
    run = Recursion(4)
    for t in range(60):
        run.tell(arm[t], environment[t], reward[t])
    assert connected(run.fit)
    first = environment[0]
    others = [j for j in np.unique(environment) if j != first]
    X = np.column_stack([arm == i for i in range(4)] + [environment == j for j in others]).astype(float)
    covariance = np.linalg.inv(X.T @ X)[:4, :4]
    base = anchor(run.fit)
    work, P = run.fit.work, run.fit.P
    np.testing.assert_allclose(base + P - work[:, None] - work[None, :], covariance, **CLOSE)
    theta, *_ = np.linalg.lstsq(X, reward, rcond=None)
    assert sigma2(run.fit) == pytest.approx(((reward - X @ theta) ** 2).sum() / (60 - X.shape[1]), rel=1e-9)


@settings(max_examples=60)
@given(
    pulls=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 4), st.floats(-3, 3)), min_size=1, max_size=40
    ),
    tide=st.lists(st.floats(-1e3, 1e3), min_size=5, max_size=5),
)
def test_a_tide_changes_no_contrast(pulls, tide):
    still, moved = Recursion(4), Recursion(4)
    for arm, environment, reward in pulls:
        still.tell(arm, environment, reward)
        moved.tell(arm, environment, reward + tide[environment])
    for i in range(4):
        for k in range(i):
            if together(still.fit, i, k):
                gap = still.fit.mu[i] - still.fit.mu[k]
                # rewards of 1e3 carry rounding of 1e-13; a chain of environments adds it up
                assert moved.fit.mu[i] - moved.fit.mu[k] == pytest.approx(gap, abs=1e-9)
    assert still.fit.P.tobytes() == moved.fit.P.tobytes()


@settings(max_examples=60)
@given(
    pulls=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 4), st.floats(-3, 3)), min_size=1, max_size=40
    ),
    order=st.permutations(range(4)),
)
def test_relabelling_permutes(pulls, order):
    straight, renamed = Recursion(4), Recursion(4)
    for arm, environment, reward in pulls:
        straight.tell(arm, environment, reward)
        renamed.tell(order[arm], environment, reward)
    for i in range(4):
        for k in range(i):
            assert together(straight.fit, i, k) == together(renamed.fit, order[i], order[k])
            if together(straight.fit, i, k):
                gap = straight.fit.mu[i] - straight.fit.mu[k]
                assert renamed.fit.mu[order[i]] - renamed.fit.mu[order[k]] == pytest.approx(gap, abs=1e-9)


def test_an_environment_with_one_arm_tells_nothing_of_the_arms():
    run = Recursion(3)
    for t in range(5):
        run.tell(1, 0, float(t))
    assert not run.fit.P.any()
    assert not run.fit.mu.any()
    assert sigma2(run.fit) == pytest.approx(np.var(range(5), ddof=1))
