"""The linker: copies, holes, and states cut from two buffers."""

from typing import NamedTuple

import numpy as np
import pytest

from tideproof.core.arrays import FloatKK, Int1, allocate
from tideproof.core.cpu import cpu
from tideproof.core.link import hole, interpreted, kernel, link

SCALE = hole("SCALE")
inner = hole("inner")


@kernel
def scaled(x):
    return SCALE * x


@kernel
def closed(x):
    return x + 1.0


@kernel
def outer(x):
    return inner(closed(x)) - scaled(x)


@kernel
def square(x):
    return x * x


class Nested(NamedTuple):
    count: Int1


class State(NamedTuple):
    matrix: FloatKK
    nested: Nested


@pytest.mark.parametrize("jit", [interpreted, cpu])
def test_holes_are_filled_with_kernels_and_constants(jit):
    assert link(outer, jit, {"SCALE": 10.0, "inner": square})(2.0) == 9.0 - 20.0
    assert link(outer, jit, {"SCALE": 1.0, "inner": scaled})(2.0) == 3.0 - 2.0


def test_linking_leaves_the_original_alone():
    link(outer, interpreted, {"SCALE": 10.0, "inner": square})
    with pytest.raises(TypeError):
        outer(2.0)


def test_an_open_hole_is_an_error():
    with pytest.raises(KeyError, match="SCALE"):
        link(scaled, interpreted)


def test_a_state_lives_in_its_two_buffers():
    memory = allocate(State, arms=3)
    memory.view.matrix[1, 2] = 5.0
    memory.view.nested.count[0] = 4
    assert memory.floats.tolist() == [0, 0, 0, 0, 0, 5, 0, 0, 0]
    assert memory.ints.tolist() == [4]
    twin = allocate(State, arms=3)
    twin.copy_from(memory)
    memory.floats[:] = 0.0
    assert twin.view.matrix[1, 2] == 5.0
    assert np.all(memory.view.matrix == 0.0)


def test_a_state_without_shapes_is_refused():
    class Loose(NamedTuple):
        count: int

    with pytest.raises(TypeError, match="annotated with their shape"):
        allocate(Loose, arms=3)


@kernel
def plain(x):
    return x


@kernel
def with_a_hole(x):
    return put(x)


put = hole("put")


@kernel
def asks_plain(x):
    return plain(x)


@kernel
def asks_twice(x):
    return asks_plain(x)


def test_who_calls_a_replacement_with_a_hole_is_not_shared():
    linked = [link(asks_twice, interpreted, {plain: with_a_hole, "put": f}) for f in (abs, float.__trunc__)]
    assert [f(-2.5) for f in linked] == [2.5, -2]
