"""How much rewards vary: one variance where they vary alike, their own where they do not, and how well it is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from tideproof.data import cells_from_arrays
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance import cell_variances
from tideproof.stats.variance.cell_variances import measure_variances


def log(counts, sd, seed, draw="normal"):
    """Return cells with `counts` rewards and standard deviations `sd`, both (arms, environments)."""
    random = np.random.default_rng(seed)
    arm, environment = (np.repeat(x.ravel(), np.ravel(counts)) for x in np.indices(np.shape(counts)))
    noise = random.normal(size=arm.size)
    if draw == "heavy":
        noise = random.standard_t(3, size=arm.size) / np.sqrt(3.0)
    reward = arm + 5.0 * environment + np.asarray(sd)[arm, environment] * noise
    return cells_from_arrays(arm, environment, reward)


def measured(cells, base=None):
    """Return spreads around least squares, and the variance of the noise were it the same everywhere."""
    s = solve(cells)
    fitted = cells.mean - cells.centred(cells.mean - s.mu[cells.arm])
    base = np.ones(cells.n.size) if base is None else base
    return measure_variances(cells, fitted, base, s.freedom), s.rss / s.freedom


def equal():
    """Six cells with four rewards each that all vary by the same, around means that add up."""
    arm, environment = np.tile([0, 1, 2], 2), np.repeat([0, 1], 3)
    mean = arm + 10.0 * environment
    return Cells(list("ABC"), ["x", "y"], arm, environment, np.full(6, 4.0), mean, np.full(6, 5.0))


def test_equal_variances_are_one_variance():
    cells = equal()
    found, one = measured(cells)
    assert found.variance == pytest.approx(np.full(6, one), rel=1e-12)
    assert (found.arm_trust.tolist(), found.environment_trust.tolist()) == ([0.0] * 3, [0.0] * 2)
    assert found.freedom_of(cells, np.array([1.0, 2.0, 0.0, 5.0, 1.0, 1.0])) == found.freedom == 24 - 4
    assert found.third.tolist() == [0.0] * 6


def test_variances_that_differ_by_chance_are_one_variance():
    """Whenever they differ by less than chance would have them, which is every other log or so."""
    common = 0
    for seed in range(20):
        cells = log(np.full((3, 4), 6), np.ones((3, 4)), seed)
        found, one = measured(cells)
        if not found.arm_trust.any() and not found.environment_trust.any():
            common += 1
            assert found.variance == pytest.approx(np.full(12, one), rel=1e-12)
    assert common >= 5


def test_unequal_variances_are_found():
    """Relative errors of about sqrt(2/freedom): five of these, and no more, are a false alarm in 1e-5."""
    sd = np.array([[1.0], [3.0], [0.5]]) * np.array([1.0, 2.0, 1.0, 1.0])
    cells = log(np.full((3, 4), 500), sd, 1)
    found, _ = measured(cells)
    truth = sd[cells.arm, cells.environment] ** 2
    assert np.abs(found.variance / truth - 1.0).max() < 5 * np.sqrt(2 / 1500) + 5 * np.sqrt(2 / 1500)
    assert found.arm_trust.min() > 0.9
    assert found.environment_trust.min() > 0.9


def test_two_arms_that_vary_by_themselves_have_the_freedom_of_welch():
    """Nearly: a part of what is said of an arm is what is said of both."""
    n, sd = np.array([[12], [40]]), np.array([[6.0], [1.0]])
    cells = log(n, sd, 3)
    found, _ = measured(cells)
    parts = found.variance / cells.n
    v = cells.squares / (cells.n - 1) / cells.n
    welch = v.sum() ** 2 / np.sum(v**2 / (cells.n - 1))
    assert found.freedom_of(cells, parts) == pytest.approx(welch, rel=0.3)
    assert welch < 15 < found.freedom  # the negative control


def test_a_few_rewards_that_happen_to_be_alike_are_not_believed():
    cells = log([[100, 100], [100, 100], [2, 2]], np.ones((3, 2)), 4)
    tiny = replace(cells, squares=np.where(cells.arm == 2, 1e-6, cells.squares), cubes=None, fourths=None)
    tiny = replace(tiny, mean=cells.arm + 5.0 * cells.environment)
    found, one = measured(tiny)
    assert found.variance[tiny.arm == 2].min() > 0.5 * one


def test_heavy_tails_make_an_arm_less_sure_of_its_own_variance():
    cells = log(np.full((4, 5), 30), np.array([[1.0], [1.6], [1.0], [0.8]]) * np.ones(5), 5, "heavy")
    known, _ = measured(cells)
    silent, _ = measured(replace(cells, fourths=None))
    assert np.all(known.arm_trust < silent.arm_trust)
    light = replace(cells, fourths=cells.squares**2 / cells.n)  # as if all deviations had one size
    assert measured(light)[0].arm_trust == pytest.approx(silent.arm_trust)


@pytest.mark.parametrize("seed", range(6))
def test_the_variance_between_is_that_of_paule_and_mandel(seed):
    """The root of sum d^2/(t + e) = size, by bisection; 0 if that is less at 0."""
    random = np.random.default_rng(seed)
    d, error = random.normal(size=7), random.uniform(0.05, 0.5, size=7) * (4.0 if seed > 3 else 1.0)

    def excess(t):
        return np.sum(d**2 / (t + error)) - d.size

    want = optimize.brentq(excess, 0.0, 100.0) if excess(0.0) > 0.0 else 0.0
    assert cell_variances.variance_between(d, error) == pytest.approx(want, rel=1e-6, abs=1e-12)
    assert cell_variances.variance_between(d[:1], error[:1]) == 0.0


def test_a_factor_is_drawn_to_1_by_its_own_noise():
    """Two labels, eight and thirty degrees of freedom, noise 2: trust = t/(t + 2/freedom)."""
    of, squares, left = np.array([0, 1, 1]), np.array([40.0, 5.0, 4.0]), np.array([8.0, 10.0, 20.0])
    found = cell_variances.shrink_variances(of, squares, left, 3, 2.0)
    own, error = np.array([5.0, 0.3]), np.array([2 / 8, 2 / 30])
    t = optimize.brentq(lambda t: np.sum((own - 1) ** 2 / (t + error)) - 2, 0, 100)
    assert found.trust == pytest.approx([*t / (t + error), 0.0])
    assert found.value == pytest.approx([*(1 + t / (t + error) * (own - 1)), 1.0])
    assert found.freedom.tolist() == [8.0, 30.0, 0.0]


def test_skewness_is_that_of_all_rewards():
    """Around the means of the cells, each by its variance: scipy's but for what the variances differ by chance."""
    random = np.random.default_rng(6)
    arm = np.tile([0, 1], 4000)
    reward = random.exponential(size=8000)
    cells = cells_from_arrays(arm, np.zeros(8000), reward)
    found, _ = measured(cells)
    left = reward - np.array([reward[arm == a].mean() for a in (0, 1)])[arm]
    assert found.third / found.variance**1.5 == pytest.approx(np.full(2, stats.skew(left)), rel=0.03)


def test_where_variances_follow_means():
    """On the scale of ratios `base` is the expected mean: what is common is the variance over it."""
    cells = equal()
    base = np.array([1.0, 2.0, 4.0, 1.0, 2.0, 4.0])
    found, _ = measured(replace(cells, squares=5.0 * base), base)
    assert found.variance == pytest.approx(base * 30.0 / 20.0, rel=1e-12)
    none, _ = measured(replace(cells, squares=5.0 * base), np.where(cells.arm == 1, 0.0, base))
    assert none.variance[cells.arm == 1].tolist() == [0.0, 0.0]


def test_rewards_that_never_vary_say_nothing_of_noise():
    cells = replace(equal(), squares=np.zeros(6))
    for odd in (cells, replace(cells, mean=cells.mean * (1 + 1e-16))):
        found, _ = measured(odd)
        assert np.isnan(found.variance).all()
        assert found.freedom_of(odd, np.ones(6)) == 0.0
    assert np.isnan(measure_variances(equal(), equal().mean, np.ones(6), 0).variance).all()


def test_noise_of_unequal_arms_is_neither_lost_nor_added():
    """One arm has a few huge rewards: the variance of the difference of two arms is right on average.

    Shrunk factors of arms leave a part of the squares unexplained, which environments took over: 0.88.
    """
    ratios = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        arm, environment = random.integers(2, size=3000), random.integers(10, size=3000)
        reward = random.lognormal(0.0, 0.5, 3000) * np.where(
            (arm == 1) & (random.random(3000) < 0.005), 20.0, 1.0
        )
        cells = cells_from_arrays(arm, environment, reward)
        found, _ = measured(cells)
        each = cells.squares / (cells.n - 1.0)
        share = cells.n * (1.0 - cells.shares) ** 2
        ratios.append(float(share @ found.variance) / float(share @ each))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.03)
