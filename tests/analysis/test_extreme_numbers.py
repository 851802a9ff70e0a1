"""Rewards in very large and very small units, and bounds that lie very far away."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tideproof.analysis.fit_result import Fit
from tideproof.stats.pairs.ratio_pairs import ratio_pairs


def skewed_log(seed, rows=60):
    """Return arms, days and lognormal(2) rewards: one reward in sixty is about as large as all others."""
    rng = np.random.default_rng([7, seed])
    return rng.choice(["A", "B"], rows), rng.integers(0, 6, rows), rng.lognormal(0.0, 2.0, rows)


@pytest.mark.parametrize("seed", [3, 7, 25, 55, 68])
def test_bounds_that_hold_at_all_looks_may_be_far_away(seed):
    """The search for them tries ratios of exp(600), at which a power of the variance underflows."""
    fit = Fit.from_arrays(*skewed_log(seed), anytime=True)
    found = fit.contrast("A", "B")
    assert fit.verdict
    assert found.low is not None
    assert found.low >= -1.0
    assert found.p is not None
    assert found.p <= 1.0


@pytest.mark.parametrize("seed", [3, 7, 25, 55, 68])
def test_the_test_of_a_ratio_converges_as_the_ratio_grows(seed):
    """Third moments underflow from about exp(480) on; the skewness of the statistic does not change there."""
    cells = Fit.from_arrays(*skewed_log(seed)).cells
    pairs = ratio_pairs(cells, cells.solution.freedom)
    z = [pairs.deviate(0, 1, gap) for gap in np.linspace(30.0, 600.0, 40)]
    assert z == pytest.approx(np.full(40, z[0]), abs=1e-3)
    assert z[0] < -5.0


REWARDS = {
    "lognormal": lambda rng, n: rng.lognormal(0.0, 1.5, n),
    "normal": lambda rng, n: rng.normal(3.0, 1.0, n),
    "mostly 0": lambda rng, n: rng.lognormal(0.0, 1.0, n) * (rng.random(n) < 0.3),
}


def results(exponent, rewards, **options):
    """Return what a fit says of three arms if rewards are multiplied by a power of 2, in the first unit."""
    rng = np.random.default_rng(3)
    arm, day = rng.choice(["A", "B", "C"], 120), rng.integers(0, 6, 120)
    fit = Fit.from_arrays(arm, day, np.ldexp(REWARDS[rewards](rng, 120), exponent), prior="flat", **options)
    found = fit.contrast("A", "B")
    unit = 1.0 if fit.lifts else math.ldexp(1.0, exponent)
    bounds = [math.inf if x is None else x / unit for x in (found.estimate, found.low, found.high)]
    return fit.scale, fit.candidates, [found.p, *bounds, *fit.p_best.values(), fit.additivity().p]


OPTIONS = [{}, {"anytime": True}, {"variance": "by-arm"}, {"variance": "sandwich"}, {"robust": "cells"}]


@settings(max_examples=25, deadline=None)
@given(st.integers(-240, 240), st.sampled_from(sorted(REWARDS)), st.sampled_from(OPTIONS))
def test_rewards_in_any_unit_between_1e_minus_72_and_1e72_say_the_same(exponent, rewards, options):
    scale, candidates, numbers = results(exponent, rewards, **options)
    wanted = results(0, rewards, **options)
    assert (scale, candidates) == wanted[:2]
    assert numbers == pytest.approx(wanted[2], rel=1e-6)


@pytest.mark.parametrize("exponent", [-400, 300, 400])
def test_powers_of_rewards_in_even_stranger_units_are_unknown_but_never_nan(exponent):
    with np.errstate(over="ignore", invalid="ignore"):
        _, candidates, numbers = results(exponent, "normal", scale="difference")
    assert candidates
    assert not np.isnan(np.array(numbers, dtype=float)).any()


def test_tiny_rewards_are_not_0():
    assert not Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [1e-12, 2e-12, 3e-12, 5e-12]).cells.binary
    assert Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [0.0, 0.0, 0.0, 0.0]).cells.binary
