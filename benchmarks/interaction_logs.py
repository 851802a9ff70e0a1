"""Time of `variance="interaction"` and `robust="cells"` on logs of 1e5 cells.

    python benchmarks/interaction_logs.py

Cells have 1 to 9 rewards, and omega is half a sigma. For `robust`, one cell in a thousand is off by 20
sigmas.
"""

from __future__ import annotations

import time

import numpy as np

from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.outlying_cell_search import find_outlying_cells
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance.interaction_reml import reml


def log(J: int, K: int, off: float) -> Cells:
    """Draw the cells of a log."""
    random = np.random.default_rng(0)
    arm, environment = np.tile(np.arange(K), J), np.repeat(np.arange(J), K)
    n = random.integers(1, 10, J * K).astype(float)
    mean = 20.0 * random.random(J)[environment] + 0.5 * random.standard_normal(J * K)
    mean += random.standard_normal(J * K) / np.sqrt(n) + off * (random.random(J * K) < 0.001)
    squares = np.where(n > 1.0, random.chisquare(np.maximum(n - 1.0, 1.0)), 0.0)
    return Cells(list(range(K)), list(range(J)), arm, environment, n, mean, squares)


def seconds(do) -> float:
    """Return the shortest of three run times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        do()
        times.append(time.perf_counter() - start)
    return min(times)


for J, K in ((50_000, 2), (10_000, 10), (1_000, 100)):
    clean, spoilt = log(J, K, 0.0), log(J, K, 20.0)
    s = solve(clean)
    print(
        f"{J:,} environments, {K} arms: least squares {seconds(lambda c=clean: solve(c)):.3f} s, "
        f"interaction {seconds(lambda c=clean, s=s: reml(c, s)):.3f} s, "
        f"robust {seconds(lambda c=spoilt: find_outlying_cells(c)):.3f} s, {np.count_nonzero(~find_outlying_cells(spoilt).cells)} cells left out"
    )
