"""What is read off LinLUCB's runs: against runs step by step, and traces written down by hand."""

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.research.paper.dummy_regression import covariance
from tideproof.research.paper.growing_designs import count_pulls
from tideproof.research.paper.linlucb_runs import (
    BIAS,
    NORMAL,
    OTHER_PULLS,
    SAME_ARM_TWICE,
    SHAPE,
    SINGLE_ARM,
    _kolmogorov_distance,
    environment_starts,
    fixed_design_errors,
    linlucb_statistics,
)
from tideproof.research.paper.panels import REDUCTION, panels

pytest.importorskip("numba")


def traced(environments, two_arms="ab"):
    """Return arms and environments from the arms played in each environment, written as letters."""
    arms = np.array([two_arms.index(arm) for arm in "".join(environments)])
    return arms, np.repeat(np.arange(len(environments)), list(map(len, environments)))


@pytest.mark.parametrize(
    ("environments", "alike", "alone"),
    [
        # the initialisation ends with the sixth pull of both: the twelfth of these
        (["ababababab", "ab", "ab", "ba"], [0, 0, 0], [0, 0, 0]),
        (["abababab", "aab", "b", "ab"], [1, 0, 0], [0, 0, 0]),
        (["ababab", "aa", "abbb", "ab"], [1, 0, 0], [1, 0, 0]),
        (["ababababab", "a", "bb", "ab"], [0, 1, 0], [0, 1, 0]),
        (["ababababab", "a", "bba", "ab"], [0, 1, 0], [0, 0, 0]),
        (["ababababab", "ab", "aa", "ab"], [0, 0, 1], [0, 0, 1]),
        (["ababababab", "ab", "ab", "bb"], [0, 0, 1], [0, 0, 0]),  # the last one is not over
        (["ababababab", "ab", "a", "aa", "a"], [0, 0, 1], [0, 0, 1]),  # a single pull has no second
    ],
)
def test_beginnings_of_environments(environments, alike, alone):
    unlike = traced([("ab" * 10)[: len("".join(environments))]])  # a run beside it changes nothing
    arm, environment = np.stack([traced(environments), unlike], axis=1)
    found = environment_starts(arm, environment, 2)
    assert [each.tolist() for each in found] == [[alike, [0, 0, 0]], [alone, [0, 0, 0]]]


@pytest.fixture(scope="module")
def table():
    return linlucb_statistics(3, 40)


def test_biases_are_averages_over_runs_step_by_step(table):
    name = REDUCTION[1]
    world = panels()[name].world
    errors = []
    for replication in range(40):
        run = tp.replay(world, "linlucb", 3, replication, 100)
        errors.append(run.estimates[-1] - run.estimates[-1][4] - (np.array(world.means) - world.means[4]))
    for arm in range(4):
        (row,) = (
            row
            for row in table
            if (row["panel"], row["quantity"], row["where"]) == (name, BIAS, f"arm {arm + 1} minus arm 5")
        )
        assert row["value"] == pytest.approx(np.mean(errors, axis=0)[arm])
        assert row["stderr"] == pytest.approx(stats.sem(np.array(errors)[:, arm]))
        assert row["runs"] == 40


def test_distances_are_those_of_runs_step_by_step(table):
    name = REDUCTION[0]
    world = panels()[name].world
    standard = []
    for replication in range(40):
        run = tp.replay(world, "linlucb", 3, replication, 100)
        means = covariance(count_pulls(run.environment, run.arm, 5))[:5, :5]
        error = run.estimates[-1][0] - run.estimates[-1][4] - (world.means[0] - world.means[4])
        standard.append(error / np.sqrt(means[0, 0] + means[4, 4] - 2.0 * means[0, 4]))
    found = {
        row["quantity"]: row["value"]
        for row in table
        if (row["panel"], row["where"]) == (name, "arm 1 minus arm 5")
    }
    assert found[NORMAL] == pytest.approx(stats.kstest(standard, "norm").statistic)
    assert found[SHAPE] == pytest.approx(stats.kstest(stats.zscore(standard), "norm").statistic)


def test_shares_are_those_of_runs_step_by_step(table):
    name = REDUCTION[1]
    seen = np.zeros((2, 3))
    for replication in range(40):
        run = tp.replay(panels()[name].world, "linlucb", 3, replication, 100)
        seen += np.vstack(environment_starts(run.arm[None], run.environment[None], 5))
    for quantity, row in ((SAME_ARM_TWICE, seen[0]), (SINGLE_ARM, seen[1])):
        assert [
            r["value"] for r in table if (r["panel"], r["quantity"]) == (name, quantity)
        ] == pytest.approx(row / 40)
    assert seen[0].sum() > 0
    assert [row["value"] for row in table if row["quantity"] == OTHER_PULLS] == [0.0] * 4


def test_on_a_fixed_design_standardised_differences_have_their_covariance():
    counts = np.array([[2.0, 1, 0], [0, 3, 1], [1, 1, 2]])
    means = covariance(counts)[:3, :3]
    found = fixed_design_errors(counts, (0.0, 1.0, 0.5), seed=2, draws=40_000)
    assert not found[:, 1].any()  # the best arm minus itself
    contrast = np.array([[1.0, -1, 0], [0, -1, 1]])
    expected = contrast @ means @ contrast.T
    correlation = expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1])
    # standard errors of 1/200: a miss by 0.03 is six of them, one in 1e9
    assert np.cov(found[:, [0, 2]].T) == pytest.approx(
        np.array([[1, correlation], [correlation, 1]]), abs=0.03
    )


def test_the_distance_is_that_of_kolmogorov():
    values = np.random.default_rng(1).standard_normal(500) * 1.3 - 0.2
    assert _kolmogorov_distance(values) == pytest.approx(stats.kstest(values, "norm").statistic)


def test_under_linlucb_poor_arms_look_poorer_than_they_are():
    """All sixteen biases have a standard error of at most 0.016; their average, about -0.09, of less."""
    biases = [row for row in linlucb_statistics(3, 1000) if row["quantity"] == BIAS]
    assert len(biases) == 16
    assert max(row["stderr"] for row in biases) < 0.017
    assert np.mean([row["value"] for row in biases]) < -0.03
