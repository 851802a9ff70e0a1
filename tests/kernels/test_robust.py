"""Cells that are wrong: left out when they come, and nothing else is."""

import numpy as np
import pytest

from oracles import dense
from tideproof.core.kernel_linker import link, use_interpreter
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.fit import outlying_cells
from tideproof.kernels.fit.fixed_effects import connected
from tideproof.kernels.fit.outlying_cells import OutlierResistantFit
from tideproof.kernels.fit.policy_data import Slot, enter
from tideproof.stats import cells as stats_cells
from tideproof.stats.diagnostics.outlying_cell_search import find_outlying_cells

ARMS = 4
MEANS = np.array([0.0, 0.5, 1.0, 2.0])
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


class Cells:
    """The kernels, driven by hand, and every reward."""

    def __init__(self, seed=0):
        self.observe, self.enter = (
            link(f, use_interpreter, {"CELLS": True}) for f in (outlying_cells.observe, enter)
        )
        self.fit, self.slots = allocate(OutlierResistantFit, ARMS).view, {}
        self.random, self.rows = np.random.default_rng(seed), []

    def slot(self, environment):
        return self.slots.setdefault(environment, allocate(Slot, ARMS)).view

    def tell(self, arm, environment, off=0.0):
        slot = self.slot(environment)
        reward = MEANS[arm] + 7.0 * environment + off + self.random.normal()
        self.observe(self.fit, slot, arm, 1, reward, 0.0)
        self.enter(slot, arm, 1, reward)
        self.rows.append((arm, environment, reward))

    def play(self, environment, pulls, wrong=None, off=0.0, first=0.0):
        """Tell rewards of all arms in turn; `off` and `first` are added to those of a wrong and the first arm."""
        for t in range(pulls):
            arm = t % ARMS
            self.tell(arm, environment, off if arm == wrong else first if arm == 0 else 0.0)

    def left_out(self, environment):
        return np.flatnonzero(self.slot(environment).weights).tolist()

    def check(self, cells=()):
        """Compare with dense least squares of all rewards but those of these cells."""
        kept = [row for row in self.rows if row[:2] not in cells]
        arm, environment, y = (np.array(column) for column in zip(*kept, strict=True))
        oracle = dense(arm, environment, y, ARMS, environment.max() + 1)
        for i in range(1, ARMS):
            c = np.zeros(ARMS + environment.max() + 1)
            c[i], c[0] = 1.0, -1.0
            estimate, variance = oracle.combination(c)
            P, mu = self.fit.doubt.P, self.fit.doubt.mu
            np.testing.assert_allclose(mu[i] - mu[0], estimate, **CLOSE)
            np.testing.assert_allclose(P[i, i] + P[0, 0] - 2 * P[i, 0], variance, **CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_without_outliers_it_is_least_squares(seed):
    cells = Cells(seed)
    for t in range(80):
        cells.tell(int(cells.random.integers(ARMS)), t // 9)
        if connected(cells.fit):
            cells.check()


@pytest.mark.parametrize("seed", range(4))
def test_a_wrong_cell_is_left_out_when_two_agree_against_it(seed):
    cells = Cells(seed)
    cells.play(0, 12)
    cells.play(1, 12, wrong=2, off=20.0)
    cells.play(2, 12)
    assert [cells.left_out(j) for j in range(3)] == [[], [2], []]
    cells.check({(2, 1)})


@pytest.mark.parametrize("wrong", [0, 1])
def test_of_two_that_contradict_each_other_the_third_decides(wrong):
    cells = Cells()
    cells.play(0, 12)
    cells.play(1, 2, wrong=wrong, off=-20.0)
    assert cells.left_out(1) == [1]  # the second, whichever is wrong
    cells.tell(2, 1)
    assert cells.left_out(1) == [wrong]
    cells.check({(wrong, 1)})


@pytest.mark.parametrize("off", [-20.0, 20.0])
def test_a_first_environment_that_was_wrong_is_forgotten(off):
    cells = Cells()
    cells.play(0, 12, wrong=2, off=off)
    assert np.argmax(cells.fit.mu) == (2 if off > 0.0 else 3)
    cells.tell(0, 1)
    assert cells.fit.P[2, 2] > 100.0  # one pull of it would tell
    for arm in (1, 2, 3):
        cells.tell(arm, 1)
    assert cells.left_out(1) == []
    assert cells.fit.P[2, 2] < 10.0
    cells.play(2, 12)
    cells.check({(2, 0)})


def test_an_arm_that_is_far_from_the_others_is_looked_at_more_often():
    cells = Cells()
    for j in range(4):
        cells.play(j, 8, wrong=3, off=-20.0)
        cells.tell(0, j + 10)
        assert cells.fit.P[3, 3] > 100.0
        assert (cells.fit.P[1, 1] > 100.0) == (j == 0)


def test_what_was_believed_before_noise_was_known_is_forgotten_if_it_does_not_fit():
    cells = Cells()
    cells.play(0, ARMS, wrong=3, off=20.0)
    cells.play(1, 3 * ARMS)
    assert cells.left_out(1) == []
    cells.play(2, 2 * ARMS)
    cells.check({(arm, 0) for arm in range(ARMS)})


def test_an_arm_that_is_far_off_by_itself_is_believed_when_it_was_seen_often():
    cells = Cells()
    for j in range(5):
        cells.play(j, 8, wrong=3, off=20.0)  # so it is
    cells.play(5, 8)  # wrong, though nearer to the others
    assert [cells.left_out(j) for j in range(6)] == [[], [], [], [], [], [3]]
    cells.check({(3, 5)})


@pytest.mark.parametrize("off", [-40.0, 40.0])
@pytest.mark.parametrize("first", [0, 1])
def test_where_an_arm_was_left_out_by_the_same_amount_is_counted(first, off):
    """Environments come back: the first to be numbered may be the first with an outlying cell."""
    cells = Cells()
    cells.tell(0, first)
    for j in range(2, 7):  # the arms are known well
        cells.play(j, 8)
    doubt = cells.fit.doubt
    assert cells.slot(first).epoch[0] == 1
    assert doubt.seen.tolist() == [5, 5, 5, 5]
    assert not doubt.where.any()

    def leave_out(environment, off, again=1):
        for _ in range(again):
            cells.tell(2, environment, off)
        assert cells.left_out(environment) == [2]
        where, times = doubt.where.tolist(), doubt.times.tolist()
        assert where == [0, 0, int(cells.slot(environment).epoch[0]), 0]
        assert times[:2] + times[3:] == [0, 0, 0]
        others, counts = (0, 1, 3), cells.slot(environment).counts
        n = np.array([counts[i] for i in others])
        means = np.array([cells.slot(environment).means[i] for i in others])
        gap = doubt.mu[2] - n @ doubt.mu[list(others)] / n.sum()
        assert doubt.off[2] == pytest.approx(cells.slot(environment).means[2] - n @ means / n.sum() - gap)
        return times[2]

    cells.tell(1, first)
    cells.tell(3, first)
    assert leave_out(first, off) == 1
    assert leave_out(first, off, again=3) == 1  # once for each environment
    for j, amount, times in ((9, off, 2), (10, off + 30.0, 1), (11, off + 30.0, 2), (12, off, 1)):
        for arm in (0, 1, 3):
            cells.tell(arm, j)
        assert leave_out(j, amount) == times
    cells.check({(2, j) for j in (first, 9, 10, 11, 12)})


@pytest.mark.parametrize("arms", [2, 3, 5, 6])
def test_the_median_of_others(arms):
    median = link(outlying_cells.median_estimate, use_interpreter)
    values = np.random.default_rng(arms).integers(0, 4, arms).astype(float)  # some are equal
    assert median(values, -1) == np.median(values)
    for but in range(arms):
        assert median(values, but) == np.median(np.delete(values, but))


def test_two_wrong_days_do_not_outweigh_many_right_ones():
    cells = Cells()
    for j in range(4):
        cells.play(j, 8)
    for j in (4, 5):
        cells.play(j, 8, wrong=3, off=-20.0)
    assert [cells.left_out(j) for j in range(6)] == [[], [], [], [], [3], [3]]
    cells.check({(3, 4), (3, 5)})


FIRST = pytest.mark.parametrize("first", [0.0, -20.0])  # estimates are relative to the first arm


@FIRST
@pytest.mark.parametrize("known", [1, 2, 3])
def test_a_value_farther_from_the_others_must_occur_in_two_more_environments(known, first):
    cells = Cells()
    for j in range(known):
        cells.play(j, 8, first=first)
    for j in range(known, 2 * known + 2):
        cells.play(j, 8, wrong=3, off=20.0, first=first)
    out = [cells.left_out(j) for j in range(2 * known + 2)]
    assert out == [[]] * known + [[3]] * (known + 1) + [[]]
    cells.check({(3, j) for j in range(2 * known + 1)})
    doubt = cells.fit.doubt
    assert connected(cells.fit)
    assert (doubt.seen[3], doubt.times[3], doubt.where[3]) == (known + 2, 0, 0)


@FIRST
@pytest.mark.parametrize(("known", "days"), [(3, 1), (4, 2), (6, 2), (7, 3)])
def test_a_value_nearer_to_the_others_must_occur_in_a_third_as_many_environments(known, days, first):
    cells = Cells()
    for j in range(known):
        cells.play(j, 8, wrong=3, off=20.0, first=first)
    for j in range(known, known + days):
        cells.play(j, 8, first=first)
    out = [cells.left_out(j) for j in range(known + days)]
    assert out == [[]] * known + [[3]] * (days - 1) + [[]]
    cells.check({(3, j) for j in range(known + days - 1)})


@pytest.mark.parametrize("wrong", [(), ((4, 1), (11, 3))])
@pytest.mark.parametrize("seed", range(5))
def test_the_search_of_a_finished_log_finds_the_same_cells(seed, wrong):
    played, environments = Cells(seed), 16
    for environment in range(environments):
        for t in range(12):
            played.tell(t % ARMS, environment, 20.0 * ((environment, t % ARMS) in wrong))
    rewards = [[[y for a, j, y in played.rows if (a, j) == (arm, environment)] for arm in range(ARMS)]
               for environment in range(environments)]  # fmt: skip
    y = np.array(rewards)
    environment, arm = np.divmod(np.arange(environments * ARMS), ARMS)
    mean, squares = y.mean(axis=2), y.var(axis=2) * y.shape[2]
    n = np.full(arm.size, float(y.shape[2]))
    log = stats_cells.Cells(list(range(ARMS)), list(range(environments)), arm, environment, n,
                            mean.ravel(), squares.ravel())  # fmt: skip
    off = ~find_outlying_cells(log).cells
    assert set(zip(environment[off].tolist(), arm[off].tolist(), strict=True)) == set(wrong)
    assert {(j, a) for j in range(environments) for a in played.left_out(j)} == set(wrong)
