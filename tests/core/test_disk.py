"""Compiled programs on disk: read back as they were, and never mistaken for another."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections import namedtuple
from enum import IntEnum
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import tideproof as tp
from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.kernel_linker import hole, kernel, link
from tideproof.core.program_cache import (
    DiskCache,
    ProgramPacking,
    UnhashableValue,
    attach_disk_cache,
    fingerprint,
    is_missing,
)
from tideproof.kernels.simulate.replication_loop import replicate
from tideproof.policies.policy_spec import PolicySpec

pytest.importorskip("numba")

STEP = 3.0
chosen = hole("chosen")


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@kernel
def inner(x):
    return x + STEP


@kernel
def double(x):
    return 2.0 * x


@kernel
def halve(x):
    return 0.5 * x


@kernel
def outer(pair):
    return inner(chosen(pair.left[0])) - pair.right[0]


PAIR = Pair(np.array([10.0]), np.array([1.0]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEPROOF_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def program(choice):
    return attach_disk_cache(
        link(outer, compile_for_cpu, {"chosen": choice}), outer, compile_for_cpu, {"chosen": choice}
    )


def test_a_program_is_compiled_once_and_read_back(folder):
    first, second = program(double), program(double)
    assert first(PAIR) == 22.0
    assert len(list(folder.iterdir())) == 1
    assert second(PAIR) == 22.0
    assert sum(second.stats.cache_hits.values()) == 1
    assert second(PAIR) == 22.0
    assert len(second.overloads) == sum(second.stats.cache_hits.values()) == 1  # loaded once, for good


def test_what_is_missing_is_known_before_it_is_compiled(folder, monkeypatch):
    first = program(double)
    assert is_missing(first, (PAIR,))
    first(PAIR)
    assert not is_missing(program(double), (PAIR,))
    assert is_missing(program(halve), (PAIR,))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert not is_missing(program(halve), (PAIR,))  # it could not be kept
    monkeypatch.setenv("TIDEPROOF_CACHE", "off")
    assert not is_missing(program(halve), (PAIR,))


def test_a_program_that_cannot_be_packed_runs_all_the_same(folder):
    def refuse(result):
        raise AttributeError("numba has changed")

    run = link(outer, compile_for_cpu, {"chosen": double})
    attach_disk_cache(run, outer, compile_for_cpu, {"chosen": double}, ProgramPacking(refuse, refuse))
    assert run(PAIR) == 22.0
    assert not folder.exists()


def test_a_replaced_kernel_and_other_options_are_other_programs(folder):
    assert fingerprint(outer, {"chosen": double}) != fingerprint(outer, {"chosen": double, inner: halve})
    first = program(double)
    other = attach_disk_cache(
        link(outer, compile_for_cpu, {"chosen": double}),
        outer,
        compile_for_cpu,
        {"chosen": double},
        ProgramPacking(len, len, "fast"),
    )
    first(PAIR)
    assert is_missing(other, (PAIR,))


def test_classes_made_at_run_time_are_the_live_ones(folder):
    hits = []
    for _ in range(2):
        made = namedtuple("made", ["left", "right"])
        run = program(double)
        assert run(made(*PAIR)) == run(made(*PAIR)) == 22.0
        assert len(run.overloads) == 1
        hits.append(sum(run.stats.cache_hits.values()))
    assert hits == [0, 1]


def test_another_filling_is_another_program(folder):
    assert (program(double)(PAIR), program(halve)(PAIR)) == (22.0, 7.0)


def test_an_edited_constant_of_a_callee_is_noticed(folder, monkeypatch):
    assert program(double)(PAIR) == 22.0
    before = fingerprint(outer, {"chosen": double})
    monkeypatch.setitem(inner.__globals__, "STEP", 5.0)
    assert before != fingerprint(outer, {"chosen": double})


SETTINGS = ModuleType("settings")


@kernel
def through_attributes(x):
    return math.floor(x) + SETTINGS.inner.step


WITH_LIST = "def kernel(x):\n    {}\n    return [each + 1.0 for each in x]\n"


def test_a_changed_docstring_leaves_the_fingerprint_as_it_is():
    """Otherwise each better sentence would compile all programs again and discard all snapshots."""
    found = []
    for docstring in ('"""Return more."""', '"""Return each value plus one."""', ""):
        names = {}
        exec(compile(WITH_LIST.format(docstring), "kernel.py", "exec"), names)
        found.append(fingerprint(names["kernel"], {}))
    assert found[0] == found[1] == found[2]


def test_the_fingerprint_of_a_comprehension_is_the_same_in_each_process():
    """The compiled code of a comprehension is a constant whose text has an address in memory."""
    program = (
        "from tideproof.core.program_cache import fingerprint\n"
        f"exec(compile({WITH_LIST.format('')!r}, 'kernel.py', 'exec'))\n"
        "ballast = [object() for _ in range({})]\n"
        "print(fingerprint(kernel, {{}}))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program.format(n)], capture_output=True, text=True, check=True
        ).stdout
        for n in (0, 1, 100_000)
    }
    assert len(found) == 1


def test_an_edited_constant_of_another_module_is_noticed(folder, monkeypatch):
    def found():
        return attach_disk_cache(
            link(through_attributes, compile_for_cpu), through_attributes, compile_for_cpu, {}
        )(1.5)

    monkeypatch.setattr(SETTINGS, "inner", ModuleType("inner"), raising=False)
    monkeypatch.setattr(SETTINGS.inner, "step", 3.0, raising=False)
    assert (found(), found()) == (4.0, 4.0)
    monkeypatch.setattr(SETTINGS.inner, "step", 10.0)
    assert found() == 11.0
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setattr(SETTINGS.inner, "step", np.array([10.0]))
    with pytest.raises(UnhashableValue):
        fingerprint(through_attributes, {})


class Kind(IntEnum):
    A = 5


class Edited(IntEnum):
    A = 6


@kernel
def of_enumeration(x):
    return x + Kind.A


def test_an_edited_enumeration_is_noticed(folder, monkeypatch):
    def found():
        return attach_disk_cache(link(of_enumeration, compile_for_cpu), of_enumeration, compile_for_cpu, {})(
            1
        )

    assert found() == 6
    Edited.__name__ = Edited.__qualname__ = "Kind"
    monkeypatch.setitem(of_enumeration.__globals__, "Kind", Edited)
    assert found() == 7


def test_an_edited_callee_is_noticed(monkeypatch):
    before = fingerprint(outer, {"chosen": double})

    @kernel
    def other(x):
        return x - STEP

    monkeypatch.setitem(outer.__globals__, "inner", other)
    assert before != fingerprint(outer, {"chosen": double})


def test_fields_in_another_order_are_another_program(folder):
    class Swapped(NamedTuple):
        right: np.ndarray
        left: np.ndarray

    Swapped.__name__ = "Pair"
    assert program(double)(PAIR) == 22.0
    assert program(double)(Swapped(PAIR.left, PAIR.right)) == 2.0 * 1.0 + 3.0 - 10.0


def test_files_that_were_not_used_for_sixty_days_are_removed(folder):
    folder.mkdir()
    day = 86400.0
    for name, days in (("old.bin", 60.01), ("old.tmp", 61.0), ("recent.bin", 59.9), ("other.txt", 99.0)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - days * day,) * 2)
    program(double)(PAIR)
    names = {path.name for path in folder.iterdir()}
    assert {"recent.bin", "other.txt"} < names
    assert not names & {"old.bin", "old.tmp"}
    assert len(names) == 3


def test_reading_a_program_makes_it_recently_used(folder):
    program(double)(PAIR)
    (file,) = folder.iterdir()
    os.utime(file, (0.0, 0.0))
    program(double)(PAIR)
    assert file.stat().st_mtime > time.time() - 3600.0


def test_the_default_folder_is_in_the_cache_of_the_user(tmp_path, monkeypatch):
    monkeypatch.delenv("TIDEPROOF_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program(double)(PAIR)
    assert [path.suffix for path in (tmp_path / "tideproof").iterdir()] == [".bin"]


def test_a_broken_file_only_costs_time(folder):
    program(double)(PAIR)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    again = program(double)
    assert again(PAIR) == 22.0
    assert not again.stats.cache_hits


def test_without_a_cache_or_a_writable_folder_programs_still_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "default"))
    for off in ("off", "OFF"):
        monkeypatch.setenv("TIDEPROOF_CACHE", off)
        assert program(double)(PAIR) == 22.0
    assert not list(tmp_path.iterdir())
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TIDEPROOF_CACHE", str(blocked))
    assert program(double)(PAIR) == 22.0


def test_what_cannot_be_told_apart_is_not_kept(folder, monkeypatch):
    monkeypatch.setitem(inner.__globals__, "STEP", np.array([3.0]))
    with pytest.raises(UnhashableValue):
        fingerprint(outer, {"chosen": double})
    program(double)(PAIR)
    assert not folder.exists()


def test_every_policy_is_kept_under_its_own_name():
    seen = {}
    for name in tp.policy_names():
        policy = tp.policy(name).policy
        for rule in policy.selections:
            for trace in (False, True):
                seen[fingerprint(replicate, PolicySpec(policy, rule).fill(trace))] = name, rule.name, trace
    assert len(seen) == sum(2 * len(tp.policy(name).policy.selections) for name in tp.policy_names())


@pytest.mark.parametrize(
    ("lifted", "dynamic", "stored"), [([], False, 1), (["loop"], False, 0), ([], True, 0)]
)
def test_programs_that_refer_to_others_are_not_stored(tmp_path, lifted, dynamic, stored):
    """numba cannot read back a program with lifted loops, nor one with addresses of this process."""

    class Cache(DiskCache):
        def path(self, arguments, codegen):
            return tmp_path / "program.bin"

    packing = SimpleNamespace(pack=lambda result: b"code")
    result = SimpleNamespace(
        lifted=lifted, library=SimpleNamespace(has_dynamic_globals=dynamic), codegen=None
    )
    Cache(tmp_path, "program", packing).save_overload((), result)
    assert [path.name for path in tmp_path.iterdir()] == ["program.bin"] * stored
