"""Numbers as people read them: with the digits that their interval deserves, and a unit."""

import math

import pytest

from tideproof.text import PERCENT, PLAIN, POINTS


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [
        (0.0, 1.0, 1),
        (0.0, 0.99, 2),
        (0.0, 99.0, 0),
        (5.0, 5.0, None),  # an interval of no width says nothing
        (None, 1.0, None),
        (0.0, math.inf, None),
        (0.0, 1e-12, 9),  # no more
    ],
)
def test_decimals_show_two_digits_of_the_interval(low, high, digits):
    assert PLAIN.interval_decimals(low, high) == digits


def test_percent_is_a_hundred_times_as_much():
    assert PERCENT.interval_decimals(0.0, 0.0099) == PLAIN.interval_decimals(0.0, 0.99)
    assert PERCENT.format_estimate(0.01234, 0.01, 0.02) == "1.2 %"


def test_what_rounds_to_nothing_keeps_its_sign_only_where_signs_are_shown():
    assert PLAIN.format_number(-0.001, 2) == "0.00"
    assert PLAIN.format_number(-0.001, 2, "+") == "-0.00"  # below 0, as its interval may be
    assert PLAIN.format_number(0.001, 2, "+") == PLAIN.format_number(-0.0, 2, "+") == "+0.00"
    assert PLAIN.format_rough(-0.0, "+") == "+0"
    assert PLAIN.format_rough(-0.5, "+") == "-0.5"


def test_a_unit_behind_each_or_behind_all():
    assert PERCENT.format_interval(-0.01, 0.02, "+") == "-1.0 % to +2.0 %"
    assert POINTS.format_interval(-0.01, 0.02, "+") == "-1.0 to +2.0 percentage points"
    assert POINTS.format_interval(0.01, None) == "1 percentage points or more"
    assert PERCENT.format_interval(-math.inf, 0.02) == "2 % or less"


def test_thousands_stand_apart():
    assert PLAIN.format_estimate(12345.6, 12000.0, 13000.0) == "12,346"
    assert PLAIN.format_rough(-123456.7) == "-123,457"
