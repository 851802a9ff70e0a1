"""Less usual forms of a log: the project's own table, and clocks that are numbers with gaps."""

import math

import numpy as np

import tideproof as tp
from tideproof.data.time_ordered_rows import parse_times
from tideproof.table import Table

LOG = {"arm": ["A", "B", "A", "B"], "day": [1, 1, 2, 2], "y": [1.0, 2.5, 0.0, 1.0]}


def test_a_table_is_a_log():
    columns = {"arm": "arm", "environment": "day", "reward": "y", "scale": "difference"}
    found, expected = tp.fit(Table(LOG), **columns), tp.fit(LOG, **columns)
    assert found.arms == expected.arms
    assert found.best == "B"


def test_a_number_that_is_missing_is_no_time():
    times, is_clock = parse_times([3, None, 1.5, math.nan], "visit")
    np.testing.assert_array_equal(times, [3.0, np.nan, 1.5, np.nan])
    assert not is_clock
