"""Two conversion rates looked at every day: false winners of equal rates, and the day that names a better one.

    python benchmarks/looks.py --runs 20000

The Mantel-Haenszel deviate is simulated directly, which is what `tp.fit` uses for two arms, so that many
runs take seconds. There are 20,000 visitors a day, a rate of 3 % that varies by a fifth, and 28 days. Planned
looks are 14, one a day. `--fits 300` also analyzes that many whole logs by `Fit(looks=...)` and `Fit(anytime=True)`.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import numpy as np

from tideproof import Fit, Looks
from tideproof.stats.best.anytime_bounds import MIXTURE_EVENTS, AnytimeBounds
from tideproof.stats.best.student_inference import normal_from_student
from tideproof.stats.cells import Cells, bernoulli_moments
from tideproof.stats.looks.brownian_boundaries import crossing_probabilities, spending_boundaries
from tideproof.stats.looks.spending_functions import spent_alpha

RATE, SWELL, VISITORS, DAYS, PLANNED = 0.03, 0.2, 20_000, 28, 14


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


def planned_bars(information: np.ndarray, spending: str) -> np.ndarray:
    """Return the smallest deviates that name a winner at each of several planned looks, for each run.

    They belong to equal steps between looks; information at past looks is known only within a few percent.
    """
    looks = information.shape[1]
    shares = np.arange(1, looks + 1) / looks
    return spending_boundaries(spent_alpha(spending, np.array([[0.05]]), shares), shares)[0]


def report_planned(runs: int) -> None:
    """Print the error rates and the costs of 14 planned looks, beside one look and looks at any time."""
    equal, known = (x[:, :PLANNED] for x in walks(0.0, runs, 1))
    better, information = (x[:, :PLANNED] for x in walks(0.1, runs, 2))
    rows = {f"planned, {name}": planned_bars(known, name) for name in ("pocock", "obrien-fleming")}
    rows["any time"] = bars(information)
    print(
        f"{PLANNED} looks: equal rates named; better arm named by day 5, 7, 10, 14; mean day; last interval; estimate"
    )
    for name, bar in rows.items():
        wrong = (np.abs(equal) > (bars(known) if name == "any time" else bar)).any(axis=1).mean()
        named = better > bar
        by = [100 * named[:, :day].any(axis=1).mean() for day in (5, 7, 10, PLANNED)]
        days = np.where(named.any(axis=1), named.argmax(axis=1) + 1.0, PLANNED).mean()
        wide = np.atleast_2d(bar)[:, -1].mean() / 1.96
        last = np.where(named.any(axis=1), named.argmax(axis=1), PLANNED - 1)
        effect = better / np.sqrt(information)  # to first order the logarithm of the odds ratio
        shown = effect[np.arange(runs), last].mean() / effect[:, -1].mean()
        listed = ", ".join(f"{x:.1f}" for x in by)
        print(
            f"  {name}: {100 * wrong:.1f} %; {listed} %; day {days:.2f}; {wide:.2f} times one look; {shown:.2f} times the lead"
        )


def report_unknown_information() -> None:
    """Print the error of 14 looks whose boundaries assume equal steps, if steps were not equal."""
    steps = np.arange(PLANNED)
    paths = {
        "equal steps": np.ones(PLANNED),
        "weekends with half the traffic": np.where(steps % 7 > 4, 0.5, 1.0),
        "10 % more each day": 1.1**steps,
        "30 % more each day": 1.3**steps,
        "30 % less each day": 0.7**steps,
        "half of all on the first day": np.where(steps == 0, PLANNED - 1.0, 1.0),
        "half of all on the last day": np.where(steps == PLANNED - 1, PLANNED - 1.0, 1.0),
    }
    print("error of 14 looks with boundaries for equal steps, pocock and obrien-fleming, percent:")
    for name, path in paths.items():
        errors = [
            sum(x.sum() for x in crossing_probabilities(planned_bars(path[None], spending), np.cumsum(path)))
            for spending in ("pocock", "obrien-fleming")
        ]
        print(f"  {name}: {', '.join(f'{100 * x:.1f}' for x in errors)}")


def analyze_logs(runs: int, arms: int, visitors: int, about: str) -> None:
    """Print the mean day on which `Fit` names the better one of several arms, with 14 planned looks.

    `visitors` is the number of visitors of each arm a day. If `about` is "similar", a paired t-test of the
    differences by day, with the same boundaries, is beside them.
    """
    random, mean_rate = np.random.default_rng(3), RATE
    how = {
        "planned, pocock": lambda day: {"looks": Looks(PLANNED, look=day)},
        "planned, obrien-fleming": lambda day: {"looks": Looks(PLANNED, look=day, spending="obrien-fleming")},
        "any time": lambda day: {"anytime": True},
    }
    bar, t_test = planned_bars(np.ones((1, PLANNED)), "pocock"), "paired t-test by day, pocock"
    ways = [*how, *([t_test] if about == "similar" else [])]
    standings = ("winner",) if about == "similar" else ("winner", "winner_on_these")
    days = {name: np.full(runs, PLANNED) for name in ways}
    named = dict.fromkeys(ways, 0)
    for run in range(runs):
        rate = mean_rate * np.exp(SWELL * random.standard_normal(PLANNED))
        n = np.full((PLANNED, arms), visitors)
        events = random.binomial(n, rate[:, None] * np.where(np.arange(arms) == arms - 1, 1.1, 1.0))
        left = set(ways)
        gap = (events / n)[:, -1] - (events / n)[:, 0]
        for day in range(1, PLANNED + 1):
            cells = replace(Cells.design(n[:day].astype(float)), **moments(n[:day], events[:day]))
            for name in sorted(left):
                if name == t_test:
                    seen = gap[:day]
                    t = seen.mean() / (seen.std(ddof=1) / math.sqrt(day)) if day > 1 else 0.0
                    best, won = arms - 1, normal_from_student(t, day - 1.0 or 1.0) > bar[day - 1]
                else:
                    decision = Fit(cells, about=about, **how[name](day)).decision
                    best, won = decision.best, decision.standing in standings
                if won:
                    days[name][run] = day
                    named[name] += best == arms - 1
                    left.discard(name)
    for name in ways:
        print(
            f"  {arms} arms, {runs} logs, {name}: day {days[name].mean():.2f}, named {100 * named[name] / runs:.1f} %"
        )


def moments(n: np.ndarray, events: np.ndarray) -> dict[str, np.ndarray]:
    """Return the mean, the moments and the extremes of the 0/1 rewards of each cell."""
    size, rate = n.ravel().astype(float), (events / n).ravel()
    squares, cubes, fourths = bernoulli_moments(size, rate)
    found = {"mean": rate, "squares": squares, "cubes": cubes, "fourths": fourths}
    return found | {"low": np.zeros(size.size), "high": np.ones(size.size)}


def main() -> None:
    """Print the error rates of equal arms, and the days on which a better arm is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--fits", type=int, default=0)
    parser.add_argument("--arms", type=int, default=2)
    parser.add_argument("--visitors", type=int, default=VISITORS // 2, help="a day, of each arm; for --fits")
    parser.add_argument("--about", default="these")
    asked = parser.parse_args()
    runs = asked.runs
    if asked.fits:
        analyze_logs(asked.fits, asked.arms, asked.visitors, asked.about)
        return
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
    report_planned(runs)
    report_unknown_information()


if __name__ == "__main__":
    main()
