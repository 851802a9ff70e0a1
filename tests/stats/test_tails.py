"""Tails of skewed sums against scipy's Pearson III and exact mid-p values; Student-t numbers as normal ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tideproof.stats.best import student_inference
from tideproof.stats.best.student_inference import deviate, deviates, normal_from_student, student_from_normal


@pytest.mark.parametrize("skewness", [-2.5, -0.7, -1e-3, 1e-4, 0.05, 0.4, 1.5])
@pytest.mark.parametrize("sd", [0.2, 30.0])
def test_a_deviate_is_as_rare_as_the_pearson_iii_number(skewness, sd):
    for z in (-6.0, -2.5, -1.0, 0.0, 0.3, 1.96, 4.0, 9.0):
        law = stats.pearson3(skewness, scale=sd)
        above, below = law.sf(z * sd), law.cdf(z * sd)
        found = deviate(z * sd, sd**2, skewness * sd**3)
        if min(above, below) == 0.0:  # beyond the end of the law
            assert found == math.copysign(37.0, z)
        else:
            want = stats.norm.isf(above) if above < below else stats.norm.ppf(below)
            assert found == pytest.approx(want, abs=1e-4 if abs(skewness) < 0.01 else 1e-8)


def test_a_law_without_skewness_is_normal_and_one_without_variance_says_nothing():
    assert deviate(3.0, 4.0, 0.0) == 1.5
    assert deviate(3.0, 4.0, 1e-6) == 1.5
    assert deviate(3.0, 0.0, 0.0) == 0.0
    assert math.isnan(deviate(3.0, math.nan, math.nan))


@given(st.floats(-30.0, 30.0), st.floats(-3.0, 3.0), st.integers(-300, 300))
def test_the_unit_of_a_skewed_number_does_not_matter(z, skewness, exponent):
    """Third moments of any unit whose cube is representable; powers of 2 are exact."""
    unit = math.ldexp(1.0, exponent)
    scaled = (unit * z, unit**2, np.float64(unit) ** 3 * skewness)
    assert deviate(*scaled) == deviate(z, 1.0, skewness)
    assert deviates(*(np.array([x]) for x in scaled)) == pytest.approx([deviate(z, 1.0, skewness)], rel=1e-12)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(5e-324, 1e308),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_no_moments_are_too_small_or_too_large(x, variance, third):
    """A power of the variance would be 0 below 1e-216 and infinite above 1e205."""
    assert not math.isnan(deviate(x, variance, third))


def test_the_mirror_of_a_law_is_the_law_of_the_mirror():
    for x, third in ((0.7, 2.0), (-3.0, 0.5), (8.0, -4.0)):
        assert deviate(-x, 2.0, -third) == pytest.approx(-deviate(x, 2.0, third), abs=1e-12)


@pytest.mark.parametrize("rate", [1.0, 3.0, 10.0, 40.0])
def test_the_deviate_of_a_count_is_that_of_its_mid_p_value(rate):
    """Poisson counts that are as rare as one in a thousand on either side; a normal law is off by far more."""
    law = stats.poisson(rate)
    worst = normal = 0.0
    for count in range(int(rate) + 60):
        mid = law.sf(count) + 0.5 * law.pmf(count)
        if 1e-3 < mid < 1 - 1e-3:
            want = stats.norm.isf(mid)
            worst = max(worst, abs(deviate(count - rate, rate, rate) - want))
            normal = max(normal, abs((count - rate) / math.sqrt(rate) - want))
    assert worst < 0.2 / math.sqrt(rate)
    assert normal > 4 * worst


def test_student_t_numbers_and_normal_ones_are_exceeded_as_seldom():
    for freedom in (1.0, 3.5, 40.0, 1e6):
        for t in (-30.0, -2.0, 0.0, 0.4, 7.0):
            z = normal_from_student(t, freedom)
            assert z == pytest.approx(math.copysign(stats.norm.isf(stats.t.sf(abs(t), freedom)), t), abs=1e-9)
            assert student_from_normal(z, freedom) == pytest.approx(t, rel=1e-7)
    for same in (normal_from_student, student_from_normal):
        assert same(1.3, math.inf) == 1.3


def test_student_t_numbers_without_end_and_none():
    assert normal_from_student(math.inf, 5.0) == math.inf
    assert normal_from_student(-math.inf, 5.0) == -math.inf
    assert math.isnan(normal_from_student(math.nan, 5.0))
    assert normal_from_student(-1e300, 50.0) == -37.0
    assert np.isfinite(student_from_normal(8.0, 2.0))


def test_many_at_once_are_those_one_by_one():
    random = np.random.default_rng(6)
    x, variance, freedom = (
        random.normal(0.0, 9.0, 200),
        random.uniform(0.1, 9.0, 200),
        random.uniform(1.0, 50.0, 200),
    )
    third = variance**1.5 * random.choice([-2.0, -0.3, 0.0, 1e-7, 0.4, 3.0], 200)
    variance[:3] = 0.0
    freedom[3:5] = np.inf
    each = zip(x.tolist(), variance.tolist(), third.tolist(), strict=True)
    alone = np.array([student_inference.deviate(*one) for one in each])
    assert student_inference.deviates(x, variance, third) == pytest.approx(alone, rel=1e-12)
    student = [
        student_inference.normal_from_student(z, nu)
        for z, nu in zip(alone.tolist(), freedom.tolist(), strict=True)
    ]
    assert student_inference.normals_from_student(alone, freedom) == pytest.approx(student, rel=1e-12)
    assert np.isnan(student_inference.normals_from_student(alone[:1], np.zeros(1))).all()
