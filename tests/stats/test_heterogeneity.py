"""Whether arms differ by the same in all segments: dense least squares, Welch's test, and its size."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.oneway import anova_oneway

from oracles import dummies
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.stats.diagnostics.segment_heterogeneity import heterogeneity
from tideproof.stats.variance.welch_f import welch_f


def draw(random, rows, arms=3, days=4, sd=1.0, effects=None):
    arm, day = random.integers(arms, size=rows), random.integers(days, size=rows)
    arm[:arms], day[:arms] = np.arange(arms), 0  # all arms met
    effects = np.arange(arms) if effects is None else effects
    return arm, day, effects[arm] + 5.0 * random.normal(size=days)[day] + sd * random.normal(size=rows)


def as_cells(arm, day, reward, arms=3):
    order = np.argsort(arm, kind="stable")
    c = cells_from_arrays(arm[order], day[order], reward[order])
    assert c.arms == list(range(arms))
    return c


def test_it_is_weighted_least_squares():
    """Arms of their own in each segment against common ones, rows weighted by the noise of their segment."""
    random = np.random.default_rng(0)
    logs = [draw(random, rows, sd=sd) for rows, sd in ((60, 1.0), (45, 3.0), (90, 0.5))]
    N = sum(reward.size for _, _, reward in logs)
    common, separate = np.zeros((N, 3 + 12)), np.zeros((N, 21))
    y, f, rows, start = np.zeros(N), [], [], 0
    for k, (arm, day, reward) in enumerate(logs):
        X = dummies(arm, day, 3, 4)
        beta, _, rank, _ = np.linalg.lstsq(X, reward, rcond=None)
        f.append(reward.size - rank)
        scale = np.sqrt(np.sum((reward - X @ beta) ** 2) / f[k])
        here = slice(start, start := start + reward.size)
        common[here, :3], common[here, 3 + 4 * k : 7 + 4 * k] = X[:, :3] / scale, X[:, 3:] / scale
        separate[here, 7 * k : 7 * k + 7], y[here] = X / scale, reward / scale
        rows.append(here)
    Q = separate @ np.linalg.pinv(separate) - common @ np.linalg.pinv(common)
    mean = sum(2.0 * np.sum(Q[r, r] ** 2) / nu for r, nu in zip(rows, f, strict=True))
    spread = sum(2.0 * np.trace(Q[r, r]) ** 2 / nu for r, nu in zip(rows, f, strict=True))
    found = heterogeneity([as_cells(*log) for log in logs])
    assert (found.F, found.df2) == pytest.approx(welch_f(y @ Q @ y, 4, mean, spread), rel=1e-8)
    assert (found.df1, found.segments) == (4, 3)


def test_one_difference_a_group_is_welchs_test():
    random = np.random.default_rng(1)
    groups = [random.normal(size=n) * sd for n, sd in ((8, 1.0), (12, 3.0), (30, 0.4), (9, 2.0))]
    wanted = anova_oneway(groups, use_var="unequal")
    w = np.array([g.size / g.var(ddof=1) for g in groups])
    mean = np.array([g.mean() for g in groups])
    Q, f = 1.0 - w / w.sum(), np.array([g.size - 1.0 for g in groups])
    T = np.sum(w * (mean - np.sum(w * mean) / w.sum()) ** 2)
    both = float(np.sum(2.0 * Q**2 / f))
    F, df2 = welch_f(T, 3, both, both)
    assert pytest.approx(wanted.statistic, rel=1e-9) == F
    assert df2 == pytest.approx(wanted.df[1], rel=1e-9)


@pytest.mark.no_cover
def test_its_size_with_unequal_noise():
    """2,000 sets of three small segments, alike but for their noise: p < 0.05 in 3.3 to 6.8 % with probability 1 - 1e-3."""
    random, below = np.random.default_rng(2), 0
    for _ in range(2000):
        logs = [draw(random, rows, sd=sd) for rows, sd in ((20, 1.0), (30, 6.0), (25, 0.3))]
        below += heterogeneity([as_cells(*log) for log in logs]).p < 0.05
    assert 66 <= below <= 136


def test_it_finds_a_segment_in_which_the_winner_is_another():
    random = np.random.default_rng(3)
    logs = [draw(random, 200), draw(random, 200), draw(random, 200, effects=np.array([2.0, 1.0, 0.0]))]
    assert heterogeneity([as_cells(*log) for log in logs]).p < 1e-6


def test_what_cannot_be_compared():
    random = np.random.default_rng(4)
    c = as_cells(*draw(random, 50))
    with pytest.raises(InputError, match="segments cannot be compared"):
        heterogeneity([c])
    with pytest.raises(InputError, match="segments cannot be compared"):
        heterogeneity([])
