"""Speed of `tp.fit` on large files, compared with DuckDB alone for the same group-by.

The data are made here: Parquet of 1e8 rows (20 arms, 365 days) and a CSV of 1e7 rows. Each side runs in a
process of its own, in turns, and reports its wall time, processor time and peak memory. The best times of
each side count.

    python benchmarks/analyze.py [--rows 100000000] [--csv-rows 10000000] [--rounds 5]

Processor time is shown beside wall time, because only its ratio is reliable on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LOG = """
SELECT 'arm ' || (r % 20)::VARCHAR AS variant, DATE '2024-01-01' + ((r // 20) % 365)::INTEGER AS day,
       (r % 20) * 0.01 + sin((r // 20) % 365) + (random() - 0.5) * 3.4 AS sales
FROM (SELECT hash(i) // 7 AS r FROM range({rows}) t(i))
"""
BEGAN = 0.0
GROUP = "SELECT variant, day, count(*), avg(sales), var_samp(sales) FROM '{path}' GROUP BY 1, 2"


def make(path: Path, rows: int) -> None:
    import duckdb

    kind = "PARQUET" if path.suffix == ".parquet" else "CSV"
    duckdb.connect().execute(f"COPY ({LOG.format(rows=rows)}) TO '{path}' (FORMAT {kind})")


def work(side: str, path: str) -> None:
    """Run one side and print its seconds and megabytes."""
    if side == "duckdb":
        import duckdb

        start = _start()
        groups = len(duckdb.connect().execute(GROUP.format(path=path)).fetchall())
        print(json.dumps({"groups": groups} | _costs_since(start)))
    else:
        import duckdb  # imported by both sides before the clock starts
        import scipy.special  # noqa: F401

        from tideproof.analysis import fit

        start = _start()
        found = fit(path, arm="variant", environment="day", reward="sales")
        best = found.best
        print(json.dumps({"groups": found.cells.n.size, "best": best} | _costs_since(start)))


def _start() -> float:
    global BEGAN
    BEGAN = time.process_time()
    return time.perf_counter()


def _costs_since(start: float) -> dict[str, float]:
    wall = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": wall, "cpu": time.process_time() - BEGAN, "megabytes": megabytes}


def measure(path: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Return the best wall and processor seconds and the largest memory of each side."""
    found: dict[str, dict[str, float]] = {}
    groups = set()
    for _ in range(rounds):
        for side in ("duckdb", "tideproof"):
            command = [sys.executable, __file__, "--side", side, "--path", str(path)]
            one = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            groups.add(one["groups"])
            kept = found.setdefault(side, one)
            found[side] = {
                "wall": min(kept["wall"], one["wall"]),
                "cpu": min(kept["cpu"], one["cpu"]),
                "megabytes": max(kept["megabytes"], one["megabytes"]),
            }
    assert len(groups) == 1
    return found


def report(rows: int = 100_000_000, csv_rows: int = 10_000_000, rounds: int = 5) -> Iterator[str]:
    """Yield a Markdown table for `docs/performance.md`."""
    yield "## analyze"
    yield "`tp.fit` on a file against DuckDB alone for the same group-by (count, mean, variance)."
    lines = ["| file | rows | side | wall s | processor s | peak MB |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, count in (("log.parquet", rows), ("log.csv", csv_rows)):
            path = Path(folder) / name
            make(path, count)
            found = measure(path, rounds)
            for side, s in found.items():
                numbers = f"{s['wall']:.2f} | {s['cpu']:.2f} | {s['megabytes']:.0f}"
                lines.append(f"| {name} | {count:,} | {side} | {numbers} |")
            wall, cpu = (found["tideproof"][key] / found["duckdb"][key] for key in ("wall", "cpu"))
            lines.append(f"| | | ratio | {wall:.2f} | {cpu:.2f} | |")
            path.unlink()
    yield "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--csv-rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side")
    parser.add_argument("--path")
    arguments = parser.parse_args()
    if arguments.side:
        work(arguments.side, arguments.path)
        return
    for part in report(arguments.rows, arguments.csv_rows, arguments.rounds):
        print(part, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
