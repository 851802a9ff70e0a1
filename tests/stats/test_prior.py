"""P(best) of exchangeable arms: against quadrature, against draws from the model itself, and what it must obey."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.analysis.fit_result import Fit
from tideproof.checks import require_prior
from tideproof.errors import InputError
from tideproof.stats.best.p_best import (
    PRIOR_NAMES,
    exchangeable_probabilities,
    is_best_for_every_tau,
    p_best,
)
from tideproof.stats.best.student_inference import probabilities_of_best


@pytest.mark.parametrize(("gap", "se", "freedom"), [(0.0, 1.0, 5.0), (1.0, 0.6, 3.0), (-2.0, 0.7, 40.0)])
def test_two_arms_are_a_double_integral(gap, se, freedom):
    """Over log tau and log sigma, given those a normal probability; tau > s = se/sqrt(2) of one arm."""
    x, w = np.polynomial.legendre.leggauss(200)
    log_tau, log_sigma = np.meshgrid(math.log(se / math.sqrt(2.0)) + 7.0 * (x + 1.0), 3.5 * x + 0.5)
    tau, sigma = np.exp(log_tau), np.exp(log_sigma)
    sd = np.hypot(math.sqrt(2.0) * tau, se) * sigma
    noise = stats.chi2.pdf(freedom / sigma**2, freedom) / sigma**2
    weight = np.outer(w, w) * stats.norm.pdf(gap, 0.0, sd) * noise
    shrunk = 2.0 * tau**2 / (2.0 * tau**2 + se**2)
    right = stats.norm.cdf(np.sqrt(shrunk) * gap / (sigma * se))
    chance, error = exchangeable_probabilities(np.array([gap, 0.0]), np.diag([0.5, 0.5]) * se**2, freedom)
    assert chance[0] == pytest.approx((right * weight).sum() / weight.sum(), abs=1e-3)
    assert error < 1e-3


@pytest.mark.parametrize(("arms", "freedom"), [(3, 4.0), (4, 30.0)])
def test_several_arms_against_draws_from_the_model(arms, freedom):
    """Importance sampling of tau, sigma and mu from the prior, weighted by the normal density of estimates."""
    random = np.random.default_rng([arms, int(freedom)])
    A = random.normal(size=(arms, 2 * arms))
    C = np.linalg.inv(A @ A.T)
    mu = 0.5 * random.normal(size=arms)
    contrasts = np.linalg.qr(np.column_stack([np.ones(arms), np.eye(arms)[:, 1:]]))[0][:, 1:]  # orthonormal
    V, y = contrasts.T @ C @ contrasts, contrasts.T @ mu
    s = 1.0 / math.sqrt(np.trace(np.linalg.inv(V)) / (arms - 1))
    draws = 300_000
    sigma = np.sqrt(freedom / random.chisquare(freedom, draws))
    tau = sigma * s * np.exp(random.uniform(0.0, 8.0, draws))
    theta = tau[:, None] * random.normal(size=(draws, arms - 1))
    distance = np.einsum("ni,ij,nj->n", y - theta, np.linalg.inv(V), y - theta)
    weight = sigma ** -(arms - 1.0) * np.exp(-0.5 * distance / sigma**2)
    winner = (theta @ contrasts.T).argmax(axis=1)
    plain = np.bincount(winner, weight, arms) / weight.sum()
    chance, error = exchangeable_probabilities(mu, C, freedom)
    effective = weight.sum() ** 2 / (weight**2).sum()
    # five standard errors for each arm: a false alarm rate below 1e-5
    assert np.all(np.abs(chance - plain) < 5.0 * np.sqrt(plain * (1.0 - plain) / effective + error**2) + 1e-3)
    assert chance.sum() == pytest.approx(1.0, abs=1e-9)
    assert (
        np.abs(chance - probabilities_of_best(mu, 1.0, C, freedom)[0]).max() > 0.02
    )  # it is another question


def test_units_and_a_common_level_do_not_matter():
    random = np.random.default_rng(3)
    mu, C = random.normal(size=6), np.diag(random.uniform(0.1, 0.5, 6))
    want = exchangeable_probabilities(mu, C, 20.0)[0]
    assert exchangeable_probabilities(1e3 * mu + 5e4, 1e6 * C + 7.0, 20.0)[0] == pytest.approx(want, abs=1e-6)
    turned = exchangeable_probabilities(mu[::-1], C[::-1, ::-1], 20.0)[0][::-1]
    assert turned == pytest.approx(want, abs=0.02)  # another lattice


def test_a_lead_among_many_is_believed_less_than_by_a_flat_prior():
    ahead = np.append(np.zeros(9), 2.0 * math.sqrt(2.0))
    cautious, _ = exchangeable_probabilities(ahead, np.eye(10), 90.0)
    flat, _ = p_best("flat", ahead, np.eye(10), 90.0)
    assert cautious[-1] < flat[-1] - 0.03


def test_arms_that_lie_far_apart_make_the_prior_flat():
    mu = np.array([0.0, 30.0, -25.0, 60.0, 63.0])
    cautious, _ = p_best("exchangeable", mu, np.eye(5), 50.0)
    assert cautious == pytest.approx(p_best("flat", mu, np.eye(5), 50.0)[0], abs=0.005)


def test_hundreds_of_arms_say_how_well_it_is_integrated():
    random = np.random.default_rng(4)
    chance, error = exchangeable_probabilities(random.normal(size=300), np.eye(300), 1e4)
    assert chance.sum() == pytest.approx(1.0)
    assert error < 0.05


def test_without_noise_the_tied_share():
    chance, error = exchangeable_probabilities(np.array([1.0, 2.0, 2.0]), np.zeros((3, 3)), 5.0)
    assert (chance.tolist(), error) == ([0.0, 0.5, 0.5], 0.0)


@pytest.mark.parametrize("prior", ["none", None, 1])
def test_priors_that_there_are(prior):
    assert require_prior("flat") == "flat"
    with pytest.raises(InputError, match=f"prior must be 'exchangeable' or 'flat', not {prior!r}"):
        require_prior(prior)


@pytest.mark.parametrize("scale", ["difference", "ratio", "odds"])
def test_a_fit_says_its_prior_on_every_scale(scale):
    random = np.random.default_rng(5)
    arm, day = np.tile(list("ABCD"), 500), np.repeat(np.arange(20), 100)
    reward = (random.random(2000) < 0.2 + 0.15 * (arm == "D")).astype(float)
    found = {prior: Fit.from_arrays(arm, day, reward, scale=scale, prior=prior) for prior in PRIOR_NAMES}
    for prior, fit in found.items():
        assert sum(fit.p_best.values()) == pytest.approx(1.0)
        assert PRIOR_NAMES[prior] in fit.verdict
        assert fit.to_dict()["prior"] == prior
    assert found["exchangeable"].p_best["D"] < found["flat"].p_best["D"]


def test_a_recommendation_says_its_prior():
    run = tp.Experiment(list("ABC"), budget=60, seed=1)
    pulls = run.ask(n=60, environment="mon")
    run.tell_many(pulls, [float(i % 7) + 3.0 * (pull.arm == "C") for i, pull in enumerate(pulls)])
    usual, flat = run.recommend(), run.recommend(prior="flat")
    assert (usual.prior, flat.prior, flat.to_dict()["prior"]) == ("exchangeable", "flat", "flat")
    assert str(usual).endswith("(exchangeable prior)")
    assert str(flat).endswith("(flat prior)")
    assert usual.p_best < flat.p_best
    with pytest.raises(InputError, match="prior must be"):
        run.recommend(prior="none")


def test_a_difference_that_is_known_exactly_leaves_probabilities_finite():
    """Arms 1 and 2 have no uncertainty between them: one principal variance is 0."""
    with np.errstate(all="raise"):
        chance, error = exchangeable_probabilities(np.array([0.5, 0.0, 1.0]), np.diag([1.0, 0.0, 0.0]), 20.0)
    assert chance.sum() == pytest.approx(1.0, abs=1e-6)
    assert chance[1] == pytest.approx(0.0, abs=1e-6)
    assert 0.2 < chance[0] < chance[2]
    assert error < 0.01


def spread_interval(mu, C, freedom):
    """Return the taus whose likelihood is at least exp(-1.92) of the largest, from the density of estimates.

    Contrasts to the first arm have the multivariate t distribution with covariance C + tau^2 I, where sigma
    is integrated out with p(sigma) ~ 1/sigma and its estimate: scipy's density of y and sigma, up to factors.
    """
    D = np.column_stack([-np.ones(mu.size - 1), np.eye(mu.size - 1)])
    taus = np.geomspace(1e-4, 1e4, 4000) * np.sqrt(np.diag(C).mean())
    found = [
        stats.multivariate_t.logpdf(D @ mu, shape=D @ (C + tau**2 * np.eye(mu.size)) @ D.T, df=freedom)
        for tau in taus
    ]
    return taus[np.array(found) >= max(found) - 1.92]


@pytest.mark.parametrize("seed", range(12))
def test_one_arm_is_the_best_for_every_tau_that_the_data_allow(seed):
    """The normal prior with each tau, by 20,000 draws of the arm means."""
    random = np.random.default_rng([15, seed])
    C = np.diag(random.uniform(0.5, 2.0, 3))
    mu = np.array([0.0, 1.0, 2.0 + 5.5 * random.random()])
    taus = spread_interval(mu, C, 1e6)
    least = 0.0
    if taus[0] > 0.01:  # else tau may be 0: no arm is the best
        level = np.full((3, 3), 1e8)  # a flat prior on the common level
        chances = []
        for tau in np.geomspace(taus[0], taus[-1], 12):
            gain = (tau**2 * np.eye(3) + level) @ np.linalg.inv(C + tau**2 * np.eye(3) + level)
            posterior = np.linalg.inv(np.linalg.inv(C) + np.linalg.inv(tau**2 * np.eye(3) + level))
            draws = random.multivariate_normal(gain @ mu, posterior, 20_000)
            chances.append(np.bincount(draws.argmax(axis=1), minlength=3) / 20_000)
        least = np.min(chances, axis=0).max()
    assert abs(least - 0.9) > 0.012  # the draws decide: over five standard errors
    assert is_best_for_every_tau(mu, C, 1e6) == (least > 0.9)
    shown, error = p_best("exchangeable", mu, C, 1e6)
    assert np.isnan(shown).all() == np.isnan(error) == (least < 0.9)
    assert not np.isnan(p_best("flat", mu, C, 1e6)[0]).any()


def test_units_do_not_matter_for_what_is_shown():
    for lead, clear in ((2.6, False), (3.3, True)):
        for unit in (1e-70, 1.0, 1e70):
            assert (
                is_best_for_every_tau(unit * np.array([lead, 0.0]), 0.5 * unit**2 * np.eye(2), 90.0) == clear
            )


def test_equal_arms_are_hardly_ever_told_to_differ():
    """Three equal arms, 3,000 logs: at 0.6 % allowed, more than 35 would come once in 10,000 times."""
    random = np.random.default_rng(2)
    count = sum(is_best_for_every_tau(random.normal(size=3), np.eye(3), 60.0) for _ in range(3000))
    assert count <= 35


def test_a_noisy_arm_hides_the_probability():
    """A lead of four standard errors over one arm, and another arm that may be anywhere."""
    mu = np.array([0.0, -4.0 * math.sqrt(2.0), -2.0])
    assert is_best_for_every_tau(mu[:2], np.eye(2), 200.0)
    assert not is_best_for_every_tau(mu, np.diag([1.0, 1.0, 100.0]), 200.0)
