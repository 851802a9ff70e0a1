"""Groups become cells: merged as if their rewards had been put together, ordered, counted."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from tideproof.data.cell_assembly import (
    Groups,
    MomentSums,
    assemble_cells,
    check_arms,
    check_fetched,
    index_labels,
    is_missing,
    merge_groups,
)
from tideproof.data.column_spec import ColumnSpec
from tideproof.errors import InputError

PLAIN = ColumnSpec.of("arm", "environment", "reward")


def summary(rewards):
    rewards = np.asarray(rewards, float)
    return rewards.size, rewards.mean(), ((rewards - rewards.mean()) ** 2).sum()


def test_merged_groups_are_those_of_all_rewards():
    random = np.random.default_rng(0)
    parts = [5.0 * i + random.normal(size=size) for i, size in enumerate((1, 2, 7, 1, 30))]
    cell = np.array([0, 1, 0, 1, 0])
    n, mean, squares = (np.array(column, float) for column in zip(*map(summary, parts), strict=True))
    tails = MomentSums(*(np.array([((part - part.mean()) ** k).sum() for part in parts]) for k in (3, 4)))
    *found, (cubes, fourths) = merge_groups(cell, n, mean, squares, 2, tails)
    for i in range(2):
        together = np.concatenate([part for part, c in zip(parts, cell, strict=True) if c == i])
        assert [column[i] for column in found] == pytest.approx(summary(together), rel=1e-13)
        d = together - together.mean()
        assert (cubes[i], fourths[i]) == pytest.approx(((d**3).sum(), (d**4).sum()), rel=1e-12)


def test_a_long_sum_far_from_zero_keeps_its_digits():
    """Of a million rewards near 1e9; the mean is corrected once."""
    rewards = 1e9 + np.random.default_rng(1).normal(size=1_000_000)
    ones = np.ones(rewards.size)
    _, mean, _, _ = merge_groups(np.zeros(rewards.size, np.int64), ones, rewards, 0.0 * ones, 1)
    exact = 1e9 + float((rewards - 1e9).astype(np.longdouble).mean())
    assert mean[0] == pytest.approx(exact, abs=1.2e-7)


def groups(**changed):
    plain = {
        "arm": ["B", "A", "B"],
        "environment": [("tue",), ("mon",), ("mon",)],
        "n": np.array([2.0, 1.0, 3.0]),
        "mean": np.array([5.0, 6.0, 7.0]),
        "squares": np.array([0.5, 0.0, 1.5]),
        "ordered": False,
        "dropped": 0,
    }
    return Groups(**(plain | changed))


def test_cells_are_ordered_by_environment_then_arm():
    found = assemble_cells(groups(dropped=4), PLAIN)
    assert (found.arms, found.environments, found.dropped) == (["A", "B"], ["mon", "tue"], 4)
    assert (found.arm.tolist(), found.environment.tolist()) == ([0, 1, 1], [0, 0, 1])
    assert (found.n.tolist(), found.mean.tolist(), found.squares.tolist()) == (
        [1, 3, 2],
        [6, 7, 5],
        [0, 1.5, 0.5],
    )


def test_the_order_of_first_appearance_is_kept():
    found = assemble_cells(groups(ordered=True), PLAIN)
    assert (found.arms, found.environments, found.dropped) == (["B", "A"], ["tue", "mon"], 0)
    assert (found.arm.tolist(), found.environment.tolist()) == ([0, 0, 1], [0, 1, 1])
    assert found.n.tolist() == [2, 3, 1]


def test_new_labels_merge_what_they_share():
    days = [("2024-10-15",), ("2024-10-14",), ("2024-10-14",)]
    found = assemble_cells(groups(environment=days), ColumnSpec.of("a", "week(t)", "r").among("atr"))
    assert (found.arms, found.environments) == (["A", "B"], [dt.date(2024, 10, 14)])
    assert found.n.tolist() == [1, 5]
    assert found.mean == pytest.approx([6.0, 6.2])
    assert found.squares == pytest.approx([0.0, 0.5 + 1.5 + 2 * 1.2**2 + 3 * 0.8**2])


def test_labels_of_several_kinds_have_an_order():
    assert index_labels(["b", 2, "a", 10, 2], ordered=False) == (
        [10, 2, "a", "b"],
        pytest.approx([3, 1, 2, 0, 1]),
    )
    assert index_labels(["b", 2, "a", 2], ordered=True) == (["b", 2, "a"], pytest.approx([0, 1, 2, 1]))


class Undecided:
    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError

    __hash__ = None


def test_what_is_missing():
    assert all(map(is_missing, (None, float("nan"), np.float64("nan"), np.datetime64("NaT"), Undecided())))
    assert not any(map(is_missing, (0, "", False, "nan", np.inf)))


def test_how_many_arms():
    check_arms(["A", "B"])
    with pytest.raises(InputError, match="no row is complete"):
        check_arms([])
    with pytest.raises(InputError, match="at least two arms; the only one here is 'A'"):
        check_arms(["A"])
    check_arms(range(5_000))
    with pytest.raises(
        InputError, match=r"^the log has 5,001 different arms \(0, 1, 2, …\), but at most 5,000 can"
    ):
        check_arms(range(5_001))


def test_how_many_rows_are_fetched():
    check_fetched(2**23, "aggregated rows")
    with pytest.raises(
        InputError,
        match="there are more than 8,388,608 aggregated rows; perhaps the column of arms was swapped",
    ):
        check_fetched(2**23 + 1, "aggregated rows")
