"""The generator: published vectors, the right distributions, and nothing shared between its numbers.

The statistical tests have fixed seeds, so they pass or fail for ever. Were the seeds drawn anew, each
test function would fail by accident with probability ALARM.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import special, stats

from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.kernel_linker import ignore_overflow, kernel, link, use_interpreter
from tideproof.kernels.simulate.threefry import (
    ASK,
    ENVIRONMENT,
    NOISE,
    SELECT,
    TELL,
    Draw,
    below,
    normal_quantile,
    threefry,
    uniform,
    unit,
)

ALARM = 1e-6
QUANTILE_ERROR = 1e-14  # AS 241 promises 1e-16 in exact arithmetic; scipy's own error is of this size

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
ENGINES = [
    pytest.param(use_interpreter, id="interpreted"),
    pytest.param(compile_for_cpu, id="compiled", marks=needs_numba),
]

# Random123 1.14, tests/kat_vectors, threefry2x64 with 13 rounds: counter, key, result
KNOWN = [
    ((0, 0), (0, 0), (0xF167B032C3B480BD, 0xE91F9FEE4B7A6FB5)),
    ((2**64 - 1,) * 2, (2**64 - 1,) * 2, (0xCCDEC5C917A874B1, 0x4DF53ABCA26CEB01)),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344),
        (0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0xC3AAC71561042993, 0x3FE7AE8801AFF316),
    ),
]


@kernel
def call_threefry(counter0, counter1, key0, key1):
    return threefry(counter0, counter1, key0, key1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(engine, counter, key, result):
    words = ignore_overflow(link(call_threefry, engine))(*map(np.uint64, (*counter, *key)))
    assert tuple(map(int, words)) == result


@kernel
def call_quantile(p, out):
    for i in range(p.size):
        out[i] = normal_quantile(p[i])


@pytest.mark.parametrize("engine", ENGINES)
def test_normal_quantile(engine):
    tiny = 2.0 ** -np.arange(1.0, 54.0)  # down to the smallest number that `unit` returns
    p = np.concatenate(
        [tiny, 1.0 - tiny, np.linspace(1e-4, 1 - 1e-4, 4001), 0.5 + np.array([0, 1e-9, -1e-15])]
    )
    z = np.empty_like(p)
    link(call_quantile, engine)(p, z)
    np.testing.assert_allclose(z, special.ndtri(p), rtol=QUANTILE_ERROR, atol=1e-300)


def test_unit_stays_inside_the_open_interval():
    assert 0.0 < unit(np.uint64(0)) < unit(np.uint64(2**64 - 1)) < 1.0


def test_a_number_has_its_own_place():
    """Who draws what is a promise: another place would be another world for every seed."""
    assert [int(purpose) for purpose in (NOISE, ENVIRONMENT, ASK, TELL, SELECT)] == [0, 1, 2, 3, 4]
    for seed, replication, purpose, step, lane in [(1, 2, 3, 4, 5), (0, 0, 0, 0, 0), (9, 8, 4, 10**6, 2**31)]:
        draw = Draw(*map(np.uint64, (seed, replication, purpose, step)))
        words = ignore_overflow(threefry)(*map(np.uint64, (step, purpose * 2**32 + lane, seed, replication)))
        assert ignore_overflow(uniform)(draw, lane) == (int(words[0]) // 2**12 + 0.5) / 2**52


def test_below_covers_its_range_evenly():
    draws = [ignore_overflow(below)(Draw(*map(np.uint64, (3, 1, 2, step))), 0, 5) for step in range(4000)]
    assert stats.chisquare(np.bincount(draws, minlength=5)).pvalue > ALARM


N = 2**18


@kernel
def call_uniform(
    seed, replication, purpose, step, lane, d_seed, d_replication, d_purpose, d_step, d_lane, out
):
    for i in range(out.size):
        n = np.uint64(i)
        draw = Draw(
            seed + n * d_seed, replication + n * d_replication, purpose + n * d_purpose, step + n * d_step
        )
        out[i] = uniform(draw, lane + n * d_lane)


AXES = ("seed", "replication", "purpose", "step", "lane")


@pytest.fixture(scope="module")
def sequence():
    """Return N uniforms along one axis, the others fixed, from a place given by their values."""
    run = link(call_uniform, compile_for_cpu)

    def along(axis, **place):
        at = [np.uint64(place.get(name, 0)) for name in AXES]
        step = [np.uint64(name == axis) for name in AXES]
        out = np.empty(N)
        run(*at, *step, out)
        return out

    return along


@needs_numba
@pytest.mark.parametrize("axis", AXES)
def test_uniform_and_normal_along_each_axis(sequence, axis):
    u = sequence(axis, seed=2024)
    cells = np.bincount((u * 1024).astype(int), minlength=1024)
    even = stats.chisquare(cells).pvalue  # both too uneven and too even are wrong
    assert ALARM / 4 < even < 1 - ALARM / 4
    assert stats.kstest(special.ndtri(u), "norm").pvalue > ALARM / 2


@needs_numba
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("neighbour", AXES)
def test_neighbours_are_independent(sequence, axis, neighbour):
    """Numbers along one axis against those one further along the same or another axis."""
    place = {"seed": 11, "replication": 5, "purpose": 1, "step": 17, "lane": 0}
    x = sequence(axis, **place)
    y = sequence(axis, **(place | {neighbour: place[neighbour] + 1}))
    z = special.ndtri(x) @ special.ndtri(y) / np.sqrt(N)  # standard normal if uncorrelated
    assert abs(z) < -special.ndtri(ALARM / 6)
    cells = np.bincount((x * 32).astype(int) * 32 + (y * 32).astype(int), minlength=1024)
    even = stats.chisquare(cells).pvalue
    assert ALARM / 3 < even < 1 - ALARM / 3


@needs_numba
def test_the_tests_have_teeth(sequence):
    """Negative control: a sequence that is too even is caught, and one that follows another."""
    u = sequence("step")
    weyl = np.modf(np.arange(N) * 0.6180339887498949)[0]
    assert stats.chisquare(np.bincount((weyl * 1024).astype(int), minlength=1024)).pvalue > 1 - ALARM / 4
    assert abs(special.ndtri(u) @ special.ndtri(u) / np.sqrt(N)) > -special.ndtri(ALARM / 6)
