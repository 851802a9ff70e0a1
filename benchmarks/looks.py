"""Two conversion rates looked at every day: false winners of equal rates, and the day that names a better one.

    python benchmarks/looks.py --runs 20000

The Mantel-Haenszel deviate is simulated directly, which is what `tp.fit` uses for two arms, so that many
runs take seconds. There are 20,000 visitors a day, a rate of 3 % that varies by a fifth, and 28 days.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from tideproof.stats.best.anytime_bounds import MIXTURE_EVENTS, AnytimeBounds

RATE, SWELL, VISITORS, DAYS = 0.03, 0.2, 20_000, 28


def walks(lift: float, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the deviate of the second arm over the first after each day, and its information: (runs, days)."""
    random = np.random.default_rng(seed)
    rate = RATE * np.exp(SWELL * random.standard_normal((runs, DAYS)))
    first = random.binomial(VISITORS, 0.5, (runs, DAYS))
    second = VISITORS - first
    events = random.binomial(second, rate * (1.0 + lift))
    total = events + random.binomial(first, rate)
    above = np.cumsum(events - second * total / VISITORS, axis=1)
    share = first * second / VISITORS**2
    information = np.cumsum(share * total * (VISITORS - total) / (VISITORS - 1.0), axis=1)
    return above / np.sqrt(information), information


def bars(information: np.ndarray) -> np.ndarray:
    """Return the smallest deviates that name a winner with anytime-valid intervals, at 95 %."""
    always, unknown = AnytimeBounds(2.0 / MIXTURE_EVENTS, joint=False), np.full((2, 2), math.inf)
    known = np.geomspace(information.min(), information.max(), 200)
    bar = [always.with_best(np.diag([0.5, 0.5]) / x, unknown, 0.025)[0, 1] for x in known]
    return np.interp(information, known, bar)


def main() -> None:
    """Print the error rates of equal arms, and the days on which a better arm is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20_000)
    runs = parser.parse_args().runs
    z, information = walks(0.0, runs, 1)
    bar = bars(information)
    print("equal rates, winner named at some look, percent of runs:")
    for days in (1, 7, 14, DAYS):
        once, ever = ((np.abs(z) > x)[:, :days].any(axis=1).mean() for x in (1.96, bar))
        print(
            f"  {days:2} looks: intervals for one look {100 * once:.1f}, anytime-valid intervals {100 * ever:.1f}"
        )
    z, information = walks(0.1, runs, 2)
    named = z > bars(information)
    print("second arm better by 10 %, named by then, percent of runs:")
    for days in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 21, 28):
        fixed, ever = (z[:, days - 1] > 1.96).mean(), named[:, :days].any(axis=1).mean()
        print(
            f"  day {days:2}: with one look on that day {100 * fixed:.1f}, with anytime-valid intervals {100 * ever:.1f}"
        )
    first = np.where(named.any(axis=1), named.argmax(axis=1) + 1.0, np.nan)
    print(f"first named on day {np.nanmedian(first):.0f} (median), {np.nanmean(first):.1f} (mean)")


if __name__ == "__main__":
    main()
