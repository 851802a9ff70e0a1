"""Result files of benchmark programs as tables: one row for each measured time, in seconds.

hyperfine and `tideproof bench`, pytest-benchmark, pyperf, Google Benchmark, criterion (`sample.json`) and asv
are recognized by their contents. Columns that a program does not write are left out.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tideproof.data.sources.in_memory_table import InMemoryTable, infer_type
from tideproof.errors import InputError

Row = dict[str, Any]

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def find_benchmark_results(place: str) -> list[tuple[str, Any]] | None:
    """Return the contents of result files at a path or glob pattern; None for files of another kind."""
    if not place.lower().endswith(".json"):
        return None
    paths = [place] if os.path.isfile(place) else sorted(glob.glob(place, recursive=True))
    found = [(path, _read_object(path)) for path in paths]
    if not found or any(_format_of(contents) is None for _, contents in found):
        return None
    return found


@contextmanager
def open_benchmark_results(found: Sequence[tuple[str, Any]]) -> Iterator[InMemoryTable]:
    """Open benchmark result files as one table; a column names the file of each row if there are several."""
    columns = benchmark_columns(found)
    types = {name: infer_type(values) for name, values in columns.items()}

    def fetch(names: Sequence[str]) -> list[list[Any]]:
        """Return the values of the named columns of a table of benchmark results."""
        return [columns[name] for name in names]

    yield InMemoryTable(types, fetch)


def benchmark_columns(found: Sequence[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Return the measured times in benchmark result files as columns, leaving out empty columns."""
    rows = []
    for path, contents in found:
        read = _format_of(contents)
        assert read is not None
        try:
            own = list(read(contents, path))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(f"cannot read {path!r} as the results of a benchmark: {error!r}") from None
        rows += [{"file": path, **row} if len(found) > 1 else row for row in own]
    if not rows:
        raise InputError(f"there are no times in {found[0][0]!r}")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def _read_object(path: str) -> Any:
    """Return the JSON object that a file contains; None if it contains anything else."""
    try:
        with open(path, "rb") as file:
            if not file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                return None
            file.seek(0)
            return json.load(file)
    except (OSError, ValueError):
        return None


def _format_of(contents: Any) -> Callable[[Any, str], Iterator[Row]] | None:
    """Return the function that parses a benchmark result file; None for files that are no such result."""
    if not isinstance(contents, dict):
        return None
    for needed, read in _FORMATS:
        if needed <= contents.keys():
            return read
    return _hyperfine_rows if _has_commands(contents.get("results")) else None


def _has_commands(results: Any) -> bool:
    """Return whether every result in a file belongs to a command, as in files of hyperfine."""
    return isinstance(results, list) and all(isinstance(each, dict) and "command" in each for each in results)


def _hyperfine_rows(contents: Any, path: str) -> Iterator[Row]:
    """Yield the measured times in a file of hyperfine or of `tideproof bench`."""
    for each in contents["results"]:
        parameters = {f"parameter_{name}": value for name, value in (each.get("parameters") or {}).items()}
        times = each.get("times") or [each["mean"]]
        for number, seconds in enumerate(times):
            row = {"command": each["command"], **parameters, "run": number, "seconds": seconds}
            if "rounds" in each:
                cpu = each["user_times"][number] + each["system_times"][number]
                row |= {"round": each["rounds"][number], "cpu_seconds": cpu}
            yield row


def _pytest_benchmark_rows(contents: Any, path: str) -> Iterator[Row]:
    """Yield the measured times in a file of pytest-benchmark; for a test without any, yield its mean."""
    commit = (contents.get("commit_info") or {}).get("id")
    for each in contents["benchmarks"]:
        parameters = {f"parameter_{name}": str(value) for name, value in (each.get("params") or {}).items()}
        for number, seconds in enumerate(each["stats"].get("data") or [each["stats"]["mean"]]):
            yield {
                "benchmark": each["fullname"],
                "group": each.get("group"),
                **parameters,
                "commit": commit,
                "run": number,
                "seconds": seconds,
            }


def _pyperf_rows(contents: Any, path: str) -> Iterator[Row]:
    """Yield the measured times in a file of pyperf, with the process that measured each of them."""
    shared = contents.get("metadata") or {}
    for each in contents["benchmarks"]:
        common = {**shared, **(each.get("metadata") or {})}
        for process, run in enumerate(each["runs"]):
            own = {**common, **(run.get("metadata") or {})}
            if own.get("unit", "second") != "second":
                continue
            for number, seconds in enumerate(run.get("values") or []):
                yield {
                    "benchmark": own.get("name", path),
                    "process": process,
                    "run": number,
                    "seconds": seconds,
                }


def _google_benchmark_rows(contents: Any, path: str) -> Iterator[Row]:
    """Yield the repetitions in a file of Google Benchmark, without its summary rows and failed runs."""
    for each in contents["benchmarks"]:
        if each.get("run_type", "iteration") != "iteration" or each.get("error_occurred"):
            continue
        unit = _UNITS[each.get("time_unit", "ns")]
        yield {
            "benchmark": each.get("run_name", each["name"]),
            "run": each.get("repetition_index", 0),
            "seconds": each["real_time"] * unit,
            "cpu_seconds": each["cpu_time"] * unit,
        }


def _criterion_rows(contents: Any, path: str) -> Iterator[Row]:
    """Yield the measured times in a `sample.json` of criterion, named as in `benchmark.json` beside it."""
    described = _read_object(str(Path(path).with_name("benchmark.json"))) or {}
    folder = Path(path).absolute().parent
    for number, (count, nanoseconds) in enumerate(zip(contents["iters"], contents["times"], strict=True)):
        yield {
            "benchmark": described.get("full_id", folder.parent.name),
            "baseline": folder.name,
            "run": number,
            "seconds": nanoseconds * 1e-9 / count,
        }


def _asv_rows(contents: Any, path: str) -> Iterator[Row]:
    """Yield the measured times in a result file of asv, or one result per parameter if there are none."""
    names = contents["result_columns"]
    for benchmark, values in contents["results"].items():
        if not isinstance(values, list):  # asv writes a bare number for benchmarks without parameters
            values = [[values]]
        own = dict(zip(names, values, strict=False))
        results, samples = own.get("result") or [], own.get("samples") or []
        for index, result in enumerate(results):
            times = samples[index] if index < len(samples) and samples[index] else [result]
            for number, seconds in enumerate(times):
                if seconds is None or seconds != seconds:  # a failed benchmark
                    continue
                yield {
                    "benchmark": benchmark,
                    "parameters": index if len(results) > 1 else None,
                    "commit": contents["commit_hash"],
                    "machine": (contents.get("params") or {}).get("machine"),
                    "built_for": contents.get("env_name"),
                    "run": number,
                    "seconds": seconds,
                }


# The keys that identify each format; the more special ones come first.
_FORMATS: tuple[tuple[set[str], Callable[[Any, str], Iterator[Row]]], ...] = (
    ({"commit_hash", "result_columns", "results"}, _asv_rows),
    ({"machine_info", "benchmarks"}, _pytest_benchmark_rows),
    ({"context", "benchmarks"}, _google_benchmark_rows),
    ({"iters", "times", "sampling_mode"}, _criterion_rows),
    ({"benchmarks", "version"}, _pyperf_rows),
)
