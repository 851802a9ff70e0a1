"""Runs that stop when they are sure, in worlds on which nothing was calibrated; the ledger's other parts."""

import pytest

from tideproof.table import Table
from tideproof.trust import parts
from tideproof.trust.stops import CAPS, POLICIES, Stops, places, play, table


def test_worlds_are_the_same_every_time_and_of_all_kinds():
    found = places(40)
    assert found == places(40) == places(80)[:40]
    assert {place.name.split(" ", 1)[1].split(",")[0] for place in found} == {
        "tie",
        "near tie",
        "slippage",
        "two levels",
        "drawn",
    }
    assert {place.world.arms for place in found} == {2, 3, 4, 5, 7, 10, 16, 30}
    assert len(POLICIES) == 5
    assert CAPS == (300, 1000)


def test_stops_are_counted_and_judged():
    """Of 400 runs among equals more than 35 stop in less than one of a thousand cases if 5 % do."""
    tie = next(place for place in places() if place.name.endswith("tie, 2 arms, 2\N{EN DASH}200 pulls"))
    rows = list(play([tie], 400, caps=(100,), policies=("round-robin",), rules=("calibrated",)))
    (row,) = rows
    assert (row.policy, row.rule, row.cap, row.runs) == ("round-robin", "calibrated", 100, 400)
    assert row.wrong == row.stopped <= 35
    shown = table(rows)
    assert shown["kept"] == [True]
    assert shown["low"][0] <= shown["share"][0] <= shown["high"][0]


@pytest.mark.parametrize(("wrong", "kept"), [(1000, True), (1090, True), (1110, False)])
def test_a_promise_is_broken_if_chance_alone_would_do_that_in_one_of_a_thousand(wrong, kept):
    """Of 20,000 runs, 1,097 wrong ones or more have a probability of .001 if 5 % are; by the binomial law."""
    assert Stops("tie", "contrast", "calibrated", 300, 20_000, wrong, wrong, 290.0).kept is kept


def test_rows_that_break_a_promise():
    assert parts.broken(Table({"x": [1, 2, 3], "kept": [True, False, True]})) == [1]
    assert parts.broken(Table({"a_kept": [True, False], "b_kept": [False, True]})) == [0, 1]
    assert parts.broken(Table({"kept": [True]})) == []
