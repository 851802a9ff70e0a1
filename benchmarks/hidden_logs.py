"""Logs without labels: coverage of intervals, the cost of missing labels, and the time of a long log.

    python benchmarks/hidden_logs.py --count 2000 --arms 5      # coverage and errors, 20 K and 40 K rewards
    python benchmarks/hidden_logs.py --speed                    # a million rows
    python benchmarks/hidden_logs.py --bins --count 20          # what bins cost
    python benchmarks/hidden_logs.py --jumps --rows 100000      # are the named jumps real?

Arms are pulled in randomised rounds, means are half a standard deviation apart, and tide and noise are
unknown. Coverage is that of all pairs, nominally 95 %. The error is the root mean square error of
contrasts, compared with least squares that knows the tide: its labels where it jumps, the tide itself where
it is smooth.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import tideproof as tp
from hidden_tide_logs import LENGTHS, rounds
from tideproof.stats.best.student_inference import t_quantile
from tideproof.stats.tide import tide_law
from tideproof.stats.tide.hidden_tide_estimate import follow_tide

WORLDS = [
    "none",
    *LENGTHS,
    *(("walk", sd) for sd in (0.03, 0.1, 0.3)),
    *(("wave", p) for p in (50, 150, 500)),
]


def told(kind, arm, y, tide, arms):
    """Return the arms' means by least squares with a known tide."""
    if kind not in LENGTHS:
        return np.array([(y - tide)[arm == i].mean() for i in range(arms)])
    label = np.cumsum(np.diff(tide, prepend=tide[0]) != 0.0)
    X = np.hstack([arm[:, None] == np.arange(arms), label[:, None] == np.arange(label[-1] + 1)]) * 1.0
    return np.linalg.lstsq(X, y, rcond=None)[0][:arms]


def coverage(arms: int, count: int, seed: int, tides: list[str] | None) -> None:
    tide_law.FEWEST_COMPILED = 0
    pairs = np.array(list(combinations(range(arms), 2)))
    truth = 0.5 * (pairs[:, 0] - pairs[:, 1])
    print("| tide | rewards | intervals cover | band covers | error | error with known tide |")
    print("|---|---|---|---|---|---|")
    for kind in WORLDS:
        said = kind if isinstance(kind, str) else f"{kind[0]}-{kind[1]}"
        if tides and said not in tides:
            continue
        for n in (20 * arms, 40 * arms):
            random = np.random.default_rng(seed)
            hits, inside, square, best = [], [], [], []
            t = t_quantile(0.95, float(n - arms))
            for _ in range(count):
                arm, y, tide = rounds(kind, arms, n, random)
                rows = arm.astype(np.int64), np.arange(float(n)), np.ones(n), y, np.zeros(n)
                found = follow_tide(list(range(arms)), *rows, False)
                mu, C = found.found.mu, found.found.covariance
                i, k = pairs.T
                gap = mu[i] - mu[k] - truth
                hits.append(np.mean(np.abs(gap) <= t * np.sqrt(C[i, i] + C[k, k] - 2.0 * C[i, k])))
                points = found.points
                above = sum_by(points.piece, tide - tide.mean()) - points.shift
                inside.append(np.mean(np.abs(above) <= t * np.sqrt(points.variance)))
                known = told(kind, arm, y, tide, arms)
                square.append(np.mean(gap**2))
                best.append(np.mean((known[i] - known[k] - truth) ** 2))
            numbers = f"{np.mean(hits):.3f} | {np.mean(inside):.3f} | {np.mean(square) ** 0.5:.3f}"
            print(f"| {said} | {n} | {numbers} | {np.mean(best) ** 0.5:.3f} |", flush=True)


def sum_by(piece, values):
    """Return the mean of the values in each piece."""
    return np.bincount(piece, values) / np.bincount(piece)


def bins(count: int, seed: int) -> None:
    """Print intervals and errors for 20,000 rows in bins of several sizes; the tide jumps every 20 to 380 rows."""
    print("| rows a bin | half width of intervals | coverage | error |")
    print("|---|---|---|---|")
    pairs = np.array(list(combinations(range(5), 2)))
    i, k = pairs.T
    for each in (1, 10, 50, 200, 1000):
        random = np.random.default_rng(seed)
        hits, square, wide = [], [], []
        for _ in range(count):
            arm = random.integers(5, size=20_000)
            y = 0.5 * arm + random.normal(size=20_000)
            size = random.integers(20, 381, size=1000)
            y = y + np.repeat(random.uniform(0.0, 20.0, size=1000), size)[:20_000]
            found = tp.fit(
                {"arm": arm, "ts": np.arange(20_000) // each, "y": y}, arm="arm", reward="y", time="ts"
            )
            gaps = [found.contrast(int(a), int(b)) for a, b in pairs]
            truth = 0.5 * (i - k)
            hits.append(np.mean([gap.low <= x <= gap.high for gap, x in zip(gaps, truth, strict=True)]))
            square.append(np.mean([(gap.estimate - x) ** 2 for gap, x in zip(gaps, truth, strict=True)]))
            wide.append(np.mean([gap.high - gap.low for gap in gaps]) / 2.0)
        numbers = f"{np.mean(wide):.3f} | {np.mean(hits):.3f} | {np.mean(square) ** 0.5:.3f}"
        print(f"| {each:,} | {numbers} |", flush=True)


def long_log(rows: int) -> dict[str, np.ndarray]:
    """Return a log whose tide jumps every 500 rows."""
    random = np.random.default_rng(1)
    arm = random.integers(5, size=rows)
    tide = np.repeat(random.uniform(0.0, 20.0, size=rows // 500 + 1), 500)[:rows]
    return {"arm": arm, "ts": np.arange(rows), "y": 0.05 * arm + tide + random.normal(size=rows)}


def jumps(rows: int) -> None:
    """Print how many jumps are named in a long log, and how many of them are real, within ten rows."""
    named = tp.fit(long_log(rows), arm="arm", reward="y", time="ts").tide.changes.to_dicts()
    real = sum(min(row["time"] % 500, -row["time"] % 500) <= 10 for row in named)
    said = sum(row["probability"] for row in named) / len(named)
    print(
        f"{rows // 500 - 1} jumps; {len(named)} named, with probability {said:.2f} on average; {real} of them real"
    )


def speed(rows: int) -> None:
    log = long_log(rows)
    small = {name: values[:2000] for name, values in log.items()}
    tp.fit(small, arm="arm", reward="y", time="ts")  # compiles the program or reads it from disk
    start, cpu = time.perf_counter(), time.process_time()
    found = tp.fit(log, arm="arm", reward="y", time="ts")
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{rows:,} rows: {wall:.2f} s ({cpu:.2f} s of a core); {len(found.tide.changes):,} jumps found")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arms", type=int, default=5)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--tides", nargs="*", help="only these tides, such as general or walk-0.1")
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--bins", action="store_true")
    parser.add_argument("--jumps", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.speed:
        speed(options.rows)
    elif options.jumps:
        jumps(options.rows)
    elif options.bins:
        bins(options.count, options.seed)
    else:
        coverage(options.arms, options.count, options.seed, options.tides)
