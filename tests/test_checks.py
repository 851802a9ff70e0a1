"""Checks of arguments: the boundaries of what they accept, and the value that an error names."""

import math

import numpy as np
import pytest

from tideproof.checks import (
    LARGEST_EXACT_INTEGER,
    require_confidence,
    require_direction,
    require_finite,
    require_list,
    require_whole_number,
)
from tideproof.errors import InputError, MissingExtra, UnknownName, describe_value


@pytest.mark.parametrize("value", [2, 5, np.int32(3)])
def test_whole_numbers_include_both_limits(value):
    result = require_whole_number("n", value, 2, 5)
    assert (result, type(result)) == (value, int)


@pytest.mark.parametrize("value", [1, 6, 2.0, True, "3", None, math.nan])
def test_other_values_are_no_whole_numbers_in_the_range(value):
    with pytest.raises(InputError, match=r"^n must be a whole number from 2 to 5, not ") as error:
        require_whole_number("n", value, 2, 5)
    assert str(error.value).endswith(repr(value))


def test_the_largest_exact_integer_is_named_only_to_those_who_exceed_it():
    assert LARGEST_EXACT_INTEGER == 2**53
    assert float(LARGEST_EXACT_INTEGER) != float(LARGEST_EXACT_INTEGER - 1)
    assert float(LARGEST_EXACT_INTEGER) == float(LARGEST_EXACT_INTEGER + 1)
    assert require_whole_number("n", LARGEST_EXACT_INTEGER, 0, LARGEST_EXACT_INTEGER) == LARGEST_EXACT_INTEGER
    with pytest.raises(InputError, match="of at least 0, not -1"):
        require_whole_number("n", -1, 0, LARGEST_EXACT_INTEGER)
    with pytest.raises(
        InputError, match=f"from 0 to {LARGEST_EXACT_INTEGER}, not {LARGEST_EXACT_INTEGER + 1}"
    ):
        require_whole_number("n", LARGEST_EXACT_INTEGER + 1, 0, LARGEST_EXACT_INTEGER)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(1.0)])
def test_finite_numbers_include_the_lower_limit(value):
    result = require_finite("x", value, 0.0)
    assert (result, type(result)) == (value, float)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, "1", b"1", None, [1.0], 10**400])
def test_what_is_not_a_finite_number(value):
    with pytest.raises(InputError, match=r"^x must be a finite number, not "):
        require_finite("x", value)


def test_a_finite_number_below_the_limit():
    assert require_finite("x", -1.0) == -1.0
    with pytest.raises(InputError, match=r"^x must be a finite number of at least 0\.5, not 0\.25$"):
        require_finite("x", 0.25, 0.5)


def test_lists():
    assert require_list("x", (1, 2)) == [1, 2]
    assert require_list("x", iter("ab")) == ["a", "b"]
    with pytest.raises(InputError, match=r"^x must be several values.* not None$"):
        require_list("x", None)


@pytest.mark.parametrize("value", [0.0, 1.0, 95, -0.5])
def test_a_confidence_level_is_strictly_between_0_and_1(value):
    assert require_confidence(0.5) == 0.5
    assert require_confidence(1e-9) == 1e-9
    with pytest.raises(InputError, match=f"between 0 and 1.* not {value}"):
        require_confidence(value)


@pytest.mark.parametrize("value", ["Maximize", "", None, 1])
def test_directions(value):
    assert [require_direction(each) for each in ("maximize", "minimize")] == ["maximize", "minimize"]
    with pytest.raises(InputError, match="'maximize' or 'minimize', not ") as error:
        require_direction(value)
    assert str(error.value).endswith(repr(value))


def test_an_unknown_name_lists_at_most_twenty_names():
    error = UnknownName.with_suggestion("arm", "xyz", range(20))
    assert str(error) == f"unknown arm 'xyz'; known: {', '.join(map(str, range(20)))}"
    assert str(UnknownName.with_suggestion("arm", "xyz", range(21))).endswith("18, 19, …")
    assert str(UnknownName.with_suggestion("arm", 7, [])) == "unknown arm 7; known: none"
    assert isinstance(error, KeyError)


def test_numbers_are_described_if_python_cannot_print_them():
    assert describe_value(10**4299) == "1" + "0" * 4299
    assert "4300 digits" in describe_value(10**4300)


def test_a_missing_extra_names_the_command():
    error = MissingExtra.for_module("numba", "lab", "simulation")
    assert str(error) == "simulation needs numba: pip install 'tideproof[lab]'"
    assert isinstance(error, ImportError)
