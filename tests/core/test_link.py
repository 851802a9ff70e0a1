"""The linker: copies, holes, and states cut from two buffers."""

import types
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import oracles
from tideproof.core import kernel_array_access
from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.function_references import find_references
from tideproof.core.kernel_linker import hole, kernel, link, use_interpreter, walk_references
from tideproof.core.kernel_state_arrays import FloatKK, Int1, allocate
from tideproof.errors import InputError, KernelError

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


@pytest.mark.parametrize("jit", [use_interpreter, compile_for_cpu])
def test_holes_are_filled_with_kernels_and_constants(jit):
    assert link(outer, jit, {"SCALE": 10.0, "inner": square})(2.0) == 9.0 - 20.0
    assert link(outer, jit, {"SCALE": 1.0, "inner": scaled})(2.0) == 3.0 - 2.0


def test_linking_leaves_the_original_alone():
    link(outer, use_interpreter, {"SCALE": 10.0, "inner": square})
    with pytest.raises(TypeError):
        outer(2.0)


def test_an_open_hole_is_an_error():
    with pytest.raises(
        KernelError, match=r"'scaled' \(.*test_link\.py, line \d+\) uses the placeholder \(hole\) 'SCALE'"
    ):
        link(scaled, use_interpreter)


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

    with pytest.raises(InputError, match=r"Loose\.count is annotated as <class 'int'>.*with their shape"):
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
    linked = [
        link(asks_twice, use_interpreter, {plain: with_a_hole, "put": f}) for f in (abs, float.__trunc__)
    ]
    assert [f(-2.5) for f in linked] == [2.5, -2]


def test_only_the_outermost_kernel_is_an_entry_point_and_the_others_are_compiled_once():
    compiled = []

    def record(f, entry):
        compiled.append((f.__name__, entry))
        return f

    link(asks_plain, record)
    assert compiled == [("plain", False), ("asks_plain", True)]
    link(asks_plain, record)
    assert compiled[2:] == [("asks_plain", True)]
    link(asks_twice, record)  # an entry point is no kernel that others can call
    assert compiled[3:] == [("asks_plain", False), ("asks_twice", True)]
    link(asks_plain, record)  # and the reverse
    assert compiled[5:] == [("asks_plain", True)]


def untagged(x):
    return x


fit = untagged  # of the same name as an attribute below


@kernel
def asks_untagged(x):
    return untagged(x)


@kernel
def asks_module(x):
    return kernel_array_access.at(x, 0)


@kernel
def asks_a_helper_of_a_module(x):
    return oracles.groups(x, x, 2)


@kernel
def asks_numpy(x):
    return np.sqrt(x) + np.float64(1.0)


@kernel
def reads_an_attribute(x):
    return x.fit


@kernel
def there(x):
    return back(x) if x > 0.0 else x


@kernel
def back(x):
    return there(x - 1.0)


@kernel
def with_a_keyword(x, *, step=1.0):
    return x + step


@kernel
def with_a_default(x, step=2.0):
    return x + step


@kernel
def asks_a_default(x):
    return with_a_default(x)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (untagged, r"'untagged' \(.*test_link.py, line \d+\) .*put @kernel above it"),
        (asks_untagged, "'asks_untagged' .* uses 'untagged' .*put @kernel above 'untagged'"),
        (
            asks_module,
            r"'asks_module' .* kernel_array_access\.at .*`from tideproof\.core\.kernel_array_access import at` and call at\(\.\.\.\)$",
        ),
        (
            asks_a_helper_of_a_module,
            r"calls oracles.groups .*call groups\(\.\.\.\), and put @kernel above 'groups'",
        ),
        (there, "'there' .* calls itself.* write a loop"),
        (with_a_keyword, r"'with_a_keyword' .* keyword-only parameters \(step\).*remove the \*"),
        (len, "<built-in function len> is not a kernel"),
    ],
)
@pytest.mark.parametrize("jit", [use_interpreter, compile_for_cpu])
def test_what_cannot_be_linked(f, message, jit):
    with pytest.raises(KernelError, match=message):
        link(f, jit)


@pytest.mark.parametrize("jit", [use_interpreter, compile_for_cpu])
def test_what_can_be_linked(jit):
    assert link(asks_numpy, jit)(9.0) == 4.0
    assert link(asks_a_default, jit)(1.0) == 3.0
    assert link(reads_an_attribute, jit)(Fit(7.0)) == 7.0


class Fit(NamedTuple):
    fit: float


def test_a_hole_filled_with_what_is_no_kernel():
    with pytest.raises(
        KernelError, match="uses 'inner', the value of the placeholder 'inner', which is not a kernel"
    ):
        link(outer, use_interpreter, {"SCALE": 1.0, "inner": untagged})


def test_a_hole_filled_with_what_a_compiler_knows():
    """As on a GPU: 1/sqrt(x) is a Python function of numba's, not ours to tag."""
    knows = types.FunctionType(untagged.__code__, {}, "rsqrt")
    knows.__module__ = "numba.cuda.libdevice"
    assert link(outer, use_interpreter, {"SCALE": 1.0, "inner": knows})(2.0) == 3.0 - 2.0


@pytest.mark.parametrize("jit", [use_interpreter, compile_for_cpu])
def test_kernels_around_a_kernel_are_linked_too(jit):
    """As in a test or a notebook's function, where kernels are no names of a module."""

    @kernel
    def close(x):
        return scaled(x) + 1.0

    @kernel
    def far(x):
        return close(x) * 2.0

    assert link(far, jit, {"SCALE": 10.0})(2.0) == 42.0
    assert link(far, jit, {"SCALE": 20.0})(2.0) == 82.0


def test_references_have_lines_and_attributes():
    def f(x: Any, data: Any) -> Any:
        y: Any = np.linalg.norm(x)
        return [untagged(data.fit.mu) for _ in y]

    first = f.__code__.co_firstlineno
    found = {(str(r), r.line - first, r.local) for r in find_references(f.__code__)}
    assert ("np.linalg.norm", 1, False) in found
    assert ("x", 1, True) in found
    assert ("untagged", 2, False) in found
    assert ("data.fit.mu", 2, False) in found or (
        "data.fit.mu",
        2,
        True,
    ) in found  # a name around, or its own


@kernel
def asks_two(x):
    return scaled(x) + asks_one(x)


@kernel
def asks_one(x):
    return scaled(closed(x)) + inner(x)


def test_references_are_walked_once_for_each_kernel_on_any_way_to_it():
    filled = [(g.__name__, str(r)) for g, r, _ in walk_references(asks_two, {"inner": square})]
    assert sorted(filled) == [
        ("asks_one", "closed"),
        ("asks_one", "inner"),
        ("asks_one", "scaled"),
        ("asks_two", "asks_one"),
        ("asks_two", "scaled"),
        ("scaled", "SCALE"),
    ]
    assert {g.__name__ for g, _, _ in walk_references(there, {})} == {"there", "back"}  # a cycle has an end


def test_one_bad_side_of_an_array_is_enough_to_refuse_it():
    class Crooked(NamedTuple):
        table: Annotated[np.ndarray, np.float64, "K", "J"]

    with pytest.raises(InputError, match=r"Crooked\.table"):
        allocate(Crooked, arms=3)
