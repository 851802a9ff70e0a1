"""Certainty and evidence against dense linear algebra and a numerical supremum."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import t as student

from tideproof.core.kernel_array_access_gpu import REGISTER_REPLACEMENTS
from tideproof.core.kernel_linker import link, use_interpreter
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.choose.leader_lead import is_leader_significant, leader_of, least_lead
from tideproof.kernels.fit.cholesky import backward, factorise, forward, log_determinant
from tideproof.kernels.fit.e_process import (
    CHECKPOINTS,
    EProcess,
    add_to_e_process,
    contrast_bounds,
    least_evidence,
    store_checkpoint,
)
from tideproof.kernels.fit.fixed_effects import FixedEffects, degrees_of_freedom, observe
from tideproof.kernels.fit.policy_data import Slot, enter


class Run:
    """The kernels, driven by hand, and all they were told."""

    def __init__(self, arms):
        self.arms, self.slots, self.told = arms, {}, []
        self.fit, self.proof = allocate(FixedEffects, arms).view, allocate(EProcess, arms).view
        self.row = np.zeros(arms)
        self.moments = []

    def tell(self, arm, environment, rewards):
        rewards = np.atleast_1d(rewards)
        slot = self.slots.setdefault(environment, allocate(Slot, self.arms)).view
        n, mean, squares = rewards.size, rewards.mean(), float(((rewards - rewards.mean()) ** 2).sum())
        observe(self.fit, slot, arm, n, mean, squares)
        add_to_e_process(self.proof, slot, arm, n, mean, squares)
        enter(slot, arm, n, mean)
        self.told += [(arm, environment, reward) for reward in rewards]
        before = self.proof.moments[0]
        store_checkpoint(self.proof, self.fit)
        if self.proof.moments[0] > before:
            self.moments.append(len(self.told))


def played(arms=4, environments=30, size=160, seed=5, batch=1):
    random = np.random.default_rng(seed)
    run, means, shifts = Run(arms), 0.4 * random.normal(size=arms), 9.0 * random.normal(size=environments)
    for step in range(size):
        arm, environment = int(random.integers(arms)), step * environments // size
        n = int(random.integers(1, batch + 1))
        run.tell(arm, environment, means[arm] + shifts[environment] + random.normal(size=n))
    return run


def without_shifts(told, arms):
    """Return the design and rewards of what is left once every environment's mean is taken out: dense."""
    arm, place, reward = (np.array(column) for column in zip(*told, strict=True))
    X, Z = np.eye(arms)[arm], np.eye(place.max() + 1)[place]
    Z = Z[:, Z.any(axis=0)]
    basis = np.linalg.qr(Z, mode="complete")[0][:, Z.shape[1] :]
    return basis.T @ X, basis.T @ reward


def log_marginal(told, arms):
    X, y = without_shifts(told, arms)
    X = X[:, 1:]
    gram = X.T @ X
    rss = float(y @ y - y @ X @ np.linalg.solve(gram, X.T @ y))
    nu = len(y) - X.shape[1]
    return gammaln(nu / 2) - nu / 2 * math.log(rss / 2) - 0.5 * np.linalg.slogdet(gram)[1]


def log_supremum(run, first, leader, k):
    """Maximise the likelihood of what was told after `first` over arms with k not behind, numerically."""
    (X, y), (X1, y1) = (without_shifts(told, run.arms) for told in (run.told, run.told[:first]))
    A, b, c = (now - then for now, then in zip(quadratic(X, y), quadratic(X1, y1), strict=True))
    n = len(y) - len(y1)
    ahead = np.zeros(run.arms)
    ahead[[k, leader]] = 1.0, -1.0
    found = minimize(
        lambda m: c - 2 * b @ m + m @ A @ m,
        np.zeros(run.arms),
        jac=lambda m: 2 * (A @ m - b),
        constraints={"type": "ineq", "fun": lambda m: ahead @ m, "jac": lambda m: ahead},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return -n / 2 * (math.log(found.fun / n) + 1.0)


def quadratic(X, y):
    return X.T @ X, X.T @ y, float(y @ y)


def test_the_least_lead_is_the_least_t_statistic_of_dense_least_squares():
    run = played(batch=3)
    X, y = without_shifts(run.told, run.arms)
    C, mu = np.linalg.pinv(X.T @ X), np.linalg.pinv(X) @ y
    nu = len(y) - run.arms + 1
    noise = float(((y - X @ mu) ** 2).sum()) / nu
    leader = int(np.argmax(mu))
    rest = [k for k in range(run.arms) if k != leader]
    ts = [
        (mu[leader] - mu[k]) / math.sqrt(noise * (C[leader, leader] + C[k, k] - 2 * C[leader, k]))
        for k in rest
    ]
    assert leader_of(run.fit) == leader
    assert least_lead(run.fit, leader, run.row) == pytest.approx(min(ts), rel=1e-9)
    tail = -math.log(student.sf(min(ts), nu))
    assert is_leader_significant(run.fit, leader, run.row, 0.0, tail - 1e-9)
    assert not is_leader_significant(run.fit, leader, run.row, 0.0, tail + 1e-9)
    assert not is_leader_significant(run.fit, leader, run.row, min(ts) + 1e-9, 0.1)


def test_the_least_lead_on_a_gpu_reads_the_row_of_the_leader():
    run = played(batch=3)
    on_gpu = link(least_lead, use_interpreter, REGISTER_REPLACEMENTS)
    for leader in range(run.arms):
        row = np.full(run.arms, math.nan)
        assert on_gpu(run.fit, leader, row) == pytest.approx(least_lead(run.fit, leader, run.row), rel=1e-12)


def test_a_lead_needs_two_degrees_of_freedom_and_more_noise_than_rounding():
    run = Run(2)
    for arm, reward in ((0, 1.0), (1, 4.0), (0, 1.5)):
        run.tell(arm, 0, reward)
    assert degrees_of_freedom(run.fit) == 1
    assert least_lead(run.fit, 1, run.row) == 0.0
    run.tell(1, 0, 3.0)
    lead = least_lead(run.fit, 1, run.row)
    rss, nu = run.fit.rss[0], degrees_of_freedom(run.fit)
    assert nu == 2
    assert lead == pytest.approx(2.25 / math.sqrt(rss / nu))  # two rewards each: the gap has this variance
    for share, found in ((1.1e-14, True), (0.9e-14, False)):  # residual squares over those of the gap
        run.fit.rss[0] = share * rss * lead**2 / nu
        assert (least_lead(run.fit, 1, run.row) > 0.0) == found


def test_of_equal_leaders_the_first_leads():
    fit = allocate(FixedEffects, 3).view
    fit.mu[:] = [1.0, 2.0, 2.0]
    assert leader_of(fit) == 1


@pytest.mark.parametrize("batch", [1, 4])
def test_the_evidence_is_the_mean_of_ratios_of_densities(batch):
    run = played(batch=batch)
    leader = leader_of(run.fit)
    now = log_marginal(run.told, run.arms)
    least = math.inf
    for k in range(run.arms):
        if k != leader:
            parts = [
                now - log_marginal(run.told[:first], run.arms) - log_supremum(run, first, leader, k)
                for first in run.moments
            ]
            waiting = CHECKPOINTS - len(run.moments)
            least = min(least, math.log((sum(map(math.exp, parts)) + waiting) / CHECKPOINTS))
    assert len(run.moments) >= 3
    assert least_evidence(run.proof, run.fit, leader) == pytest.approx(least, abs=1e-6)


def test_moments_double():
    run = played(size=400)
    assert all(b >= 2 * a for a, b in zip(run.moments, run.moments[1:], strict=False))


def test_evidence_of_an_arm_not_seen_since_a_moment_is_none_from_there():
    run = played(arms=3, size=40)
    random = np.random.default_rng(2)
    for step in range(200):  # the third arm has retired
        run.tell(step % 2, 100 + step // 4, [3.0, 0.0][step % 2] + random.normal())
    evidence = least_evidence(run.proof, run.fit, 0)
    assert math.isfinite(evidence)
    assert degrees_of_freedom(run.fit) > 100


def test_before_there_is_noise_there_is_no_evidence():
    run = Run(2)
    for step in range(8):
        run.tell(step % 2, step // 4, float(step % 2))
    assert run.proof.moments[0] == 0
    assert least_evidence(run.proof, run.fit, 1) == 0.0
    assert least_lead(run.fit, 1, run.row) == 0.0


def test_cholesky_without_an_arm_and_without_what_was_not_seen():
    random = np.random.default_rng(1)
    links = random.uniform(1.0, 5.0, (5, 5))
    links[3] = links[:, 3] = 0.0
    links = np.triu(links, 1) + np.triu(links, 1).T
    L = np.diag(links.sum(axis=1)) - links
    seen = [1, 2, 4]
    A = L.copy()
    factorise(A)
    inner = L[np.ix_(seen, seen)]
    assert log_determinant(A) == pytest.approx(np.linalg.slogdet(inner)[1])
    x, y = L @ random.normal(size=5), np.zeros(5)
    assert forward(A, x, y) == pytest.approx(x[seen] @ np.linalg.solve(inner, x[seen]))
    found = np.zeros(5)
    backward(A, y, found)
    assert found[seen] == pytest.approx(np.linalg.solve(inner, x[seen]))
    assert found[0] == found[3] == 0.0
    assert forward(A, np.eye(5)[3], y) == math.inf


def test_an_interval_that_excludes_all_differences_shrinks_to_the_least_contradicted_one():
    """With alpha far above 1, all evidence is enough; the means differ by 10, and the noise is 1."""
    random = np.random.default_rng(11)
    run = Run(2)
    for step in range(80):
        run.tell(step % 2, step // 8, 10.0 * (step % 2 == 0) + random.normal())
    low, high = contrast_bounds(run.proof, run.fit, 0, 1, 1e9)
    assert 9.0 < low <= high < 11.0
