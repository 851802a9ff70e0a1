"""Limits that hold at all times, against densities that are multiplied one reward after the other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.stats import binom, norm, t

import tideproof as tp
from simulations import ALARM
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import allocate, compose_state_type
from tideproof.kernels.fit.e_process import (
    CHECKPOINTS,
    EProcess,
    add_to_e_process,
    contrast_bounds,
    least_evidence,
    store_checkpoint,
)
from tideproof.kernels.fit.fixed_effects import FixedEffects, degrees_of_freedom, observe
from tideproof.kernels.fit.policy_data import Slot
from tideproof.policies.policy_registry import as_policy
from tideproof.policies.stopping_policy import watched_tell, with_stopping_rule

STEP = 0.3  # by which each arm is better than the one before
CHANCE = 0.05


def pulls(seed, count, arms=3, each=7):
    """Return (environment, arm, reward) of rewards in a tide; nobody chose the arms."""
    random = np.random.default_rng(seed)
    tide = 3.0 * random.standard_normal(count)
    for number in range(count):
        arm = int(random.integers(arms))
        yield number // each, arm, STEP * arm + tide[number // each] + random.standard_normal()


class Told:
    """The kernels' memory, and beside it every reward as a deviation e from the mean of its environment so far.

    e is normal around g'mu with the variance sigma^2/w.
    """

    def __init__(self, arms):
        kind = compose_state_type("Run", fit=FixedEffects, proof=EProcess, slot=Slot)
        self.fit, self.proof, self.slot = allocate(kind, arms).view
        self.g, self.e, self.w, self.moments = [], [], [], []
        self.log_density, self.arms = 0.0, arms

    def begin(self):
        for x in self.slot:
            x[...] = 0

    def tell(self, arm, reward):
        slot, before = self.slot, self.proof.moments[0]
        if slot.size[0]:
            size = slot.size[0]
            g = np.eye(self.arms)[arm] - slot.counts / size
            self._predict(g, reward - slot.mean[0], size / (size + 1.0))
        add_to_e_process(self.proof, slot, arm, 1, reward, 0.0)
        observe(self.fit, slot, arm, 1, reward, 0.0)
        slot.size[0] += 1.0
        slot.each[0] = 1.0 / slot.size[0]
        slot.mean[0] += (reward - slot.mean[0]) / slot.size[0]
        slot.counts[arm] += 1.0
        slot.arm[0] = arm
        store_checkpoint(self.proof, self.fit)
        if self.proof.moments[0] > before:
            self.moments.append((len(self.e), self.log_density))

    def _predict(self, g, e, w):
        """Add the log density of e, a Student-t number, given all before; from when one can be predicted."""
        if self.proof.moments[0]:
            G, y, v = self.rows(0)
            L = G.T @ (v[:, None] * G)
            mu = np.linalg.pinv(L) @ (G.T @ (v * y))
            nu = len(y) - self.arms + 1
            s2 = np.sum(v * (y - G @ mu) ** 2) / nu
            self.log_density += t.logpdf(e, nu, g @ mu, math.sqrt(s2 * (1.0 / w + g @ np.linalg.pinv(L) @ g)))
        self.g.append(g)
        self.e.append(e)
        self.w.append(w)

    def rows(self, first):
        return np.array(self.g[first:]), np.array(self.e[first:]), np.array(self.w[first:])

    def log_evidence(self, i, k, gap):
        """Return the logarithm of the mean of all ratios; the likelihood is climbed numerically."""
        ratios = [1.0] * (CHECKPOINTS - len(self.moments))
        for first, density in self.moments:
            G, y, v = self.rows(first)
            ratios.append(math.exp(self.log_density - density - self._supremum(G, y, v, i, k, gap)))
        return math.log(np.mean(ratios))

    def _supremum(self, G, y, v, i, k, gap):
        if not y.size:
            return 0.0

        def minus_log_likelihood(x):
            mu = np.insert(x[:-1], k, 0.0)
            mu[k] = mu[i] - gap
            return -norm.logpdf(y, G @ mu, np.exp(x[-1]) / np.sqrt(v)).sum()

        found = minimize(minus_log_likelihood, np.zeros(self.arms), tol=1e-12)
        for _ in range(2):
            found = minimize(minus_log_likelihood, found.x, method="Nelder-Mead", tol=1e-12)
        return -found.fun


def told(seed, count, arms=3):
    run, last = Told(arms), -1
    for environment, arm, reward in pulls(seed, count, arms):
        if environment != last:
            run.begin()
        last = environment
        run.tell(arm, reward)
    return run


@pytest.mark.parametrize("seed", range(3))
def test_limits_are_the_gaps_that_a_dense_likelihood_does_not_deny(seed):
    run = told(seed, 60)
    i, k = [(0, 1), (2, 0), (1, 2)][seed]
    low, high = contrast_bounds(run.proof, run.fit, i, k, CHANCE)
    middle = run.fit.mu[i] - run.fit.mu[k]
    bound = -math.log(CHANCE)
    for end in (low, high):
        far = middle + 1.5 * (end - middle)
        oracle = brentq(lambda gap: run.log_evidence(i, k, gap) - bound, middle, far, xtol=1e-6)
        assert end == pytest.approx(oracle, abs=2e-4)  # the climbing stops about there
    assert contrast_bounds(run.proof, run.fit, k, i, CHANCE) == pytest.approx((-high, -low), abs=1e-7)


def test_evidence_for_the_leader_is_that_of_a_gap_above_zero():
    """Where all that was told after each n1 speaks for it, one side and both sides are one."""
    run = told(5, 400, arms=2)
    leader = int(np.argmax(run.fit.mu))
    alpha = math.exp(-least_evidence(run.proof, run.fit, leader))
    low, _ = contrast_bounds(run.proof, run.fit, leader, 1 - leader, alpha)
    assert low == pytest.approx(0.0, abs=1e-6)


def test_nothing_is_limited_before_there_is_something_to_predict_from():
    run = told(0, 3)
    assert contrast_bounds(run.proof, run.fit, 0, 1, CHANCE) == (-math.inf, math.inf)


def test_a_pair_of_which_nothing_was_told_since_has_no_limits():
    run = told(1, 12)
    run.proof.checkpoint_L[:] = run.proof.L
    run.proof.checkpoint_b[:] = run.proof.b
    assert contrast_bounds(run.proof, run.fit, 0, 1, CHANCE) == (-math.inf, math.inf)


def test_data_that_deny_every_gap_leave_the_least_denied_one():
    run = told(2, 60)
    run.proof.checkpoint_marginal[:] -= 1e4
    low, high = contrast_bounds(run.proof, run.fit, 0, 1, CHANCE)
    assert low == pytest.approx(high)
    run.proof.checkpoint_L[:] = run.proof.L
    run.proof.checkpoint_b[:] = run.proof.b
    assert np.isfinite(contrast_bounds(run.proof, run.fit, 0, 1, CHANCE)).all()


@kernel
def tell_and_check(params, state, data, slot, arm, n, draw):
    """Stop when any limits, or nominal ones, do not contain the truth."""
    watched_tell(params.inner, state.inner, data, slot, arm, n, draw)
    watch, proof, fit = state.watch, state.proof, data.fit
    add_to_e_process(proof, slot, arm, n, data.reward[0], data.squares[0])
    store_checkpoint(proof, fit)
    for i in range(fit.mu.size):
        for k in range(i):
            truth = STEP * (i - k)
            if params.bound > 2.0:
                low, high = contrast_bounds(proof, fit, i, k, CHANCE)
            else:
                P, nu = fit.P, degrees_of_freedom(fit)
                reach = math.inf
                if nu > 30:
                    reach = 1.96 * math.sqrt((P[i, i] + P[k, k] - 2.0 * P[i, k]) * fit.rss[0] / nu)
                low, high = fit.mu[i] - fit.mu[k] - reach, fit.mu[i] - fit.mu[k] + reach
            if not low <= truth <= high:
                watch.stopped[0] = 1
                watch.arm[0] = i


def test_all_contrasts_at_all_times():
    """Runs of 200 pulls, looked at after each; nominal limits miss in far more than one of twenty."""
    pytest.importorskip("numba")
    runs = 500
    checked = replace(
        with_stopping_rule(as_policy("contrast").policy, "proven:"), name="checked", tell=tell_and_check
    )
    world = tp.World(
        [STEP * arm for arm in range(3)], 1.0, lengths=(6, 10), shifts=tp.worlds.Uniform(-3.0, 3.0)
    )
    missed = {}
    for label, bound in (("proven", 3.0), ("nominal", 1.0)):
        study = tp.simulate(
            world, tp.policy(checked, bound=bound), budgets=[200], replications=runs, seed=3, engine="cpu"
        )
        missed[label] = round(runs * float(study.stopped(study.policies[0])[0]))
    assert missed["proven"] <= binom.isf(ALARM, runs, CHANCE)
    assert missed["nominal"] > 0.2 * runs
