"""Numbers as they are typed."""

import pytest
from typer import BadParameter
from typer.testing import CliRunner

from tideproof.cli import app
from tideproof.commands import option_types
from tideproof.commands.simulate import format_pics
from tideproof.commands.simulate_suite import format_ratio
from tideproof.errors import InputError


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("-3", -3),
        ("1e5", 100_000),
        ("1.5e1", 15),
        ("2.0", 2),
        ("1_000", 1000),
        (12, 12),
        ("1e30", 10**30),  # the longest that is read
        ("1e31", None),
        ("9" * 31, int("9" * 31)),
        ("1.5", None),
        ("1e-1", None),
        ("nan", None),
        ("inf", None),
        ("-inf", None),
        ("", None),
        ("ten", None),
    ],
)
def test_whole_numbers(typed, value):
    assert option_types.read_whole(typed) == value


def test_budgets():
    assert option_types.read_budgets("100,2e2, 500") == [100, 200, 500]
    with pytest.raises(InputError, match=r"whole numbers separated by commas, not '2\.5'"):
        option_types.read_budgets("100,2.5")


def test_options_say_what_they_want():
    assert option_types.parse_whole("1e3") == 1000
    assert option_types.parse_number("2.5e-1") == 0.25
    with pytest.raises(BadParameter, match=r"whole number such as 1000 or 1e5, not '1\.5'"):
        option_types.parse_whole("1.5")
    with pytest.raises(BadParameter, match="it must be a number, not 'much'"):
        option_types.parse_number("much")
    shown = CliRunner().invoke(app, ["simulate", "--replications", "many"], env={"COLUMNS": "200"})
    assert shown.exit_code == 2
    assert "it must be a whole number such as 1000 or 1e5, not 'many'" in shown.stderr


@pytest.mark.parametrize(
    ("pics", "error", "high", "cell"),
    [
        (0.25, 0.012, 0.3, "0.250 ± 0.012"),
        (0.25, 0.12, 0.3, "0.25 ± 0.12"),
        (0.0, 0.0, 0.0031, "< 0.0031"),
        (1.0, 0.0, 1.0, "1"),
        (0.5, float("nan"), 1.0, "0.5"),
    ],
)
def test_a_share_is_shown_with_two_digits_of_its_error(pics, error, high, cell):
    assert format_pics(pics, error, high) == cell


def test_a_ratio_that_was_left_out_is_a_dash():
    assert (format_ratio(1.005), format_ratio(0.5), format_ratio(float("nan"))) == ("1.00", "0.50", "–")  # noqa: RUF001
