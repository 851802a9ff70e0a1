"""What is read off the last states of compiled runs: against the same runs step by step."""

import numpy as np
import pytest

import tideproof as tp
from tideproof.research.paper.dummy_regression import covariance
from tideproof.research.paper.growing_designs import count_pulls
from tideproof.research.paper.panels import LINLUCB, REDUCTION, panels
from tideproof.research.paper.side_studies import bounds, propensities, variance_of_shifts

pytest.importorskip("numba")


def test_the_variance_of_shifts_is_that_of_dense_least_squares():
    counts = np.random.default_rng(2).integers(0, 4, (9, 4)).astype(float)
    counts[0] += 1.0
    dense = covariance(counts)
    contrasts = dense[:4, :4] - dense[:4, :4].mean()  # another generalised inverse, of the arms alone
    assert variance_of_shifts(contrasts, counts) == pytest.approx(dense.diagonal()[4:].mean())
    assert variance_of_shifts(contrasts, counts[:1]) == 0.0


def test_the_variance_of_shifts_in_bounds_is_that_of_runs_step_by_step():
    name = REDUCTION[1]
    spread = []
    for replication in range(3):
        run = tp.replay(panels()[name].world, "linlucb", 4, replication, 60)
        spread.append(covariance(count_pulls(run.environment, run.arm, 5)).diagonal()[5:].mean())
    (row,) = (
        row
        for row in bounds(4, 3)
        if (row["panel"], row["policy"], row["budget"], row["quantity"]) == (name, LINLUCB, 60, "shifts")
    )
    assert row["mean"] == pytest.approx(np.mean(spread))
    assert row["stderr"] == pytest.approx(np.std(spread, ddof=1) / np.sqrt(3))


def weighted_means(run):
    """Return the propensity-weighted means of a run of P1: the ranks of equal sums are averaged over."""
    sums, chances = np.zeros(5), 1.0 / np.arange(1, 6) / sum(1.0 / k for k in range(1, 6))
    for arm, reward in zip(run.arm, run.reward, strict=True):
        ranks = np.flatnonzero(np.sort(-sums) == -sums[arm])
        sums[arm] += reward / chances[ranks].mean()
    return sums / len(run.arm)


def test_propensity_weighted_means_are_compared_with_the_average_reward():
    far = []
    for replication in range(20):
        run = tp.replay(tp.mdm(5), "p1+ips", 5, replication, 100)
        far.append(weighted_means(run) - np.array(tp.mdm(5).means) - run.shift.mean())
    found = propensities(5, 20)
    assert found["mean"] == pytest.approx(np.mean(far, axis=0))
    assert found["stderr"] == pytest.approx(np.std(far, axis=0) / np.sqrt(20))
