"""Result files of benchmark programs: times in seconds, with the names that each program gives."""

import json

import pytest

import tideproof as tp
from tideproof.data.sources.benchmark_results import benchmark_columns, find_benchmark_results

FILES = {
    "hyperfine": {
        "results": [
            {"command": "a", "mean": 0.2, "times": [0.1, 0.3], "parameters": {"n": "1"}},
            {"command": "b", "mean": 0.5, "times": [0.5], "parameters": {"n": "2"}},
        ]
    },
    "pytest-benchmark": {
        "machine_info": {"node": "here"},
        "commit_info": {"id": "abc"},
        "benchmarks": [
            {"fullname": "t.py::a", "group": None, "params": {"n": 1}, "stats": {"data": [0.1, 0.3], "mean": 0.2}},
            {"fullname": "t.py::b", "group": None, "params": None, "stats": {"mean": 0.5}},
        ],
    },
    "pyperf": {
        "version": "1.0",
        "metadata": {"unit": "second"},
        "benchmarks": [
            {"metadata": {"name": "a"}, "runs": [{"warmups": [[1, 9.0]]}, {"values": [0.1]}, {"values": [0.3]}]},
            {"metadata": {"name": "b"}, "runs": [{"values": [0.5]}]},
            {"metadata": {"name": "size", "unit": "byte"}, "runs": [{"values": [7.0]}]},
        ],
    },
    "google": {
        "context": {"host_name": "here"},
        "benchmarks": [
            {"name": "a", "run_name": "a", "run_type": "iteration", "real_time": 100.0, "cpu_time": 90.0, "time_unit": "ms"},
            {"name": "a", "run_name": "a", "run_type": "iteration", "repetition_index": 1, "real_time": 3e8, "cpu_time": 3e8},
            {"name": "a_mean", "run_name": "a", "run_type": "aggregate", "real_time": 200.0, "cpu_time": 1.0, "time_unit": "ms"},
            {"name": "b", "real_time": 5e5, "cpu_time": 5e5, "time_unit": "us"},
            {"name": "c", "error_occurred": True, "real_time": 0.0, "cpu_time": 0.0, "time_unit": "ns"},
        ],
    },
    "asv": {
        "commit_hash": "abc",
        "env_name": "py3",
        "params": {"machine": "here"},
        "result_columns": ["result", "params", "samples"],
        "results": {"a": [[0.2], [], [[0.1, 0.3]]], "b": [[0.5, None], [["1", "2"]]]},
    },
}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def made(contents, name="result.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
        return str(path)

    return made


def columns_of(path):
    return benchmark_columns(find_benchmark_results(path))


@pytest.mark.parametrize("program", FILES)
def test_every_format_gives_the_same_times(program, write):
    columns = columns_of(write(FILES[program]))
    label = columns.get("command") or columns["benchmark"]
    assert [name[-1] for name in label] == ["a", "a", "b"]
    assert columns["seconds"] == pytest.approx([0.1, 0.3, 0.5])


def test_names_beside_the_times(write):
    assert columns_of(write(FILES["hyperfine"]))["parameter_n"] == ["1", "1", "2"]
    assert columns_of(write(FILES["pytest-benchmark"]))["commit"] == ["abc"] * 3
    assert columns_of(write(FILES["pyperf"]))["process"] == [1, 2, 0]
    assert columns_of(write(FILES["google"]))["cpu_seconds"] == pytest.approx([0.09, 0.3, 0.5])
    assert columns_of(write(FILES["asv"]))["machine"] == ["here"] * 3
    assert "group" not in columns_of(write(FILES["pytest-benchmark"]))


def test_criterion(write):
    write({"full_id": "group/fib 20"}, "fib/new/benchmark.json")
    path = write(
        {"sampling_mode": "Linear", "iters": [10.0, 20.0], "times": [1e6, 3e6]}, "fib/new/sample.json"
    )
    columns = columns_of(path)
    assert columns["benchmark"] == ["group/fib 20"] * 2
    assert columns["baseline"] == ["new"] * 2
    assert columns["seconds"] == pytest.approx([1e-4, 1.5e-4])
    bare = columns_of(
        write({"sampling_mode": "Flat", "iters": [1.0], "times": [2e9]}, "sort/base/sample.json")
    )
    assert (bare["benchmark"], bare["baseline"], bare["seconds"]) == (["sort"], ["base"], [2.0])


def test_several_files_are_one_table_and_can_be_environments(write, tmp_path):
    for number, slow in enumerate((1.0, 3.0, 2.0, 5.0)):
        results = [
            {"command": name, "times": [slow * t, slow * t * 1.01]}
            for name, t in (("old", 0.12), ("new", 0.1))
        ]
        write({"results": results}, f"machine{number}.json")
    fit = tp.fit(
        str(tmp_path / "machine*.json"),
        arm="command",
        environment="file",
        reward="seconds",
        direction="minimize",
        scale="log",
    )
    assert fit.best == "new"
    assert fit.contrast("new", "old").estimate == pytest.approx(0.1 / 0.12 - 1.0)


@pytest.mark.parametrize("contents", ['{"arm": "a", "day": 1, "y": 2.0}', '{"results": [1]}', "[]", "{", ""])
def test_other_files_are_left_to_others(contents, write):
    assert find_benchmark_results(write(contents)) is None
    assert find_benchmark_results("there-is-no.json") is None
    assert find_benchmark_results("log.csv") is None


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"results": [{"command": "a"}]}, "as the results of a benchmark: KeyError"),
        ({"results": [], "version": 1, "benchmarks": []}, "there are no times in"),
        (
            {
                "context": {},
                "benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1, "time_unit": "years"}],
            },
            "KeyError",
        ),
    ],
)
def test_files_that_are_damaged(contents, message, write):
    with pytest.raises(tp.errors.InputError, match=message):
        columns_of(write(contents))
