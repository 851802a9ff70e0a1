"""Logs that grow and are looked at every day, and whether anything was wrong at any look.

Every look has all days so far; a run ends with the last day, whatever was seen.
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
from tideproof.core.array_layout import Ints
from tideproof.lab.executors import cores, processes
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.research.trust.log_settings import Setting, read_settings
from tideproof.research.trust.outcome_counts import best_arms
from tideproof.research.trust.promises import ERROR, Promise
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


_NARROW = 1.2  # standard errors; intervals for one look are 2 wide at least, for all looks 3


class Looked(NamedTuple):
    """What was seen of one run, at all of its looks.

    Attributes
    ----------
    announced : a wrong winner, or one of equal arms, was named at some look.
    missed : an interval of some pair, or of an arm against the best of the others, missed the truth at some
        look.
    excluded : the best arm, if there is one, was not among the candidates at some look.
    found : the first look at which the best arm was named, from 1 on; 0 if it never was.
    """

    announced: bool
    missed: bool
    excluded: bool
    found: int


def watch(setting: Setting, anytime: bool, number: int) -> Looked:
    """Look at log `number` of a setting after each of its environments."""
    log, best = draw(setting, number), best_arms(setting)
    announced = missed = excluded = False
    found = 0
    for look, part in enumerate(growing(log), 1):
        fit = Fit(part.cells, anytime=anytime)
        decision = fit.decision
        if decision.standing == "not_comparable":
            continue
        right = best.size == 1 and decision.best == best[0]
        if decision.standing == "winner":
            announced |= not right
            found = found or (look if right else 0)
        excluded |= best.size == 1 and best[0] not in decision.candidates
        missed = missed or _misses(fit, part)
    return Looked(announced, missed, excluded, found)


def growing(log: RandomLog) -> Iterator[RandomLog]:
    """Yield what was known after each environment in which every arm that comes has come."""
    c = log.cells
    for last in range(c.J):
        kept = np.flatnonzero(c.environment <= last)
        if np.unique(c.arm[kept]).size == c.K:
            yield RandomLog(c.select(kept), log.means[np.unique(c.environment[kept])], log.events)


def _misses(fit: Fit, log: RandomLog) -> bool:
    """Tell whether any interval misses its truth."""
    K, scale = fit.cells.K, fit.scale
    if all(_near(fit, log, a, b) for a, b in combinations(range(K), 2)):
        return False
    for a, b in combinations(range(K), 2):
        found = fit.contrast(a, b)
        if _outside(log.gap(scale, a, b), found.low, found.high):
            return True
    for row in fit.comparisons:
        against = min(log.gap(scale, row["arm"], k) for k in range(K) if k != row["arm"])
        if _outside(against, row["low"], row["high"]):
            return True
    return False


def _near(fit: Fit, log: RandomLog, a: int, b: int) -> bool:
    """Tell whether an estimate is so near to the truth that no interval misses it: none is that narrow."""
    found, truth = fit._estimate, log.gap(fit.scale, a, b)
    if fit.scale != "difference":
        truth = math.log1p(truth)
    C = found.covariance
    variance = C[a, a] + C[b, b] - 2.0 * C[a, b]
    return bool(abs(found.pairs.gap(a, b) - truth) < _NARROW * math.sqrt(max(variance, 0.0)))


def _outside(truth: float, low: float | None, high: float | None) -> bool:
    slack = 1e-9  # of a truth that is a sum of floats
    return bool((low is not None and truth < low - slack) or (high is not None and not truth <= high + slack))


def looks(
    settings: Sequence[Setting] = DAILY, runs: int = 1000, anytime: bool = True, workers: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield one row a setting: how often anything was wrong at some look, with exact 95 % limits.

    In a row: the setting; runs; announced, missed and excluded, each with its `_low`, `_high` and
    whether it was `_kept` below 5 %; found (share of runs in which the best arm was named), day (the median
    first look at which it was; None if in less than half).
    """
    count = cores() if workers is None else require_whole_number("workers", workers, 1)
    with processes(count) as pool:
        seen = [pool.map(partial(watch, setting, anytime), range(runs), chunksize=5) for setting in settings]
        for setting, runs_of in zip(settings, seen, strict=True):
            yield _row(setting, list(runs_of))


def _row(setting: Setting, seen: Sequence[Looked]) -> dict[str, Any]:
    row: dict[str, Any] = setting._asdict() | {"runs": len(seen)}
    for name in ("announced", "missed", "excluded"):
        promise = Promise(name, sum(getattr(run, name) for run in seen), len(seen), ERROR)
        low, high = promise.limits
        row |= {name: promise.share, f"{name}_low": low, f"{name}_high": high, f"{name}_kept": promise.kept}
    first: Ints = np.array([run.found for run in seen])
    named = np.where(first > 0, first, math.inf)
    day = float(np.median(named))
    return row | {"found": float(np.mean(first > 0)), "day": day if math.isfinite(day) else None}


def said(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each setting."""
    lines = []
    for row in rows:
        setting = Setting(*(row[name] for name in Setting._fields))
        shares = (
            f"{name} {percent(row[name], (row[f'{name}_low'], row[f'{name}_high']), 1)}"
            for name in ("announced", "missed", "excluded")
        )
        day = "" if row["day"] is None else f", on day {row['day']:g}"
        lines.append(f"{setting.name}: {', '.join(shares)}, found {100 * row['found']:.1f} %{day}")
    return lines


def _play_part(settings: Sequence[Setting], asked: PartOptions) -> Iterator[list[dict[str, Any]]]:
    return ([row] for row in looks(settings, asked.runs, not asked.once, asked.workers))


PART = LedgerPart(
    "of logs that are looked at on 14 days no look is wrong, in 95 %",
    1_000,
    ("workers", "once"),
    lambda _: DAILY,
    _play_part,
    columns,
    said,
)
