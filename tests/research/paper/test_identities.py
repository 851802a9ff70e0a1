"""The paper's algebra: dense least squares against a solver that shares nothing with it, and the examples."""

import numpy as np
import pytest
from scipy import stats

from tideproof.research.paper.algebra_identities import (
    RandomDesign,
    identities,
    least_squares_identities,
    one_arm_environment_effect,
    raw_mean_identity,
)
from tideproof.research.paper.dummy_regression import covariance, dummies, estimate

COUNTS = np.array([[2.0, 1, 0], [0, 3, 1], [1, 0, 2], [1, 1, 1]])


def drawn(seed=5):
    rng = np.random.default_rng(seed)
    cells = np.count_nonzero(COUNTS)
    return RandomDesign(
        COUNTS, np.array([0.0, 0.5, 2.0]), np.array([0.0, 9.0, 3.0, 14.0]), rng.standard_normal(cells)
    )


def test_estimates_are_those_of_lstsq_with_a_row_for_each_pull():
    here = drawn()
    X, n = dummies(COUNTS)
    rows, rewards = np.repeat(X, n.astype(int), axis=0), np.repeat(here.rewards, n.astype(int))
    assert estimate(COUNTS, here.rewards) == pytest.approx(np.linalg.lstsq(rows, rewards)[0])
    assert covariance(COUNTS) == pytest.approx(np.linalg.pinv(rows) @ np.linalg.pinv(rows).T)
    # column by column: arms, then environments but the first
    assert rows.sum(axis=0).tolist() == [4, 5, 4, 4, 3, 3]
    moved = estimate(COUNTS, here.rewards, gauge=3)
    first = estimate(COUNTS, here.rewards)
    assert moved[:3] - first[:3] == pytest.approx(np.full(3, first[-1]))


def test_identities_hold_for_the_truth_and_would_notice_another():
    here = drawn()
    assert raw_mean_identity(here)["raw means"] < 1e-12
    found = least_squares_identities(here)
    for quantity in ("separate means", "separate shifts", "modified means", "error without noise"):
        assert found[quantity] < 1e-12, quantity
    assert found["contrasts in another gauge"] < 1e-12
    assert found["expected variance estimate"] < 1e-12
    assert max(one_arm_environment_effect(here).values()) < 1e-12
    # a second arm in the added environment does move the estimates
    more = np.vstack([COUNTS, [[0.0, 1.0, 3.0]]])
    moved = estimate(more, np.append(here.rewards, [50.0, 123.0]))
    assert np.abs(moved[:3] - estimate(COUNTS, here.rewards)[:3]).max() > 1.0


@pytest.fixture(scope="module")
def found():
    return {(row["quantity"], row["where"]): row["value"] for row in identities(1, 1)}


def test_the_example_of_two_environments(found):
    where = "pulls of the inferior arm 5 and 10, of the superior 5 and 5"
    assert found["weight of the second shift", where] == pytest.approx(10 / 15 - 5 / 10)
    spread = np.sqrt(1 / 15 + 1 / 10)
    none, large = (found[f"chance of the inferior arm, {size} shift", where] for size in ("no", "large"))
    assert none == pytest.approx(stats.norm.cdf(-0.5 / spread))
    assert large == pytest.approx(stats.norm.cdf((100 / 6 - 0.5) / spread))
    assert (
        found["weight of the second shift", "pulls of the inferior arm 5 and 5, of the superior 5 and 5"]
        == 0.0
    )


def test_the_examples_of_connected_and_separate_arms(found):
    apart, chained = "{1, 2}, {1, 2, 3}, {4, 5}", "1 2, then 2 3 5, then 5 4"
    assert (found["groups of arms", apart], found["rank missing in X'X", apart]) == (2, 1)
    assert (found["groups of arms", chained], found["rank missing in X'X", chained]) == (1, 0)
    assert found["groups of arms", "ten arms in turn, 100 environments of two pulls"] == 5
    # without end the penalty picks the shortest of all solutions: a + b = 20 with 2 a^2 + b^2 least
    ridge = "ridge: bias of arm 1 minus arm 4"
    assert found[ridge, f"{apart}, 10000 times"] == pytest.approx(20.0 / 3.0, abs=1e-3)
    assert found[ridge, f"{chained}, 10000 times"] < 0.01


def test_the_printed_covariances_are_too_large_on_every_design(found):
    for what in ("means", "shifts"):
        ratios = [
            value for (quantity, _), value in found.items() if quantity == f"printed Cov of {what} over OLS"
        ]
        assert len(ratios) == 10
        assert min(ratios) > 2.0
