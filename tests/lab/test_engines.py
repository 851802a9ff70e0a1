"""Which engine plays, and what is said where it cannot be had."""

import pytest

import tideproof as tp
from tideproof.core import cuda_target
from tideproof.lab import engines
from tideproof.lab.engines import find_engine

pytest.importorskip("numba")


@pytest.fixture
def installed(monkeypatch):
    """Pretend that these packages are installed, and no others."""
    return lambda *names: monkeypatch.setattr(engines, "find_spec", lambda name: name in names or None)


@pytest.fixture
def gpu(monkeypatch):
    """Pretend that there is a GPU, or the reason why not."""
    return lambda reason: monkeypatch.setattr(cuda_target, "explain_missing_gpu", lambda: reason)


def test_a_gpu_is_taken_where_there_is_one(installed, gpu):
    installed("numba", "numba_cuda")
    gpu(None)
    assert find_engine("auto", None).name == find_engine("cuda", None).name == "cuda"
    assert find_engine("cpu", None).name == "cpu"


def test_without_a_gpu_auto_is_the_cpu_and_cuda_says_why(installed, gpu):
    installed("numba", "numba_cuda")
    gpu("no driver answers")
    assert find_engine("auto", None) is engines.CPU
    with pytest.raises(tp.errors.InputError, match="engine='cuda' finds no GPU: no driver answers"):
        find_engine("cuda", None)


@pytest.mark.parametrize("missing", ["numba", "numba-cuda"])
def test_what_a_gpu_needs_is_named(installed, gpu, missing):
    installed(*{"numba", "numba_cuda"} - {missing.replace("-", "_")})
    gpu("no driver answers")
    with pytest.raises(
        tp.errors.MissingExtra, match=rf"simulation on a GPU needs {missing}: .*tideproof\[gpu\]"
    ):
        find_engine("cuda", None)


def test_an_executor_plays_on_its_cores(installed, gpu):
    installed("numba", "numba_cuda")
    gpu(None)
    assert find_engine("auto", object()) is engines.CPU
