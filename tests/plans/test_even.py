"""The formula of an even split, against integrals by another way and against the lab."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

import tideproof as tp
from tideproof.plans.even import even_budget, even_error, named_budget
from tideproof.plans.question import ask
from tideproof.trust.named import not_named


@pytest.mark.parametrize(("arms", "pulls", "rates"), [(3, 90, None), (6, 400, None), (4, 2000, (0.1, 0.13))])
def test_the_error_is_the_integral(arms, pulls, rates):
    """Over the best arm's mean, by adaptive quadrature of the densities themselves."""
    if rates is None:
        question, gap, own, other = ask(arms=arms, gap=0.6, sigma=2.0, lengths=10**6), 0.6, 2.0, 2.0
    else:
        low, high = rates
        question = ask(arms=arms, rate=low, lift=high / low - 1.0, lengths=10**6)
        gap, own, other = high - low, np.sqrt(high * (1 - high)), np.sqrt(low * (1 - low))
    n = pulls / arms
    mine, theirs = norm(gap, own / np.sqrt(n)), norm(0.0, other / np.sqrt(n))
    middle, spread = gap, 10.0 * own / np.sqrt(n)
    right, _ = quad(lambda x: mine.pdf(x) * theirs.cdf(x) ** (arms - 1), middle - spread, middle + spread)
    assert even_error(question, pulls) == pytest.approx(1.0 - right, abs=1e-6)


@pytest.mark.parametrize(("arms", "length"), [(2, 2), (5, 3), (4, 30)])
def test_the_formula_is_near_to_what_is_played(arms, length):
    """Environments too short for all arms included. A false alarm in one of a million (five sigma)."""
    question = ask(arms=arms, gap=0.5, lengths=length, error=0.1)
    budget = even_budget(question)
    study = tp.simulate(question.world(1), "round-robin+ols", budget, 4000, seed=3)
    share = float(study.pics("round-robin+ols")[0])
    assert share == pytest.approx(even_error(question, budget), abs=0.01 + 5.0 * np.sqrt(0.09 / 4000))
    assert even_error(question, budget) <= 0.1 < even_error(question, budget - 1)


@pytest.mark.parametrize("arms", [3, 7])
def test_the_power_is_the_integral_with_dunnett_s_bar(arms):
    """As SciPy has both: the multivariate normal for the bar, quadrature of densities for the power."""
    question = ask(arms=arms, gap=0.01, lengths=10**7)
    pulls = named_budget(question)
    shape = np.full((arms - 1, arms - 1), 0.5) + 0.5 * np.eye(arms - 1)
    below = multivariate_normal(np.zeros(arms - 1), shape, seed=1)
    bar = brentq(lambda d: below.cdf(np.full(arms - 1, d)) - 0.95, 1.5, 3.5, xtol=1e-4)
    se = np.sqrt(arms / pulls)
    power, _ = quad(
        lambda x: norm.pdf(x) * norm.cdf((0.01 + se * x) / se - bar * np.sqrt(2.0)) ** (arms - 1), -9.0, 9.0
    )
    assert power == pytest.approx(0.8, abs=2e-3)


@pytest.mark.parametrize(
    ("arms", "length", "gap", "rate"), [(2, 50, 0.5, None), (4, 3, 0.8, None), (3, 500, None, 0.2)]
)
def test_the_winner_is_named_as_often_as_is_said(arms, length, gap, rate):
    """120 logs each; five sigma, and two points for the formula: a false alarm in a million."""
    question = ask(arms=arms, gap=gap, rate=rate, lift=0.3 if rate else None, lengths=length)
    means = np.array([rate] * (arms - 1) + [1.3 * rate] if rate else [0.0] * (arms - 1) + [gap])
    missed = not_named(means, rate is not None, length, named_budget(question), 0.95, 120, 1)
    assert missed / 120 == pytest.approx(0.2, abs=0.02 + 5.0 * np.sqrt(0.16 / 120))
