"""Growth of the noise with the level of an environment: against a gamma regression, and by coverage."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.analysis import Fit
from tideproof.stats.cells import Cells
from tideproof.stats.variance.cell_variances import growth_factors


def many_environments(J=60, seed=1, power=1.5):
    """Return cells of two arms in J environments, their levels, squared residuals and degrees of freedom."""
    random = np.random.default_rng(seed)
    level, left = np.repeat(np.exp(random.normal(size=J)), 2), random.integers(2, 9, 2 * J).astype(float)
    arm, environment = np.tile([0, 1], J), np.repeat(np.arange(J), 2)
    cells = Cells([0, 1], list(range(J)), arm, environment, left + 1.0, level, left)
    return cells, level, level**power * random.chisquare(left), left


@pytest.mark.parametrize("power", [-1.0, 1.5])
def test_the_power_is_that_of_a_gamma_regression(power):
    import statsmodels.api as sm

    cells, level, squares, left = many_environments(power=power)
    total, freedom = cells.by_environment(squares), cells.by_environment(left)
    x = np.log(level[::2])
    theirs = sm.GLM(
        total / freedom,
        sm.add_constant(x),
        family=sm.families.Gamma(sm.families.links.Log()),
        freq_weights=freedom,
    ).fit(tol=1e-12)
    k = theirs.params[1]
    error = 2.0 / np.sum(freedom * (x - np.average(x, weights=freedom)) ** 2)
    found = growth_factors(cells, level, squares, left, 2.0)
    slope = np.log(found[2] / found[0]) / np.log(level[2] / level[0])
    assert slope == pytest.approx(k * (1.0 - error / k**2), rel=1e-6)
    assert abs(k - power) < 0.5


def test_without_different_levels_above_0_nothing_grows():
    cells, level, squares, left = many_environments()
    for fitted in (np.ones_like(level), level - level.mean(), np.zeros_like(level)):
        assert growth_factors(cells, fitted, squares, left, 2.0).tolist() == [1.0] * level.size


def test_noise_that_hardly_grows_is_taken_as_constant():
    """A power within its standard error is 0: with no growth in about two of three logs."""
    none = 0
    for seed in range(60):
        cells, level, squares, left = many_environments(seed=seed, power=0.0)
        none += bool(np.all(growth_factors(cells, level, squares, left, 2.0) == 1.0))
    assert 28 <= none <= 53  # by chance outside in 1 of 1,000


def test_lifts_from_many_environments_of_three_rewards_are_covered():
    """200 logs; 181 or fewer of intervals at 95 % cover in 1 of 150 such tests; without growth 178 did here."""
    covered = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        day, arm = np.repeat(np.arange(300), 3), random.integers(0, 2, 900)
        level = np.exp(0.8 * random.normal(size=300))[day] * (1.0 + 0.2 * arm)
        reward = level * np.maximum(1.0 + 0.2 * random.normal(size=900), 0.01)
        found = Fit.from_arrays(arm, day, reward, scale="ratio").contrast(1, 0)
        covered += found.low <= 0.2 <= found.high
    assert covered > 181
