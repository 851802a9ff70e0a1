"""States in tables: each row holds one. Arrays that are read as plain Python numbers."""

from typing import NamedTuple

import numpy as np
import pytest

from tideproof.core.kernel_array_access import wrap_state
from tideproof.core.kernel_state_arrays import Float1, FloatKK, IntK, view_buffers


class Tally(NamedTuple):
    pulls: IntK
    total: Float1
    gram: FloatKK


def test_a_table_holds_a_state_in_each_row():
    floats, ints = np.arange(30.0).reshape(3, 10)[:, 2:7], np.zeros((3, 2), np.int64)
    table, row = view_buffers(Tally, 2, floats, ints).view, view_buffers(Tally, 2, floats[1], ints[1]).view
    assert (table.total.shape, table.pulls.shape, table.gram.shape) == ((3, 1), (3, 2), (3, 2, 2))
    assert row.total.tolist() == [12.0]
    assert row.gram.tolist() == [[13.0, 14.0], [15.0, 16.0]]
    table.gram[1] = 7.0
    table.pulls[[0, 1]] += 3
    assert (row.gram == 7.0).all()
    assert floats[1].tolist() == [12.0, 7.0, 7.0, 7.0, 7.0]
    assert ints.tolist() == [[3, 3], [3, 3], [0, 0]]


@pytest.mark.parametrize("kind", [float, int])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)])
def test_a_wrapped_array_reads_and_writes_plain_numbers(shape, kind):
    array = np.arange(np.prod(shape)).astype(np.float64 if kind is float else np.int64).reshape(shape)
    wrapped = wrap_state(array)
    for place in np.ndindex(shape):
        index = place[0] if len(shape) == 1 else place
        assert wrapped[index] == array[place]
        assert type(wrapped[index]) is kind
        wrapped[index] = kind(100)
        assert array[place] == 100


@pytest.mark.parametrize("shape", [(0,), (0, 2, 2), (1, 2, 2, 2), (0, 2, 2, 2)])
def test_an_array_without_elements_or_with_four_axes_is_not_wrapped(shape):
    array = np.zeros(shape)
    assert wrap_state(array) is array
