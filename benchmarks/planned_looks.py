"""Errors of planned looks in the 24 kinds of logs of the trust ledger, by quick z-scores instead of `Fit`.

    python benchmarks/planned_looks.py --runs 2000 [--only 0,1,2]

`tideproof calibrate --part planned_looks` analyzes every log by `Fit` and takes hours. Here the z-scores of a
log are those of least squares, and the bounds of each kind of log are those of its first log. So this checks
the bounds in real traffic, and not the tests of pairs. Only kinds whose arms are equal are simulated.
"""

from __future__ import annotations

import argparse

import numpy as np

from tideproof.research.trust.planned_look_errors import (
    PLANNED,
    PlannedSetting,
    planned_looks,
    quick_deviates,
)
from tideproof.research.trust.random_logs import draw
from tideproof.stats.looks.look_bounds import LookBounds


def look_bars(setting: PlannedSetting) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return, for each day with a look, the critical z-scores with the best arm and of all pairs."""
    log = draw(setting.log, 0)
    K, covariance = setting.log.arms, quick_deviates(log)[1]
    own = np.einsum("jkk->jk", covariance)
    variance = own[:, :, None] + own[:, None, :] - 2.0 * covariance
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    freedom, days = np.full((K, K), 1e7), []
    for day, plan in planned_looks(setting, log):
        if day < 1:
            continue
        days.append(day)
        made = plan.made / plan.made[-1]
        known = np.array([variance[day - 1] / np.maximum(variance[each - 1], 1e-300) for each in days])
        share = np.minimum(np.nan_to_num(np.moveaxis(known, 0, -1), nan=1.0), made[-len(days) :])
        bounds = LookBounds(plan, share if len(days) == made.size else np.tile(made, (K, K, 1)))
        best = bounds.with_best(covariance[day - 1], freedom, 0.05 if K > 2 else 0.025)
        found[day] = best, bounds.all_pairs(covariance[day - 1], freedom, 0.05)
    return found


def main() -> None:
    """Print, for each kind of log, the share of logs with a winner and with a missed interval at some look."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    chosen = [int(x) for x in asked.only.split(",")] if asked.only else range(len(PLANNED))
    for number in chosen:
        setting = PLANNED[number]
        if setting.log.truth != "equal":
            continue
        bars, named, missed = look_bars(setting), 0, 0
        for run in range(asked.runs):
            z = quick_deviates(draw(setting.log, run))[0]
            won = lost = False
            for day, (best, pairs) in bars.items():
                leader = int(np.argmax(z[day - 1].min(axis=1)))
                ahead = z[day - 1][leader] > best[:, leader]
                won |= bool(np.all(np.delete(ahead, leader)))
                lost |= bool(np.any((np.abs(z[day - 1]) > pairs)[~np.eye(len(pairs), dtype=bool)]))
            named, missed = named + won, missed + lost
        print(
            f"{number} {setting.name}: {100 * named / asked.runs:.1f}, {100 * missed / asked.runs:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
