"""The formula of an even split, against integrals by another way and against the lab."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import tideproof as tp
from tideproof.plans.even import even_budget, even_error
from tideproof.plans.question import ask


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
