"""The yardsticks, against statsmodels and scipy."""

import numpy as np
import pytest
from scipy.stats import ttest_ind
from statsmodels.stats.contingency_tables import StratifiedTable

from tideproof.data import cells_from_arrays
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.random_logs import draw
from tideproof.research.trust.reference_tests import mantel_haenszel, run_paired_tests, welch

DRAWN = Setting("conversions", 0.1, 2, 300, 6, "drifting", "multiplies", 0.5, "last", 0.5)


@pytest.mark.parametrize("number", range(5))
def test_mantel_haenszel(number):
    c = draw(DRAWN, number).cells
    n, ones = np.zeros((2, 2, c.J))
    n[c.arm, c.environment], ones[c.arm, c.environment] = c.n, np.rint(c.n * c.mean)
    tables = [np.array([ones[::-1, j], (n - ones)[::-1, j]]).T for j in range(c.J)]
    wanted = StratifiedTable(tables).test_null_odds(correction=False).pvalue
    above = sum(t[0, 0] - t[0].sum() * t[:, 0].sum() / t.sum() for t in tables)
    assert mantel_haenszel(c) == pytest.approx(np.copysign(wanted, above), rel=1e-9)


def test_mantel_haenszel_without_an_event_says_nothing():
    c = cells_from_arrays([0, 1, 0, 1], [0, 0, 1, 1], [0.0] * 4)
    assert mantel_haenszel(c) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_welch(seed):
    rng = np.random.default_rng(seed)
    arm, environment = rng.integers(2, size=60), rng.integers(3, size=60)
    reward = rng.lognormal(size=60) * (1.0 + arm)
    test = ttest_ind(reward[arm == 1], reward[arm == 0], equal_var=False)
    cells = cells_from_arrays(np.where(arm, "b", "a"), environment, reward)
    first_is_b = cells.arms[0] == "b"
    wanted = np.copysign(test.pvalue, -test.statistic if first_is_b else test.statistic)
    assert welch(cells) == pytest.approx(wanted, rel=1e-9)


def test_welch_without_noise_says_nothing():
    assert welch(cells_from_arrays([0, 1, 0, 1], [0, 0, 1, 1], [1.0] * 4)) == 1.0


def test_a_duel_says_who_looks_better():
    found = run_paired_tests(DRAWN._replace(lift=5.0), 0, 3)
    assert found.named.tolist() == [1, 1, 1]
    assert np.all((found.ours > 0.0) & (found.theirs > 0.0))
    turned = run_paired_tests(DRAWN._replace(truth="first", lift=5.0), 0, 3)
    assert turned.named.tolist() == [-1, -1, -1]
    assert np.all((turned.ours < 0.0) & (turned.theirs < 0.0))
