"""PICS against closed forms and published numbers, with negative controls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

import tideproof as tp
from simulations import ALARM, POLICIES, WORLD

pytest.importorskip("numba")


def wrong_among(study, label, budget):
    at = study.budgets.index(budget)
    return study.replications - int(study.tally.chosen[study.policies.index(label), at, -1])


def round_robin_pics(means, sigma, pulls):
    """P(the last arm has not the largest of independent normal means): a one-dimensional integral."""
    gaps = (means[-1] - np.array(means[:-1])) * np.sqrt(pulls) / sigma
    right, _ = integrate.quad(
        lambda z: stats.norm.pdf(z) * special.ndtr(z + gaps).prod(), -9, 9, epsabs=1e-12
    )
    return 1 - right


@pytest.fixture(scope="module")
def still():
    return tp.simulate(tp.mdm(5, "stationary"), ["round-robin"], [50, 150], replications=50_000, seed=10)


def test_round_robin_without_shifts_against_the_integral(still):
    for budget in still.budgets:
        p = round_robin_pics(still.world.means, 1.0, budget / 5)
        assert stats.binomtest(wrong_among(still, "round-robin", budget), 50_000, p).pvalue > ALARM


def round_robin_pics_of_sums(best, other):
    """P(the sum of the best arm is not the larger of two), half of the ties wrong: laws on 0, 1, 2, ..."""
    k = np.arange(1000)
    return float((best.pmf(k) * (other.sf(k) + 0.5 * other.pmf(k))).sum())


@pytest.mark.parametrize(
    ("kind", "law"),
    [("conversions", lambda p: stats.binom(60, p)), ("counts", lambda p: stats.poisson(60 * p))],
)
def test_round_robin_on_rewards_that_are_numbers_against_the_sum(kind, law):
    """Every arm has 60 pulls of the same mean, whatever the tide: it is a week of one day here."""
    for tide, means in (("adds", (0.1, 0.15)), ("multiplies", (0.05 * 2, 0.05 * 3))):
        shift = 0.05 if tide == "adds" else np.log(2.0)
        world = tp.World(
            [0.05, 0.1] if tide == "adds" else [0.05, 0.075],
            lengths=None,
            shifts=tp.worlds.Weekly([shift]),
            rewards=kind,
            tide=tide,
        )
        study = tp.simulate(world, "round-robin", [120], replications=50_000, seed=10)
        p = round_robin_pics_of_sums(law(means[1]), law(means[0]))
        assert stats.binomtest(wrong_among(study, "round-robin", 120), 50_000, p).pvalue > ALARM


def test_one_pull_of_money_each_against_the_normal_integral():
    """Logarithms of two amounts differ by a normal number: its mean is that of the logarithms of the means."""
    world = tp.World([2.0, 5.0], lengths=None, shifts=tp.worlds.NoShift(), rewards="money")
    study = tp.simulate(world, "round-robin", [2], replications=50_000, seed=10)
    p = special.ndtr(-np.log(2.5) / np.sqrt(2 * np.log(2)))
    assert stats.binomtest(wrong_among(study, "round-robin", 2), 50_000, p).pvalue > ALARM


def test_the_same_test_fails_under_shifts(values):
    """Negative control: the raw mean is not what the integral says once the world moves."""
    p = round_robin_pics(WORLD.means, 1.0, 20)
    wrong = wrong_among(values["general"], "round-robin", 100)
    assert stats.binomtest(wrong, values["general"].replications, p).pvalue < ALARM


def test_the_raw_mean_drowns_under_skewed_shifts():
    """Negative control: every fourth pull meets a tide of 12, and the worse arm always gets it."""
    world = tp.World([1.0, 0.0], lengths=tp.worlds.Lengths([3, 1]), shifts=tp.worlds.Weekly([0.0, 12.0]))
    study = tp.simulate(world, ["round-robin", "round-robin+ols"], [120], replications=2000, seed=1)
    assert study.pics("round-robin") > 0.99
    assert study.pics("round-robin+ols") < 0.1


# policies.md, section 2: PICS at T = 100, 200, 300 in MDM, K = 5, and the replications behind them
PUBLISHED = {
    ("general", "linlucb"): (20_000, (0.0153, 0.0006, 0.0000)),
    ("general", "round-robin+ols"): (20_000, (0.058, 0.0116, 0.0036)),
    ("general", "round-robin"): (4_000, (0.134, 0.059, 0.028)),
    ("cannot-sample-all-arms", "linlucb"): (20_000, (0.0262, 0.0020, 0.0002)),
    ("cannot-sample-all-arms", "round-robin+ols"): (20_000, (0.0804, 0.0235, 0.0074)),
}


@pytest.fixture(scope="module")
def values():
    budgets = [100, 200, 300]
    return {
        scenario: tp.simulate(tp.mdm(5, scenario), POLICIES, budgets, replications=40_000, seed=12)
        for scenario in ("general", "cannot-sample-all-arms")
    }


@pytest.mark.parametrize(("cell", "published"), PUBLISHED.items())
def test_published_values_as_two_binomials(values, cell, published):
    (scenario, label), (n, rates) = cell, published
    study = values[scenario]
    for budget, rate in zip(study.budgets, rates, strict=True):
        ours, theirs = wrong_among(study, label, budget), round(rate * n)
        table = [[ours, study.replications - ours], [theirs, n - theirs]]
        assert stats.fisher_exact(table).pvalue > ALARM / len(rates), (budget, ours / study.replications)


def test_linlucb_against_half_a_million_replications(values):
    ours = wrong_among(values["cannot-sample-all-arms"], "linlucb", 100)
    table = [[ours, 40_000 - ours], [13_800, 500_000 - 13_800]]  # PICS .0276
    assert stats.fisher_exact(table).pvalue > ALARM
