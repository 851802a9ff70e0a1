"""Conditional logit against enumeration, statsmodels and Mantel-Haenszel; two arms exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import fisher_exact, hypergeom, nchypergeom_fisher

from multiplicative_logs import conversions, from_events, given_total, rows
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import move_apart
from tideproof.stats.pairs.exact_odds_distribution import conditional_odds
from tideproof.stats.pairs.odds_pairs import OddsPairScale
from tideproof.stats.scales.conditional_likelihood import competing_cells
from tideproof.stats.scales.odds_likelihood import (
    conditional_moments,
    count_ones_and_zeros,
    find_kinds,
    solve_odds,
)

CLOSE = 1e-8  # what iterations of others leave


def log(arms=3, environments=10, size=9, seed=0, chance=(0.1, 0.7)):
    random = np.random.default_rng(seed)
    counts = random.integers(1, size, (environments, arms))
    counts[(np.arange(environments)[:, None] + np.arange(arms)) % 4 == 0] = 0
    rate = random.uniform(*chance, (environments, 1)) + 0.1 * np.arange(arms)
    return conversions(counts, rate, random)


def totals(cells):
    return cells.by_environment(count_ones_and_zeros(cells)[0])


@pytest.mark.parametrize("theta", [np.zeros(3), np.array([0.0, 1.5, -2.0]), np.array([-9.0, 0.0, 8.0])])
def test_moments_are_those_of_all_outcomes(theta):
    random = np.random.default_rng(1)
    counts = random.integers(1, 7, (12, 3)).astype(float)
    T = np.floor(1 + random.random(12) * (counts.sum(axis=1) - 1.0))
    weight = random.random(12)
    cells = from_events(counts, counts)
    expected, between = conditional_moments(cells, T, theta, weight)
    want = [given_total(n, t, theta) for n, t in zip(counts, T, strict=True)]
    assert expected.reshape(12, 3) == pytest.approx(np.array([mean for mean, _ in want]), abs=1e-11)
    covariance = sum(w * C for w, (_, C) in zip(weight, want, strict=True))
    assert between[np.triu_indices(3, 1)] == pytest.approx(-covariance[np.triu_indices(3, 1)], abs=1e-11)


@pytest.mark.parametrize(
    ("n", "T"),
    [
        ((20, 20), 20),  # every chance is one half
        ((900, 1500), 3),
        ((900, 1500), 1000),
        ((4000, 90000), 30000),
        ((10**6, 10**6), 2000),
    ],
)
@pytest.mark.parametrize("theta", [0.0, 0.4, -2.5])
def test_moments_with_many_events_are_the_noncentral_hypergeometric(n, T, theta):
    cells = from_events(np.array([n], float), np.array([n], float))
    expected, between = conditional_moments(cells, np.array([float(T)]), np.array([theta, 0.0]))
    law = nchypergeom_fisher(sum(n), n[0], T, np.exp(theta))
    assert expected[0] == pytest.approx(law.mean(), rel=1e-9)
    assert between[0, 1] == pytest.approx(law.var(), rel=1e-6)  # scipy's own error


@pytest.mark.filterwarnings("ignore:Dropped")  # environments where all or none converted
@pytest.mark.parametrize("seed", range(3))
def test_odds_are_the_conditional_logit_of_statsmodels(seed):
    from statsmodels.discrete.conditional_models import ConditionalLogit

    cells = log(seed=seed)
    arm, environment, reward = rows(cells)
    model = ConditionalLogit(reward, (arm[:, None] == [1, 2]).astype(float), groups=environment)
    ours = solve_odds(cells)
    gaps = np.array([ours.gap(1, 0), ours.gap(2, 0)])
    # their optimiser stops early: it is their likelihood that must be flat at our estimate
    information = -_slope(model.score, gaps)
    assert np.linalg.solve(information, model.score(gaps)) == pytest.approx([0.0, 0.0], abs=CLOSE)
    D = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    assert np.allclose(D @ ours.P @ D.T, np.linalg.inv(information), rtol=1e-6)  # theirs by differences
    assert model.fit(disp=0).params == pytest.approx(gaps, abs=1e-3)


def _slope(function, at, step=1e-5):
    return np.array(
        [(function(at + step * e) - function(at - step * e)) / (2.0 * step) for e in np.eye(at.size)]
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_score_at_no_difference_is_mantel_haenszel(seed):
    from statsmodels.stats.contingency_tables import StratifiedTable

    random = np.random.default_rng(seed)
    counts = random.integers(2, 400, (8, 2)).astype(float)
    cells = conversions(counts, random.uniform(0.02, 0.6, (8, 1)) * [1.0, 1.3], random)
    S, F = (x.reshape(8, 2) for x in count_ones_and_zeros(cells))
    T = totals(cells)
    expected, between = conditional_moments(cells, T, np.zeros(2))
    score = (S.ravel() - expected)[cells.arm == 0].sum()
    tables = [np.array([s, f]).T for s, f in zip(S, F, strict=True)]
    theirs = StratifiedTable(tables).test_null_odds(correction=False)
    assert score**2 / between[0, 1] == pytest.approx(theirs.statistic, rel=CLOSE)


def test_matched_pairs_are_mcnemar():
    S = np.array([[1, 0]] * 7 + [[0, 1]] * 3 + [[1, 1]] * 4 + [[0, 0]] * 5)
    found = solve_odds(from_events(np.ones_like(S), S))
    assert np.exp(found.gap(0, 1)) == pytest.approx(7 / 3, rel=1e-12)
    assert found.P[0, 0] + found.P[1, 1] == pytest.approx(1 / 7 + 1 / 3, rel=1e-10)


def test_expected_events_of_an_arm_are_those_seen():
    cells = log(4, 30, seed=5)
    found = solve_odds(cells)
    assert cells.by_arm(cells.n * found.fitted) == pytest.approx(
        cells.by_arm(count_ones_and_zeros(cells)[0]), rel=1e-10
    )
    assert cells.by_environment(cells.n * found.fitted) == pytest.approx(totals(cells), rel=1e-10)


def test_arms_that_always_or_never_convert():
    counts = np.full((3, 4), 6)
    S = np.array([[2, 0, 3, 6], [3, 0, 1, 6], [1, 0, 1, 6]])
    found = solve_odds(from_events(counts, S))
    less = solve_odds(from_events(counts[:, [0, 2]], S[:, [0, 2]]))
    assert found.theta[[1, 3]].tolist() == [-np.inf, np.inf]
    assert (found.gap(1, 0), found.gap(3, 0), found.gap(1, 3)) == (-np.inf, np.inf, -np.inf)
    assert found.gap(0, 2) == pytest.approx(less.gap(0, 1), abs=1e-12)


def test_groups_and_environments_that_compare_nothing():
    counts = np.array([[9, 9, 0, 0], [0, 0, 9, 9], [5, 0, 0, 0], [3, 3, 0, 0], [0, 4, 0, 0]])
    S = np.array([[2, 4, 0, 0], [0, 0, 6, 3], [2, 0, 0, 0], [3, 3, 0, 0], [0, 0, 0, 0]])
    found, less = solve_odds(from_events(counts, S)), solve_odds(from_events(counts[:2], S[:2]))
    assert found.component.tolist() == [0, 0, 1, 1]
    assert np.isnan(found.gap(0, 2))
    assert found.gap(1, 0) == pytest.approx(less.gap(1, 0), abs=1e-12)
    assert np.allclose(found.P, less.P, rtol=0.0, atol=1e-12)


class ExactComparison(NamedTuple):
    """Estimate, 95 % confidence bounds, both tail probabilities and the two-sided p-value."""

    estimate: float
    low: float
    high: float
    above: float
    below: float
    p: float


def exact_odds(cells, i, k, null=0.0, mid=True):
    """The exact comparison of the odds of two arms by their conditional distribution."""
    law = conditional_odds(cells, i, k, mid)
    up, down = law.tails(null)
    return ExactComparison(
        law.estimate(), law.lower(0.025), law.upper(0.025), up, down, min(1.0, 2.0 * min(up, down))
    )


def test_one_table_is_fishers_test():
    cells = from_events(np.array([[14, 11]]), np.array([[9, 3]]))
    table = [[9, 5], [3, 8]]
    found = exact_odds(cells, 0, 1, mid=False)
    assert found.above == pytest.approx(fisher_exact(table, "greater").pvalue, rel=1e-10)
    assert found.below == pytest.approx(fisher_exact(table, "less").pvalue, rel=1e-10)
    ends = np.exp([found.low, found.high])
    law = [nchypergeom_fisher(25, 14, 12, odds) for odds in ends]
    assert (law[0].sf(8), law[1].cdf(9)) == pytest.approx((0.025, 0.025), rel=1e-7)
    half = exact_odds(cells, 0, 1)
    assert half.above == pytest.approx(found.above - 0.5 * hypergeom(25, 14, 12).pmf(9), rel=1e-10)
    law = [nchypergeom_fisher(25, 14, 12, np.exp(x)) for x in (half.low, half.high)]
    assert law[0].sf(9) + 0.5 * law[0].pmf(9) == pytest.approx(0.025, rel=1e-7)
    assert law[1].cdf(8) + 0.5 * law[1].pmf(9) == pytest.approx(0.025, rel=1e-7)


def test_many_tables_are_convolved():
    cells = log(2, 25, 30, seed=2)
    S, _ = (x for x in count_ones_and_zeros(cells))
    null, chance, seen = 0.7, np.ones(1), 0
    for j in range(cells.J):
        here = {int(cells.arm[c]): c for c in np.flatnonzero(cells.environment == j)}
        if len(here) == 2:
            n, T = cells.n[[here[0], here[1]]], int(S[here[0]] + S[here[1]])
            chance = np.convolve(
                chance, nchypergeom_fisher(n.sum(), n[0], T, np.exp(null)).pmf(np.arange(T + 1))
            )
            seen += int(S[here[0]])
    found = exact_odds(cells, 0, 1, null=null, mid=False)
    assert found.above == pytest.approx(chance[seen:].sum(), rel=1e-7)
    assert found.below == pytest.approx(chance[: seen + 1].sum(), rel=1e-7)
    assert found.p == min(1.0, 2.0 * min(found.above, found.below))
    assert found.estimate == pytest.approx(solve_odds(cells).gap(0, 1), abs=1e-10)
    again = exact_odds(cells, 0, 1, null=found.high, mid=False)
    assert again.below == pytest.approx(0.025, rel=1e-9)


def test_a_p_value_far_out_keeps_its_digits():
    n, S = 3000, (700, 300)
    cells = from_events(np.array([[n, n]]), np.array([S]))
    found = exact_odds(cells, 0, 1, mid=False)
    assert found.above == pytest.approx(hypergeom(2 * n, n, sum(S)).sf(S[0] - 1), rel=1e-6)
    assert 0.0 < found.above < 1e-40


def test_limits_where_one_arm_has_all_or_nothing_is_known():
    cells = from_events(np.array([[20, 20, 5]]), np.array([[0, 4, 0]]))
    found = exact_odds(cells, 0, 1)
    assert (found.estimate, found.low) == (-np.inf, -np.inf)
    assert np.isfinite(found.high)
    nothing = exact_odds(cells, 0, 2)
    assert np.isnan(nothing.estimate)
    assert (nothing.low, nothing.high, nothing.p) == (-np.inf, np.inf, 1.0)


def test_other_rewards_are_refused():
    cells = from_events(np.array([[4, 4]]), np.array([[2, 1.5]]))
    with pytest.raises(InputError, match="scale='odds' needs rewards that are all 0 or 1"):
        solve_odds(cells)


@pytest.mark.parametrize("gap", [0.0, 0.7])
def test_a_hypothesis_on_two_arms_changes_only_environments_with_one_of_them(gap):
    """The expected ones, computed there alone, are those of all environments computed again."""
    cells = log(arms=6, environments=30, seed=5, chance=(0.1, 0.4))
    cells = cells.select(np.flatnonzero((cells.arm - cells.environment) % 3 != 0))
    scale = OddsPairScale(cells)
    theta = move_apart(scale.theta, 1, 4, gap, cells.by_arm(cells.n * scale.slope(scale.fitted)))
    part, kept = competing_cells(cells, np.zeros(6, int), *count_ones_and_zeros(cells))
    T = part.by_environment(count_ones_and_zeros(cells)[0][kept])
    expected = count_ones_and_zeros(cells)[0].copy()
    expected[kept] = conditional_moments(part, T, theta)[0]
    assert cells.n * scale.null(1, 4, gap).mean == pytest.approx(expected, abs=1e-11)
    there = np.isin(cells.environment, cells.environment[(cells.arm == 1) | (cells.arm == 4)])
    assert 0 < there.sum() < there.size


def test_environments_that_are_alike_are_computed_once():
    """400 environments, some without an arm or with two rewards of one: as if each were computed alone."""
    random = np.random.default_rng(2)
    arm, environment = np.tile(np.arange(6), 400), np.repeat(np.arange(400), 6)
    kept = random.permutation(np.flatnonzero(random.random(arm.size) < 0.97))
    n = random.choice([1.0, 2.0], kept.size, p=[0.98, 0.02])
    ones = random.binomial(n.astype(int), 0.4)
    squares = ones * (1.0 - ones / n)
    cells = Cells(list("ABCDEF"), list(range(400)), arm[kept], environment[kept], n, ones / n, squares)
    T = cells.by_environment(ones)
    mixed = (T > 0) & (cells.sizes > T)
    part, T = cells.select(np.flatnonzero(mixed[cells.environment])), T[mixed]
    theta, weight = 0.3 * random.normal(size=6), random.random(part.J)
    kinds = find_kinds(part, T)
    assert kinds.totals.size < part.J / 2
    expected, between = conditional_moments(part, T, theta, weight)
    for j in range(part.J):
        own = np.flatnonzero(part.environment == j)
        alone, covariances = conditional_moments(part.select(own), T[j : j + 1], theta, weight[j : j + 1])
        assert expected[own] == pytest.approx(alone, abs=1e-12)
        between = between - covariances
    assert np.abs(between).max() < 1e-10
