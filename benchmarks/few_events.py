"""Size and power of the score test, the mid-p test and the exact test for the odds of two arms with few events.

    python benchmarks/few_events.py [logs]

It takes some minutes with 1,000 logs of each kind. Decision 19 quotes the results.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np

from tideproof.stats.best.student_inference import normal_tail
from tideproof.stats.cells import Cells, bernoulli_moments
from tideproof.stats.pairs.exact_odds_distribution import conditional_odds
from tideproof.stats.pairs.odds_pairs import estimate_odds
from tideproof.stats.solve.least_squares import solve
from tideproof.table import Table

SEED = 19
TESTS = ("score", "mid-p", "exact")
# number of environments, rewards of each arm in each, rate, standard deviation of its logit over environments
SETTINGS = (
    (3, (10, 10), 0.3, 0.5),
    (5, (8, 8), 0.2, 0.8),
    (10, (5, 5), 0.3, 0.8),
    (30, (2, 2), 0.3, 1.0),
    (20, (4, 2), 0.15, 0.8),
    (6, (30, 10), 0.1, 0.5),
    (4, (50, 50), 0.05, 0.5),
    (12, (20, 5), 0.1, 0.8),
    (50, (3, 3), 0.5, 1.0),
    (8, (40, 40), 0.2, 0.5),
)


def draw(
    random: np.random.Generator, setting: tuple[int, tuple[int, int], float, float], gap: float
) -> Cells:
    J, sizes, rate, swell = setting
    level = math.log(rate / (1.0 - rate)) + swell * random.normal(size=J)
    chance = 1.0 / (1.0 + np.exp(-(level[:, None] + np.array([0.0, gap]))))
    environment, arm = np.nonzero(np.ones((J, 2)))
    n = np.array(sizes, np.float64)[arm]
    mean = random.binomial(n.astype(np.int64), chance[environment, arm]) / n
    squares, cubes, fourths = bernoulli_moments(n, mean)
    return Cells([0, 1], list(range(J)), arm, environment, n, mean, squares, cubes=cubes, fourths=fourths)


def p_values(cells: Cells, gap: float) -> list[float]:
    """Return the p-value of a gap by each test, 1 if there are too few events."""
    ones = float(np.sum(cells.n * cells.mean))
    if min(ones, cells.n.sum() - ones) < 1.0:
        return [1.0] * 3
    try:
        pairs = estimate_odds(cells, solve(cells)).pairs
    except ValueError:
        return [1.0] * 3
    if not pairs.enough(1, 0):
        return [1.0] * 3
    score = 2.0 * normal_tail(abs(pairs.deviate(1, 0, gap)))
    tails = [conditional_odds(cells, 1, 0, mid).tails(gap) for mid in (True, False)]
    return [score, *(min(1.0, 2.0 * min(tail)) for tail in tails)]


def report(logs: int = 1000) -> Iterator[str]:
    yield f"p < 0.05 in a share of {logs} logs with equal odds (size) and with others (power):"
    rows = []
    for number, setting in enumerate(SETTINGS):
        J, (a, b), rate, _ = setting
        gap = 2.5 / math.sqrt(J * rate * (1.0 - rate) * a * b / (a + b))
        row: dict[str, object] = {"environments": J, "rewards in each": f"{a}, {b}", "rate": rate}
        for what, true in (("size", 0.0), ("power", gap)):
            random = np.random.default_rng([SEED, number, what == "power"])
            drawn = [draw(random, setting, true) for _ in range(logs)]
            if what == "size":
                ones = np.array([np.sum(cells.n * cells.mean) for cells in drawn])
                row["rarer kind"] = float(np.minimum(ones, J * (a + b) - ones).mean())
            found = np.array([p_values(cells, 0.0) for cells in drawn]) < 0.05
            row |= {f"{what}, {test}": share for test, share in zip(TESTS, found.mean(axis=0), strict=True)}
        rows.append(row)
    yield repr(Table({name: [row[name] for row in rows] for name in rows[0]}))


if __name__ == "__main__":
    for part in report(*map(int, sys.argv[1:])):
        print(part, flush=True)
