"""What compilers are told, and the program of a GPU thread as plain Python."""

from types import SimpleNamespace
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatKK, Floats, Int1, IntK

pytest.importorskip("numba")


@kernel
def twice(x):
    return 2.0 * x


@pytest.mark.parametrize("entry", [True, False])
def test_compiled_kernels_need_neither_the_interpreter_nor_counted_references(entry):
    options = vars(compile_for_cpu(twice, entry))["targetoptions"]
    assert options["nogil"]
    assert options["error_model"] == "numpy"  # a division by 0 is infinite
    assert not options["_nrt"]
    assert not options.get("fastmath")
    assert options["no_cfunc_wrapper"]
    assert bool(options.get("no_cpython_wrapper")) == bool(options.get("forceinline")) == (not entry)


class Inner(NamedTuple):
    pulls: IntK
    none: Annotated[Floats, np.float64, 0, "K"]


class Outer(NamedTuple):
    gram: FloatKK
    oblong: Annotated[Floats, np.float64, 2, "K", 3]
    inner: Inner
    one: Int1


def test_a_thread_sets_all_of_its_state_to_zero_before_each_of_its_replications():
    from tideproof.core.cuda_target import thread_source_lines

    played, made = [], []

    def array(shape, dtype):
        made.append(np.full(shape, 9, dtype))
        return made[-1]

    def play_one(params, run, world, seed, first, budgets, score, r, pair):
        for each in (run.gram, run.oblong, run.inner.pulls, run.one):
            assert not each.any()
            each[...] = 5
        played.append((r, pair, params, world, seed, first, budgets))

    cuda = SimpleNamespace(local=SimpleNamespace(array=array), grid=lambda axes: 1, gridsize=lambda axes: 3)
    scope = {"cuda": cuda, "np": np, "play_one": play_one}
    exec("\n".join(thread_source_lines(Outer, 4, scope)), scope)
    score = SimpleNamespace(selected=np.zeros((2, 8)))
    scope["thread"]("params", "world", "seed", "first", "budgets", score)
    assert played == [(r, 0, "params", "world", "seed", "first", "budgets") for r in (1, 4, 7)]
    assert [(each.shape, each.dtype.name) for each in made] == [
        ((4, 4), "float64"),
        ((2, 4, 3), "float64"),
        ((4,), "int32"),
        ((1, 4), "float64"),
        ((1,), "int32"),
    ]  # fmt: skip  (CUDA has no empty arrays)
