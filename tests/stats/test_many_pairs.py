"""Many pairs of arms at once: the same numbers as one by one, and as comparisons of few arms."""

from typing import Any

import numpy as np
import pytest

from tideproof.analysis.arm_comparisons import compare_with_group_best, find_candidates
from tideproof.stats.best import multiple_comparisons
from tideproof.stats.cells import Cells, bernoulli_moments, group_members
from tideproof.stats.pairs import difference_grid, pair_tests
from tideproof.stats.pairs.odds_pairs import estimate_odds
from tideproof.stats.pairs.ratio_pairs import estimate_ratio
from tideproof.stats.pairs.vectorised_pair_tests import upper_bounds
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance.variance_models import estimate

ARMS, DAYS = 30, 6


def log(kind, seed=3, holes=0.2):
    """Return cells of thirty arms: clicks, amounts that multiply, or numbers to which days add."""
    random = np.random.default_rng(seed)
    n = random.integers(2, 60, (DAYS, ARMS)) * (random.random((DAYS, ARMS)) > holes)
    environment, arm = np.nonzero(n)
    n = n[environment, arm].astype(float)
    level, lift = random.uniform(0.05, 0.3, DAYS), np.exp(random.normal(0.0, 0.5, ARMS))
    mean = level[environment] * lift[arm]
    names = [f"a{i}" for i in range(ARMS)], list(range(DAYS))
    if kind == "clicks":
        rate = random.binomial(n.astype(int), np.minimum(mean, 1.0)) / n
        squares, cubes, fourths = bernoulli_moments(n, rate)
        return Cells(*names, arm, environment, n, rate, squares, cubes=cubes, fourths=fourths)
    if kind == "amounts":
        rows = [
            random.gamma(0.5, 2.0 * m * (1 + (a % 3)), int(k)) for m, k, a in zip(mean, n, arm, strict=True)
        ]
    else:
        noise = [
            random.normal(0.0, 1.0 + a % 3 + j % 2, int(k))
            for k, a, j in zip(n, arm, environment, strict=True)
        ]
        rows = [5 * lift[a] + 9 * level[j] + e for a, j, e in zip(arm, environment, noise, strict=True)]
    off = [row - row.mean() for row in rows]
    second, third, fourth = (np.array([np.sum(x**p) for x in off]) for p in (2, 3, 4))
    average = np.array([row.mean() for row in rows])
    return Cells(*names, arm, environment, n, average, second, cubes=third, fourths=fourth)


ESTIMATES = {
    "difference": lambda cells: estimate(cells, solve(cells), "auto"),
    "ratio": lambda cells: estimate_ratio(cells, solve(cells)),
    "odds": lambda cells: estimate_odds(cells, solve(cells)),
}


def groups(found):
    """Return the arms of each connected group."""
    return [group for _, group in group_members(found.component)]


SCALES = [("clicks", "ratio"), ("amounts", "ratio"), ("numbers", "difference"), ("amounts", "difference")]


@pytest.mark.parametrize(("kind", "scale"), SCALES)
def test_deviates_and_limits_are_those_of_single_pairs(kind, scale, monkeypatch):
    pairs = ESTIMATES[scale](log(kind)).pairs
    i, k = np.array([(i, k) for i in range(1, ARMS, 3) for k in range(1, ARMS) if i != k]).T
    z = np.random.default_rng(1).uniform(0.5, 4.0, i.size)
    assert not pairs.quick
    alone = pairs.deviates(i, k), pairs.uppers(i, k, z)
    monkeypatch.setattr(pair_tests, "MOST_SINGLE_ARMS", 5)
    monkeypatch.setattr(pair_tests, "BLOCK_NUMBERS", 50 * ARMS)  # several blocks
    vars(pairs).pop("_grid")  # found before
    assert pairs.quick
    together = pairs.deviates(i, k), pairs.uppers(i, k, z)
    assert together[0] == pytest.approx(alone[0], abs=1e-8)
    assert together[1] == pytest.approx(alone[1], rel=1e-5, abs=1e-7, nan_ok=True)
    assert np.isfinite(together[0]).mean() > 0.9


@pytest.mark.parametrize("doublings", [1, 2, 3])
@pytest.mark.parametrize(("kind", "scale"), SCALES)
def test_limits_of_many_pairs_are_searched_as_far_as_those_of_single_pairs(
    kind, scale, doublings, monkeypatch
):
    pairs = ESTIMATES[scale](log(kind)).pairs
    i, k = np.array([(i, k) for i in range(1, ARMS, 3) for k in range(1, ARMS) if i != k]).T
    z = np.random.default_rng(1).uniform(-9.0, 9.0, i.size)
    monkeypatch.setattr(pair_tests, "_DOUBLINGS", doublings)
    alone = pairs.uppers(i, k, z)
    monkeypatch.setattr(pair_tests, "MOST_SINGLE_ARMS", 5)
    vars(pairs).pop("_grid")  # found before
    assert pairs.uppers(i, k, z) == pytest.approx(alone, rel=1e-5, abs=1e-7, nan_ok=True)
    assert np.isinf(alone).any()


@pytest.mark.parametrize("gap", [0.0, 0.3])
@pytest.mark.parametrize(("kind", "scale"), SCALES)
def test_pairs_that_are_tested_together_are_not_tested_alone_again(kind, scale, gap):
    """What a batch leaves unknown is tested one by one, which is right but slow: hardly anything may be left."""
    pairs: Any = ESTIMATES[scale](log(kind)).pairs
    i, k = np.array([(i, k) for i in range(1, ARMS, 3) for k in range(1, ARMS) if i != k]).T
    grid = pairs.scale.grid(pairs.law)
    found = grid.test_pairs(i, k)(np.full(i.size, gap))
    known = np.isfinite(found)
    assert known.mean() > 0.9
    alone = [pairs.deviate(a, b, gap) for a, b in zip(i[known].tolist(), k[known].tolist(), strict=True)]
    assert found[known] == pytest.approx(alone, abs=1e-8)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("kind", "scale"), SCALES)
def test_comparisons_of_many_arms_are_those_of_few(kind, scale, sign, monkeypatch):
    def compared():
        found = ESTIMATES[scale](log(kind))
        best = compare_with_group_best(found, groups(found), sign, 0.95)
        return find_candidates(found, groups(found), sign, 0.95), best

    may, few = compared()
    monkeypatch.setattr(multiple_comparisons, "MOST_DETAILED_ARMS", 5)
    monkeypatch.setattr(pair_tests, "MOST_SINGLE_ARMS", 5)
    still, many = compared()
    assert still.tolist() == may.tolist() == many.candidate.tolist()
    assert 0 < np.count_nonzero(may) < ARMS
    for name in ("estimate", "low", "high"):
        assert getattr(many, name) == pytest.approx(getattr(few, name), rel=1e-5, abs=1e-7, nan_ok=True)


def test_where_pairs_are_slow_the_limits_of_those_far_behind_are_wider(monkeypatch):
    found = ESTIMATES["odds"](log("clicks"))
    exact = compare_with_group_best(found, groups(found), 1.0, 0.95)
    monkeypatch.setattr(multiple_comparisons, "MOST_DETAILED_ARMS", 5)
    rough = compare_with_group_best(found, groups(found), 1.0, 0.95)
    assert rough.candidate.tolist() == exact.candidate.tolist()
    assert np.all((rough.low <= exact.low + 1e-9) | np.isnan(exact.low))
    assert np.any(rough.low < exact.low)
    assert rough.high == pytest.approx(exact.high, nan_ok=True)


def test_upper_limits_of_scores_that_are_known():
    """Straight ones, bent ones, and limits that are hit exactly: at the start, one way up, one way down."""

    def deviate(gap):
        return np.array([0.0, 0.0, 0.0, 2.0, -3.0, 0.0, 1.0, -4.0]) - curve(gap)

    def curve(gap):
        return np.where(np.arange(8) == 5, gap**3, gap)

    z = np.array([0.0, 1.0, 3.0, 1.0, 0.0, 8.0, 1.5, 0.5])
    step = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.3, 0.7])
    found = upper_bounds(deviate, np.zeros(8), step, z, 20, 1e-12)
    assert found == pytest.approx([0.0, 1.0, 3.0, 3.0, -3.0, 2.0, 2.5, -3.5], abs=1e-11)
    moved = upper_bounds(deviate, np.full(8, 0.25), step, z, 20, 1e-12)
    assert moved == pytest.approx(found, abs=1e-11)


def test_upper_limits_that_have_no_end_or_are_unknown():
    def deviate(gap):
        return np.array([0.5, -9.0, np.nan, 0.0, 0.0]) - np.array([0.0, 0.0, 1.0, 1.0, 1.0]) * gap

    middle = np.array([0.0, 0.0, 0.0, np.nan, np.inf])
    found = upper_bounds(deviate, middle, np.ones(5), np.full(5, 2.0), 12, 1e-9)
    assert found.tolist()[:2] == [np.inf, -np.inf]
    assert np.isnan(found[2:4]).all()
    assert found[4] == np.inf


@pytest.mark.parametrize("kind", ["numbers", "amounts"])
def test_many_differences_are_those_of_single_pairs_where_arms_meet_rarely(kind, monkeypatch):
    """Some environments have a single arm, and the two arms of a pair come in both orders."""
    cells = log(kind, seed=8, holes=0.8)
    alone = np.flatnonzero(cells.environment != 2)
    cells = cells.select(np.union1d(alone, np.flatnonzero(cells.environment == 2)[:1]))
    assert not cells.compares.all()
    pairs = ESTIMATES["difference"](cells).pairs
    i, k = np.array([(i, k) for i in range(ARMS) for k in range(ARMS) if i != k]).T
    want = pairs.deviates(i, k)
    monkeypatch.setattr(pair_tests, "MOST_SINGLE_ARMS", 5)
    monkeypatch.setattr(difference_grid, "BLOCK_NUMBERS", 50 * ARMS)
    vars(pairs).pop("_grid")  # found before
    assert pairs.deviates(i, k) == pytest.approx(want, abs=1e-8, nan_ok=True)
    assert pairs.deviates(k[:9], i[:9]) == pytest.approx(-want[:9], abs=1e-8, nan_ok=True)
    assert np.isfinite(want).mean() > 0.5
