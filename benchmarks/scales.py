"""Error rates of the tests of scales, for right and wrong scales, and the time of a fit on each scale.

    python benchmarks/scales.py [logs]

It takes some minutes with 2,000 logs of each kind. The logs are those of tests/multiplicative_logs.py.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from multiplicative_logs import conversions, money_log, multiplying_log, sparse_log
from tideproof.analysis.scale_choice import choose_scale
from tideproof.stats.scales.conditional_likelihood import solve_ratio
from tideproof.stats.scales.odds_likelihood import solve_odds
from tideproof.stats.scales.scale_test import run_scale_test

SEED = 19
RIVALS = {"difference": "ratio", "ratio": "difference", "odds": "difference"}
BOTH = ("difference", "ratio")
LOGS = {  # name: drawing function, environments, size of each, and the scales to fit
    "100 tests, rates .002 to .08, 2,250 an arm": (multiplying_log, 100, 3000, tuple(RIVALS)),
    "150 environments, 1.5 events a cell": (sparse_log, 150, 60, tuple(RIVALS)),
    "20 environments, lognormal money, 45 a cell": (money_log, 20, 60, BOTH),
    "600 tests, rates .002 to .08, 3,000 an arm": (multiplying_log, 600, 4000, BOTH),
}


def report(logs: int = 200) -> Iterator[str]:
    yield f"Share of {logs} logs in which a scale is called wrong (p < 0.05), by the scale that is right:"
    for kind, (draw, tests, size, scales) in LOGS.items():
        rows: list[dict[str, Any]] = []
        for truth in scales:
            row: dict[str, Any] = {"right": truth}
            drawn = [draw(np.random.default_rng([SEED, log]), truth, tests, size) for log in range(logs)]
            for scale in scales:
                wrong = sum(run_scale_test(cells, scale, RIVALS[scale]).p < 0.05 for cells in drawn)
                row[scale] = wrong / logs
            chosen = [choose_scale(cells).name for cells in drawn]
            row["chosen"] = ", ".join(
                f"{name} {chosen.count(name) / logs:.3f}" for name in sorted(set(chosen))
            )
            rows.append({name: row.get(name, float("nan")) for name in ("right", *RIVALS, "chosen")})
        yield f"{kind}:\n\n{_markdown(rows)}"
    yield "Seconds of a fit:"
    rows = []
    for environments, arms, size in ((100_000, 5, 50), (100_000, 5, 2000), (10, 3000, 500)):
        random = np.random.default_rng(SEED)
        rate = np.exp(random.uniform(np.log(0.01), np.log(0.1), (environments, 1)))
        chance = rate * np.exp(0.3 * random.normal(size=arms)).clip(0.3, 3.0)
        cells = conversions(random.integers(1, 2 * size, (environments, arms)), chance, random)
        row = {"environments": environments, "arms": arms, "rewards": int(cells.n.sum())}
        for name, solve in (("ratio", solve_ratio), ("odds", solve_odds)):
            begun = time.perf_counter()
            solve(cells)
            row[name] = time.perf_counter() - begun
        rows.append(row)
    yield _markdown(rows)


def _markdown(rows: list[dict[str, Any]]) -> str:
    lines = [list(map(str, rows[0])), ["---"] * len(rows[0])]
    lines += [[f"{x:.3g}" if isinstance(x, float) else f"{x}" for x in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    for part in report(int(sys.argv[1]) if sys.argv[1:] else 2000):
        print(part, end="\n\n", flush=True)
