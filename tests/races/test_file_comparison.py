"""Two programs compared by files that were written before."""

import json
import math

import numpy as np
import pytest

import tideproof as tp
from tideproof.races.file_comparison import compare_result_files


@pytest.fixture
def write(tmp_path):
    def made(name, times):
        path = tmp_path / name
        path.write_text(json.dumps({"results": [{"command": k, "times": [v]} for k, v in times.items()]}))
        return str(path)

    return made


def log_ratio_interval(ratios):
    """Return the textbook's interval of the mean of logarithms, by Student's t with three degrees of freedom."""
    logs = np.log(ratios)
    half = 3.182446 * logs.std(ddof=1) / math.sqrt(len(logs))
    return math.expm1(logs.mean() - half), math.expm1(logs.mean() + half)


def test_benchmarks_are_environments(write):
    ratios = np.array([1.05, 1.08, 1.06, 1.09])
    base = {f"b{i}": float(10**i) for i in range(4)}
    head = {name: seconds * ratio for (name, seconds), ratio in zip(base.items(), ratios, strict=True)}
    found = compare_result_files([write("base.json", {**base, "old": 1.0}), write("head.json", head)])
    assert (found.standing, found.benchmarks) == ("slower", 4)
    assert (found.low, found.high) == pytest.approx(log_ratio_interval(ratios), rel=1e-4)
    assert "measured one after the other" in str(found)
    assert str(found).startswith("Slower: head takes +7.0 % of base's time on average of 4 benchmarks (")
    assert (
        compare_result_files([write("base.json", base), write("head.json", head)], limit=0.2).standing
        == "not slower"
    )
    assert (
        compare_result_files([write("base.json", base), write("head.json", head)], limit=0.07).standing
        == "undecided"
    )


def test_pairs_of_files_with_one_command_each_are_builds(write):
    files = []
    for build, ratio in enumerate((0.90, 0.91, 0.89)):
        files += [
            write(f"base{build}.json", {"./base": 1.0 + build}),
            write(f"head{build}.json", {"./head": ratio * (1.0 + build)}),
        ]
    found = compare_result_files(files)
    assert (found.standing, found.benchmarks) == ("not slower", 3)
    assert found.estimate == pytest.approx(-0.1, abs=1e-3)


def test_one_benchmark_has_no_interval(write):
    found = compare_result_files([write("base.json", {"a": 1.0}), write("head.json", {"a": 1.2})])
    assert (found.standing, found.low, found.high) == ("undecided", None, None)
    assert str(found).startswith("Undecided: head takes +20.0 % of base's time in the only benchmark")


def test_files_that_cannot_be_compared(write, tmp_path):
    a, b = write("a.json", {"a": 1.0, "x": 1.0}), write("b.json", {"b": 1.0, "y": 1.0})
    with pytest.raises(tp.errors.InputError, match="no benchmark is in both files"):
        compare_result_files([a, b])
    with pytest.raises(
        tp.errors.InputError, match=r"pairs of result files, such as base\.json head\.json, not 1"
    ):
        compare_result_files([a])
    with pytest.raises(tp.errors.MissingFile, match="there are no results of benchmarks in"):
        compare_result_files([a, str(tmp_path / "none.json")])
