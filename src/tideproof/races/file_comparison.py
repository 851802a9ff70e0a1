"""Comparison of two versions of a program by saved benchmark results, such as base.json and head.json.

Each benchmark that both files contain is an environment. The times of the two files were measured one after
the other, so what slowed the machine down in between is part of the difference, and the answer says so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tideproof.analysis.fit import fit
from tideproof.checks import require_confidence
from tideproof.data.sources.benchmark_results import benchmark_columns, find_benchmark_results
from tideproof.errors import InputError, MissingFile
from tideproof.races.race_comparison import relative_difference
from tideproof.text import format_count

_CAUTION = (
    "The files were measured one after the other, so a change of the machine's speed in between is part of "
    "this difference; tideproof bench runs commands in turns"
)


@dataclass(frozen=True, slots=True)
class FileComparison:
    """Result of comparing two versions of a program by benchmark files: whether the second is slower.

    Attributes
    ----------
    standing : "slower", "not slower" or "undecided".
    estimate, low, high : relative difference of the times; None if they were measured in one benchmark only.
    benchmarks : number of benchmarks that both programs have.
    confidence : confidence level of the interval.
    limit : the tolerated slowdown.
    """

    standing: Literal["slower", "not slower", "undecided"]
    estimate: float
    low: float | None
    high: float | None
    benchmarks: int
    confidence: float
    limit: float

    def __str__(self) -> str:
        difference = f"head takes {100.0 * self.estimate:+.1f} % of base's time"
        if self.low is None or self.high is None:
            return f"Undecided: {difference} in the only benchmark, which has no interval. {_CAUTION}."
        interval = f"{100.0 * self.low:+.1f} to {100.0 * self.high:+.1f} %"
        words = {"slower": "Slower", "not slower": "Not slower", "undecided": "Undecided"}
        limit = f" by {100.0 * self.limit:g} %" if self.limit else ""
        level = f"{100.0 * self.confidence:g} % confidence"
        mean = f"on average of {format_count(self.benchmarks, 'benchmark')}"
        return f"{words[self.standing]}{limit}: {difference} {mean} ({interval}, {level}). {_CAUTION}."

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of two programs as plain values for JSON."""
        return asdict(self)


def compare_result_files(
    paths: Sequence[str], limit: float = 0.0, confidence: float = 0.95
) -> FileComparison:
    """Compare two versions of a program by saved benchmark result files."""
    require_confidence(confidence)
    if len(paths) < 2 or len(paths) % 2:
        raise InputError(
            f"--compare needs pairs of result files, such as base.json head.json, not {len(paths)} files"
        )
    base, head, environment = [], [], []
    for pair, (first, second) in enumerate(zip(paths[::2], paths[1::2], strict=True)):
        times = _medians(first), _medians(second)
        if all(len(each) == 1 for each in times):  # the two commands may have different names
            times = {"": next(iter(times[0].values()))}, {"": next(iter(times[1].values()))}
        common = [name for name in times[0] if name in times[1]]
        base += [times[0][name] for name in common]
        head += [times[1][name] for name in common]
        environment += [f"{pair}:{name}" for name in common]
    if not base:
        raise InputError("no benchmark is in both files of a pair; their names must agree")
    if len(base) == 1:
        return FileComparison("undecided", head[0] / base[0] - 1.0, None, None, 1, confidence, limit)
    log = {
        "arm": ["base"] * len(base) + ["head"] * len(head),
        "environment": environment * 2,
        "log": [math.log(seconds) for seconds in base + head],
    }
    fitted = fit(
        log,
        arm="arm",
        environment="environment",
        reward="log",
        direction="minimize",
        scale="difference",
        variance="common",
        confidence=confidence,
    )
    found = fitted.contrast("head", "base")
    low = relative_difference(-math.inf if found.low is None else found.low)
    high = relative_difference(math.inf if found.high is None else found.high)
    standing: Literal["slower", "not slower", "undecided"] = (
        "slower" if low > limit else "not slower" if high < limit else "undecided"
    )
    estimate = relative_difference(found.estimate)
    return FileComparison(standing, estimate, low, high, len(base), confidence, limit)


def _medians(path: str) -> dict[str, float]:
    """Return the median time of each benchmark in a result file."""
    found = find_benchmark_results(path)
    if not found:
        raise MissingFile(f"there are no results of benchmarks in {path!r}")
    columns = benchmark_columns(found)
    parameters = [name for name in columns if name.startswith("parameter")]
    names = list(zip(*(columns[name] for name in (_label(columns), *parameters)), strict=True))
    times: dict[str, list[float]] = {}
    for name, seconds in zip(names, columns["seconds"], strict=True):
        times.setdefault(" ".join(str(part) for part in name if part is not None), []).append(seconds)
    return {name: statistics.median(each) for name, each in times.items()}


def _label(columns: dict[str, list[Any]]) -> str:
    """Return the name of the column that names the command or benchmark."""
    return "command" if "command" in columns else "benchmark"
