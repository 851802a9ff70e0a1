"""Boundaries of planned looks against published tables and integrals over multivariate normal densities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

from tideproof.errors import InputError
from tideproof.stats.looks.brownian_boundaries import crossing_probabilities, spending_boundaries
from tideproof.stats.looks.look_levels import find_look_levels
from tideproof.stats.looks.spending_functions import require_spending, spent_alpha

# Jennison and Turnbull (2000), Tables 2.1, 2.3 and 2.9: constants of two-sided tests with equal groups
POCOCK = {
    0.01: {2: 2.772, 3: 2.873, 4: 2.939, 5: 2.986, 10: 3.117, 20: 3.225},
    0.05: {2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413, 10: 2.555, 20: 2.672},
    0.10: {2: 1.875, 3: 1.992, 4: 2.067, 5: 2.122, 10: 2.270, 20: 2.392},
}
OBRIEN_FLEMING = {
    0.01: {2: 2.580, 3: 2.595, 4: 2.609, 5: 2.621, 10: 2.660, 20: 2.695},
    0.05: {2: 1.977, 3: 2.004, 4: 2.024, 5: 2.040, 10: 2.087, 20: 2.126},
    0.10: {2: 1.678, 3: 1.710, 4: 1.733, 5: 1.751, 10: 1.801, 20: 1.842},
}
WANG_TSIATIS = {0.05: {2: 2.038, 3: 2.083, 4: 2.113, 5: 2.136, 10: 2.199, 20: 2.248}}  # Delta = 0.25
TABLES = [
    (shape, alpha, looks, constant)
    for shape, table in ((0.5, POCOCK), (0.0, OBRIEN_FLEMING), (0.25, WANG_TSIATIS))
    for alpha, row in table.items()
    for looks, constant in row.items()
]


@pytest.mark.parametrize(("shape", "alpha", "looks", "constant"), TABLES)
def test_classical_constants_are_those_of_the_tables(shape, alpha, looks, constant):
    share = np.arange(1, looks + 1) / looks

    def excess(factor):
        up, down = crossing_probabilities(factor * share ** (shape - 0.5), share)
        return up.sum() + down.sum() - alpha

    assert brentq(excess, 1.0, 5.0, xtol=1e-6) == pytest.approx(constant, abs=6e-4)


def test_spending_boundaries_are_those_of_the_literature():
    """Boundaries of five equal looks, as the package ldbounds lists them."""
    share = np.arange(1, 6) / 5
    published = {
        "pocock": [2.4380, 2.4268, 2.4101, 2.3966, 2.3859],
        "obrien-fleming": [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
    }
    for spending, bounds in published.items():
        found = spending_boundaries(spent_alpha(spending, np.array([[0.05]]), share), share)[0]
        np.testing.assert_allclose(found, bounds, atol=6e-4)


def rectangle(bounds, information, drift=0.0):
    """Return the probability that no z-score leaves its bounds, by integration of the normal density."""
    ratio = information / information[:, None]
    correlation = np.sqrt(np.minimum(ratio, 1.0 / ratio))
    law = multivariate_normal(drift * np.sqrt(information), correlation, maxpts=400_000, abseps=1e-7)
    return float(law.cdf(bounds, lower_limit=-bounds))


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
@pytest.mark.parametrize("information", [[1.0, 2.0, 3.0, 4.0], [0.5, 0.6, 3.0, 3.1], [2.0, 2.2, 2.4, 9.0]])
def test_spending_boundaries_agree_with_an_integral_over_the_normal_density(spending, information):
    information = np.array(information)
    spent = spent_alpha(spending, np.array([[0.2]]), np.array([0.3, 0.5, 0.6, 1.0]))
    bounds = spending_boundaries(spent, information)[0]
    for looks in (1, 2, 3, 4):
        inside = rectangle(bounds[:looks], information[:looks])
        assert 1.0 - inside == pytest.approx(spent[0, looks - 1], abs=2e-5)


def test_power_agrees_with_an_integral_over_the_normal_density():
    bounds, information = np.array([3.0, 2.5, 2.1]), np.array([1.0, 1.7, 3.0])
    up, down = crossing_probabilities(bounds, information, drift=1.1)
    assert up[0] == pytest.approx(norm.sf(3.0 - 1.1), abs=1e-9)
    assert down[0] == pytest.approx(norm.cdf(-3.0 - 1.1), abs=1e-9)
    assert 1.0 - up.sum() - down.sum() == pytest.approx(rectangle(bounds, information, 1.1), abs=2e-5)


def test_looks_without_new_information_spend_what_they_may():
    information = np.array([1.0, 1.0, 2.0])
    bounds = spending_boundaries(np.array([[0.01, 0.03, 0.05]]), information)[0]
    assert np.all(np.isfinite(bounds))
    up, down = crossing_probabilities(bounds, information)
    assert up.sum() + down.sum() == pytest.approx(0.05, abs=1e-6)
    assert spending_boundaries(np.array([[0.05, 0.05]]), information[:2])[0, 1] > 2.5  # nothing is left


def test_level_is_the_error_of_the_whole_plan():
    share = np.array([1.0, 2.0, 4.0, 5.0]) / 14
    information = np.array([0.15, 0.4, 0.85, 1.0])
    found = find_look_levels("pocock", share, information)
    for level in (0.3, 0.05, 0.007, 1e-4):
        spent = spent_alpha("pocock", np.array([[level]]), share)
        bound = spending_boundaries(spent, information)[0, -1]
        assert found.level_of(bound) == pytest.approx(level, rel=2e-3)
        assert found.bound_at(level) == pytest.approx(bound, abs=2e-3)
    assert found.level_of(0.0) == 1.0
    assert 0.0 < found.level_of(9.0) < 1e-12
    z = np.linspace(0.5, 12.0, 200)
    assert np.all(np.diff([found.level_of(x) for x in z]) <= 0.0)


def test_a_pair_that_was_not_compared_at_a_look_has_not_spent_anything_there():
    share = np.array([1.0, 2.0, 3.0]) / 5
    late = find_look_levels("pocock", share, np.array([0.0, 0.5, 1.0]))
    missed = find_look_levels("pocock", share[1:], np.array([0.5, 1.0]))
    assert late.bound_at(0.05) == missed.bound_at(0.05)
    assert late.bound_at(0.05) < find_look_levels("pocock", share, np.array([0.3, 0.5, 1.0])).bound_at(0.05)


def test_single_look_at_the_end_is_the_usual_test():
    found = find_look_levels("obrien-fleming", np.ones(1), np.ones(1))
    assert found.bound_at(0.05) == pytest.approx(norm.isf(0.025), abs=1e-4)
    assert found.level_of(2.5) == pytest.approx(2.0 * norm.sf(2.5), rel=2e-3)


def test_spending_begins_at_nothing_and_ends_at_everything():
    share = np.linspace(0.0, 1.2, 13)
    for spending in ("pocock", "obrien-fleming"):
        spent = spent_alpha(spending, np.array(0.05), share)
        assert spent[0] == 0.0
        np.testing.assert_allclose(spent[share >= 1.0], 0.05, rtol=1e-12)
        assert np.all(np.diff(spent) >= -1e-15)
    assert spent_alpha("pocock", np.array(0.05), np.array(0.5)) == pytest.approx(
        0.05 * math.log(1.0 + (math.e - 1.0) * 0.5)
    )
    with pytest.raises(InputError, match=r"'pocock' or 'obrien-fleming', not 'linear'"):
        require_spending("linear")
