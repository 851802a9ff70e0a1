"""Continuous monitoring: how often a live run announces a winner of two equal arms, and how it finds a better one.

    python benchmarks/peeking.py 1000    # runs a row; prints the table of docs/experiment.md

Runs use a stopping rule (`Experiment(..., confidence=0.95)`), or stop as soon as the 95 % interval excludes
0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tideproof as tp
from tideproof.lab.share_intervals import binomial

DAYS, VISITORS = 14, 20_000


class Row(NamedTuple):
    """A kind of run: distribution of rewards, their means, and whether a tide multiplies them."""

    name: str
    rewards: str
    means: tuple[float, float]
    play: Callable[[Any, Row, Any], int]
    budget: int


def daily(run: Any, row: Row, random: Any) -> int:
    """Tell two summaries a day with half of the visitors each; return the day of the stop, or 0."""
    for day in range(1, DAYS + 1):
        tide = 1.0 + 0.5 * random.random()
        for arm, mean in zip("AB", row.means, strict=True):
            n = VISITORS // 2
            if row.rewards == "conversions":
                told = {"successes": int(random.binomial(n, mean * tide))}
            else:  # lognormal with a standard deviation of twice its mean
                log_sd = np.sqrt(np.log(5.0))
                paid = mean * tide * np.exp(log_sd * random.standard_normal(n) - 0.5 * log_sd**2)
                told = {"mean": float(paid.mean()), "variance": float(paid.var(ddof=1))}
            run.tell_summary(arm=arm, environment=day, n=n, **told)
        if stops(run):
            return day
    return 0


def one_by_one(run: Any, row: Row, random: Any) -> int:
    """Ask and tell one by one and look every time; return the pull of the stop, or 0."""
    for step in range(row.budget):
        if stops(run):
            return step
        pull = run.ask(environment=step // 50)
        mean = row.means["AB".index(pull.arm)] * (1.0 + 0.5 * (step // 50 % 3 == 0))
        run.tell(pull, float(random.random() < mean))
    return row.budget if stops(run) else 0


def stops(run: Any) -> bool:
    """Return whether a run stops: by its rule or, without a rule, because the interval excludes 0."""
    if run.recommend_rule:
        return bool(run.done and run.recommend().sure)
    found = run.recommend()
    return found.low is not None and found.low > 0.0


ROWS = [
    Row("conversions of 3 %, told daily", "conversions", (0.03, 0.03), daily, DAYS * VISITORS),
    Row("the same, one arm 8 % better", "conversions", (0.03, 0.0324), daily, DAYS * VISITORS),
    Row("money, told daily", "money", (10.0, 10.0), daily, DAYS * VISITORS),
    Row("conversions of 5 %, one by one", "conversions", (0.05, 0.05), one_by_one, 1000),
    Row("conversions of 20 %, one by one", "conversions", (0.2, 0.2), one_by_one, 1000),
    Row("20 % against 40 %, one by one", "conversions", (0.2, 0.4), one_by_one, 1000),
]


def main(runs: int, only: str = "", rules: str = "both") -> None:
    """Print how often runs stopped."""
    print(
        "| rewards of A and B | rule | stopped, 95 % interval | with A | mean stop |\n|---|---|---|---|---|"
    )
    for row in ROWS:
        for rule in (True, False) if row.play is daily and rules == "both" else (True,):
            if only not in row.name:
                continue
            ends, worse = [], 0
            for seed in range(runs):
                run: Any = tp.Experiment(
                    ["A", "B"],
                    budget=row.budget,
                    rewards=row.rewards,
                    seed=seed,
                    confidence=0.95 if rule else None,
                )
                run.recommend_rule = rule
                end = row.play(run, row, np.random.default_rng(seed))
                ends += [end] if end else []
                worse += bool(end) and run.recommend().arm == "A"
            low, high = (float(x) for x in binomial(np.array(len(ends)), runs, 0.95))
            share = f"{len(ends) / runs:.4f} ({low:.4f} to {high:.4f})"
            mean = f"{np.mean(ends):.1f}" if ends else ""
            print(
                f"| {row.name} | {'0.95' if rule else 'interval'} | {share} | {worse / runs:.4f} | {mean} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, *sys.argv[2:4])
