"""Runs that stop when they are sure, in worlds on which nothing was calibrated; the ledger's other parts."""

import pytest

from tideproof.errors import InputError
from tideproof.research.trust.ledger_part import PartOptions, broken_rows
from tideproof.research.trust.ledger_part_registry import PARTS, find_part
from tideproof.research.trust.wrong_stops import (
    CAPS,
    LONG,
    PART,
    POLICIES,
    StopCounts,
    play,
    random_stop_worlds,
    summary_lines,
    table,
)
from tideproof.table import Table


def test_worlds_are_the_same_every_time_and_of_all_kinds():
    found = random_stop_worlds(40)
    assert found == random_stop_worlds(40) == random_stop_worlds(80)[:40]
    assert {place.name.split(" ", 1)[1].split(",")[0] for place in found} == {
        "tie",
        "near tie",
        "slippage",
        "two levels",
        "normal means",
    }
    assert {place.world.arms for place in found} == {2, 3, 4, 5, 7, 10, 16, 30}
    assert len(POLICIES) == 5
    assert CAPS == (300, 1000)


def test_twenty_worlds_of_all_kinds_and_numbers_of_arms_have_a_long_cap():
    found = [place for place in random_stop_worlds() if LONG in place.caps]
    assert len(found) == 20
    assert len({place.name.split(" ", 1)[1].split(",")[0] for place in found}) == 5
    assert {place.world.arms for place in found} == {2, 3, 4, 5, 7, 10, 16, 30}


def test_stops_are_counted_and_judged():
    """Of 400 runs among equals more than 35 stop in less than one of a thousand cases if 5 % do."""
    tie = next(
        place for place in random_stop_worlds() if place.name.endswith("tie, 2 arms, 2\N{EN DASH}200 pulls")
    )
    (rows,) = play([tie], 400, caps=(100,), policies=("round-robin",), rules=("calibrated",))
    (row,) = rows
    assert (row.policy, row.rule, row.cap, row.runs) == ("round-robin", "calibrated", 100, 400)
    assert row.wrong == row.stopped <= 35
    shown = table(rows)
    assert shown["kept"] == [True]
    assert shown["low"][0] <= shown["share"][0] <= shown["high"][0]
    assert summary_lines(rows)[0].startswith(
        "calibrated rule, budget 100: of 1 row, 0 have a share of wrong stops significantly above 5 %"
    )


def test_a_world_has_the_same_numbers_alone_and_for_any_number_of_workers():
    asked = {"caps": (60,), "policies": ("round-robin",), "rules": ("calibrated",)}
    both = list(play(random_stop_worlds(2), 300, **asked))
    assert next(play(random_stop_worlds(2)[1:], 300, workers=2, **asked)) == both[1]
    assert next(play(random_stop_worlds(2)[1:], 300, seed=8, **asked)) != both[1]


def test_heavy_tails_are_another_noise_and_promised_nothing():
    asked = {"caps": (60,), "policies": ("round-robin",), "rules": ("calibrated",)}
    (plain,), (heavy,) = (
        next(play(random_stop_worlds(1), 300, heavy=heavy, **asked)) for heavy in (False, True)
    )
    assert heavy.world == f"{plain.world}, heavy tails"
    assert heavy.samples != plain.samples
    assert not PartOptions(10, heavy=True).is_promised
    assert PartOptions(10).is_promised
    assert PartOptions(10, prior="exchangeable").is_promised
    assert not PartOptions(10, prior="flat").is_promised
    assert not PartOptions(10, once=True).is_promised


def test_how_many_worlds_there_are():
    assert len(PART.cells(PartOptions(10))) == 200
    assert [place.name[:3] for place in PART.cells(PartOptions(10, worlds=3))] == ["000", "001", "002"]


@pytest.mark.parametrize(("wrong", "kept"), [(1000, True), (1090, True), (1110, False)])
def test_a_promise_is_broken_if_chance_alone_would_do_that_in_one_of_a_thousand(wrong, kept):
    """Of 20,000 runs, 1,097 wrong ones or more have a probability of .001 if 5 % are; by the binomial law."""
    assert StopCounts("tie", "contrast", "calibrated", 300, 20_000, wrong, wrong, 290.0).kept is kept


def test_rows_that_break_a_promise():
    assert broken_rows(Table({"x": [1, 2, 3], "kept": [True, False, True]})) == [1]
    assert broken_rows(Table({"a_kept": [True, False], "b_kept": [False, True]})) == [0, 1]
    assert broken_rows(Table({"kept": [True]})) == []
    assert broken_rows(Table({})) == []


def test_parts_are_found_by_name():
    assert [find_part(name).runs for name in PARTS] == [
        20_000, 2_000, 1_000, 2_000, 20_000, 10_000, 2_000, 2_000, 500, 2_000, 500, 2_000,
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"unknown part 'golds'.*'logs'"):
        find_part("golds")
