"""Error rates of repeated analyses of a growing log, one analysis ("look") after each day.

Every look uses all days so far. A run does not end before the last day, even if a look named a winner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Ints
from tideproof.lab.executors import cores, processes
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.research.trust.log_settings import Setting, read_settings
from tideproof.research.trust.outcome_counts import best_arms
from tideproof.research.trust.promised_error_rates import ERROR, Promise
from tideproof.research.trust.random_logs import RandomLog, draw

DAILY = read_settings("""
rewards      level  arms   pulls  environments  allocation  tide        swell  truth  lift
conversions  0.03      2  140000            14  even        multiplies  0.3    equal  0
conversions  0.03      2  140000            14  drifting    multiplies  0.3    equal  0
conversions  0.03      2  140000            14  even        multiplies  0.3    last   0.1
conversions  0.01      3   14000            14  uneven      multiplies  0.3    equal  0
conversions  0.2       5    2800            14  drifting    adds        0.5    first  0.2
conversions  0.002     2   14000            14  even        multiplies  0.3    equal  0
counts       0.3       3    1400            14  drifting    multiplies  0.4    equal  0
money        1         2    2800            14  even        multiplies  0.4    equal  0
money        0.05      3   14000            14  uneven      multiplies  0.4    equal  0
money        1         5    1400            14  drifting    multiplies  0.4    last   0.3
normal       0         2     140            14  even        adds        2      equal  0
normal       0         3     280            14  drifting    adds        2      equal  0
normal       0         5     280            14  uneven      adds        2      equal  0
normal       0         5     280            14  drifting    adds        2      near   0.5
""")


_NARROW = 1.2  # standard errors; intervals reach at least 2 for one look, and at least 3 for all looks


class LookErrors(NamedTuple):
    """Which wrong conclusions occurred in repeated analyses ("looks") of one growing log.

    Attributes
    ----------
    announced : whether some look named a wrong winner, or a winner among equal arms.
    missed : whether at some look an interval of a pair, or of an arm against the best other arm, missed the
        truth.
    excluded : whether at some look the best arm, if there is one, was not among the candidates.
    found : the first look that named the best arm, counted from 1; 0 if there was none.
    """

    announced: bool
    missed: bool
    excluded: bool
    found: int


def look_daily(setting: Setting, anytime: bool, number: int) -> LookErrors:
    """Analyze a simulated log after each of its environments, and return which conclusions were wrong.

    It is the log with the given number of one kind of log, which `setting` describes.
    """
    log, best = draw(setting, number), best_arms(setting)
    announced = missed = excluded = False
    found = 0
    for look, part in enumerate(growing_logs(log), 1):
        fit = Fit(part.cells, anytime=anytime, about="these")
        decision = fit.decision
        if decision.standing == "not_comparable":
            continue
        right = best.size == 1 and decision.best == best[0]
        if decision.names_winner:
            announced |= not right
            found = found or (look if right else 0)
        excluded |= best.size == 1 and best[0] not in decision.candidates
        missed = missed or misses_truth(fit, part)
    return LookErrors(announced, missed, excluded, found)


def growing_logs(log: RandomLog) -> Iterator[RandomLog]:
    """Yield a log as it was after each environment, starting when every arm has rewards."""
    c = log.cells
    for last in range(c.J):
        kept = np.flatnonzero(c.environment <= last)
        if np.unique(c.arm[kept]).size == c.K:
            yield RandomLog(c.select(kept), log.means[np.unique(c.environment[kept])], log.events)


def misses_truth(fit: Fit, log: RandomLog) -> bool:
    """Return whether any confidence interval of the fit misses its true value."""
    K, scale = fit.cells.K, fit.scale
    if all(_is_near_truth(fit, log, a, b) for a, b in combinations(range(K), 2)):
        return False
    for a, b in combinations(range(K), 2):
        found = fit.contrast(a, b)
        if is_outside(log.gap(scale, a, b), found.low, found.high):
            return True
    for row in fit.comparisons:
        against = min(log.gap(scale, row["arm"], k) for k in range(K) if k != row["arm"])
        if is_outside(against, row["low"], row["high"]):
            return True
    return False


def _is_near_truth(fit: Fit, log: RandomLog, a: int, b: int) -> bool:
    """Return whether an estimate is so close to the truth that no confidence interval can miss the truth.

    This saves the computation of most intervals.
    """
    found, truth = fit._estimate, log.gap(fit.scale, a, b)  # noqa: SLF001  `fit.contrast` is what this saves
    if fit.scale != "difference":
        truth = math.log1p(truth)
    C = found.covariance
    variance = C[a, a] + C[b, b] - 2.0 * C[a, b]
    return bool(abs(found.pairs.gap(a, b) - truth) < _NARROW * math.sqrt(max(variance, 0.0)))


def is_outside(truth: float, low: float | None, high: float | None) -> bool:
    """Return whether a true value is outside a confidence interval; a bound of None means no bound."""
    slack = 1e-9  # for the rounding of a truth that is a sum of floats
    return bool((low is not None and truth < low - slack) or (high is not None and not truth <= high + slack))


def run_looks(
    settings: Sequence[Setting] = DAILY, runs: int = 1000, anytime: bool = True, workers: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield, for each kind of log, how often at least one of several repeated analyses was wrong.

    The shares have exact 95 % intervals. A row holds the setting; runs; announced, missed and excluded, each
    with its `_low`, `_high` and whether it was `_kept` below 5 %; found (share of runs in which the best arm
    was named); and day (the median first look that named it, None if less than half of the runs did).
    """
    count = cores() if workers is None else require_whole_number("workers", workers, 1)
    with processes(count) as pool:
        seen = [
            pool.map(partial(look_daily, setting, anytime), range(runs), chunksize=5) for setting in settings
        ]
        for setting, outcomes in zip(settings, seen, strict=True):
            yield count_looks(setting, list(outcomes))


def count_looks(setting: Setting, seen: Sequence[LookErrors]) -> dict[str, Any]:
    """Return, for one kind of log, how often at least one of several repeated analyses was wrong.

    The result is one row of a table. `run_looks` describes the columns.
    """
    row: dict[str, Any] = setting._asdict() | {"runs": len(seen)}
    for name in ("announced", "missed", "excluded"):
        promise = Promise(name, sum(getattr(run, name) for run in seen), len(seen), ERROR)
        low, high = promise.interval
        row |= {name: promise.share, f"{name}_low": low, f"{name}_high": high, f"{name}_kept": promise.kept}
    first: Ints = np.array([run.found for run in seen])
    named = np.where(first > 0, first, math.inf)
    day = float(np.median(named))
    return row | {"found": float(np.mean(first > 0)), "day": day if math.isfinite(day) else None}


def summary_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return one line of text for each kind of log, with its error rates over all repeated analyses."""
    lines = []
    for row in rows:
        setting = Setting(*(row[name] for name in Setting._fields))
        wrong, missed, excluded = (
            percent(row[name], (row[f"{name}_low"], row[f"{name}_high"]), 1)
            for name in ("announced", "missed", "excluded")
        )
        line = f"{setting.name}: a wrong arm was named in {wrong} of logs"
        line += f", an interval missed the truth in {missed}"
        if best_arms(setting).size == 1:
            day = "" if row["day"] is None else f" (median: day {row['day']:g})"
            line += f", the best arm was excluded in {excluded} and named in {100 * row['found']:.1f} %{day}"
        lines.append(line)
    return lines


def _play_part(settings: Sequence[Setting], asked: PartOptions) -> Iterator[list[dict[str, Any]]]:
    return ([row] for row in run_looks(settings, asked.runs, not asked.once, asked.workers))


PART = LedgerPart(
    "in at least 95 % of logs that are analyzed after each of 14 days, no analysis is wrong",
    1_000,
    ("workers", "once"),
    lambda _: DAILY,
    _play_part,
    columns,
    summary_lines,
)
