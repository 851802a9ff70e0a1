"""Error rates of analyses that combine options, in logs of random sizes and shapes.

The settings of `combined_options` were known while the analyses were written. Here each kind of log is drawn
with random numbers of rewards, environments, units and arms, so that its error rate is not that of a few
chosen examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.arm_comparisons import About
from tideproof.core.kernel_state_arrays import Ints
from tideproof.research.trust.combinations import (
    adaptive_calibration,
    covariate_calibration,
    environment_calibration,
    share_calibration,
    tail_calibration,
    unit_calibration,
)
from tideproof.research.trust.combinations.adaptive_calibration import AdaptiveSetting
from tideproof.research.trust.combinations.covariate_calibration import AdjustedLog
from tideproof.research.trust.combinations.environment_calibration import EnvironmentSetting
from tideproof.research.trust.combinations.share_calibration import ShareSetting
from tideproof.research.trust.combinations.tail_calibration import TailSetting
from tideproof.research.trust.combinations.unit_calibration import UnitSetting
from tideproof.research.trust.ledger_part import LedgerPart, columns, percent, play_with_seed
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.research.trust.promised_error_rates import Promise

VARIATIONS = 20  # random settings of each kind
MOST = 0.06  # promised error rate of all of them together: arms with very few rewards are among them
_SEED = 37  # of the settings, not of the logs
_CHUNK = 200

Random = np.random.Generator


class VariedKind(NamedTuple):
    """One kind of simulated log with random sizes, and the function that simulates and analyzes it."""

    name: str
    draw: Callable[[Random, int], Any]
    play: Callable[[Any, int], bool | None]

    @property
    def settings(self) -> list[Any]:
        """List of random sizes and shapes of simulated logs, the same in every run."""
        random = np.random.default_rng((_SEED, len(self.name)))
        return [self.draw(random, number) for number in range(VARIATIONS)]


def _whole(random: Random, low: int, high: int) -> int:
    """Draw a whole number between two bounds, uniformly on the logarithmic scale."""
    return round(float(np.exp(random.uniform(np.log(low), np.log(high)))))


def _draw_timeouts(random: Random, number: int) -> TailSetting:
    sizes = _whole(random, 1_000, 10_000), _whole(random, 4, 30)
    return TailSetting("timeouts", *sizes, random.uniform(0.3, 1.2), random.uniform(5.0, 40.0))


def _draw_small_cells(random: Random, number: int) -> TailSetting:
    environments = _whole(random, 50, 400)
    rows = environments * int(random.integers(3, 7))
    return TailSetting("small cells", rows, environments, random.uniform(0.2, 0.8))


def _draw_quotients(random: Random, number: int) -> TailSetting:
    environments = _whole(random, 8, 100)
    rows = 2 * environments * int(random.integers(3, 20))
    return TailSetting("quotients", rows, environments, random.uniform(0.3, 1.2))


def _draw_days(random: Random, number: int) -> EnvironmentSetting:
    rewards = ("normal", "uneven", "conversions", "money")[number % 4]
    few, most = (20, 300) if number % 4 < 2 else (200, 1_000)
    return EnvironmentSetting(
        rewards,
        int(random.integers(2, 6)) if number % 3 == 0 else 2,
        _whole(random, 4, 40),
        _whole(random, few, most),
        random.uniform(0.0, 0.5 if number % 4 < 2 else 0.3),
        random.uniform(0.1, 0.5),
    )


def _draw_covariates(random: Random, number: int) -> AdjustedLog:
    law = ("normal", "skewed", "0/1")[number % 3]
    rows = _whole(random, 1_000, 4_000) if law == "0/1" else _whole(random, 100, 1_000)
    levels = _whole(random, 4, 20), 1
    ratio = 1.0 if law == "0/1" else random.uniform(1.0, 4.0)
    name = f"covariate, variation {number}"
    return AdjustedLog(name, rows, levels, random.uniform(0.1, 0.5), ratio, law, covariate=True)


def _draw_factors(random: Random, number: int) -> AdjustedLog:
    law = ("normal", "skewed", "0/1")[number % 3]
    rows = _whole(random, 1_000, 4_000) if law == "0/1" else _whole(random, 100, 800)
    levels = _whole(random, 4, 20), _whole(random, 3, 8)
    ratio = 1.0 if law == "0/1" else random.uniform(1.0, 4.0)
    return AdjustedLog(f"two factors, variation {number}", rows, levels, random.uniform(0.1, 0.5), ratio, law)


def _draw_units(random: Random, number: int) -> UnitSetting:
    rewards = ("normal", "money", "conversions")[number % 3]
    visits = ("once", "constant", "geometric", "zipf")[number % 4]
    units = _whole(random, 20, 1_000) if rewards == "normal" else _whole(random, 200, 3_000)
    about: About = "these" if number // 2 % 2 else "similar"
    return UnitSetting(rewards, visits, units, random.uniform(0.05, 0.5), about=about)


def _draw_shares(random: Random, number: int) -> ShareSetting:
    arms = int(random.integers(2, 7))
    shares = tuple(np.exp(random.uniform(-3.0, 0.0, arms)).round(3).tolist())
    visits = int(random.integers(2, 6)) if number % 3 == 0 else 0
    rows = _whole(random, 5, 60)
    return ShareSetting(shares, _whole(random, 10, 200 if not visits else 20), rows, visits)


def _draw_adaptive(random: Random, number: int) -> AdaptiveSetting:
    asked, arms = ("excluded", "winner")[number % 2], int(random.integers(2, 7))
    best = int(random.integers(2, arms + 1))  # several arms tie for the best, so that any winner is wrong
    means = tuple([0.0] * best + [-random.uniform(0.1, 1.0)] * (arms - best))
    ratio = random.uniform(1.0, 3.0)
    if number % 4 < 2:
        return AdaptiveSetting(asked, "thompson", means, 0, 0, ratio)
    policy = ("contrast", "top-two-thompson", "linlucb")[number % 3]
    budget = 20 * arms + 10 * int(random.integers(1, 20))
    return AdaptiveSetting(asked, policy, means, budget, 0, ratio)


KINDS = (
    VariedKind("timeouts", _draw_timeouts, tail_calibration.play),
    VariedKind("small cells", _draw_small_cells, tail_calibration.play),
    VariedKind("quotients", _draw_quotients, tail_calibration.play),
    VariedKind("days differ", _draw_days, environment_calibration.play),
    VariedKind("covariates", _draw_covariates, covariate_calibration.play),
    VariedKind("two factors", _draw_factors, covariate_calibration.play),
    VariedKind("units", _draw_units, unit_calibration.play),
    VariedKind("expected shares", _draw_shares, share_calibration.play),
    VariedKind("adaptive traffic", _draw_adaptive, adaptive_calibration.play),
)


def run_kinds(
    kinds: Sequence[VariedKind], runs: int, seed: int = 0, workers: int | None = None
) -> Iterator[list[dict[str, Any]]]:
    """Simulate `runs` logs of each variation, and yield a row with the share of wrong analyses of each kind.

    The share of all variations together is `kept` if it does not contradict the promised 6 %. `worst` is the
    largest share of one variation.
    """
    names = [(seed, kind.name) for kind in kinds]
    for (_, name), parts in in_chunks(_play, names, runs * VARIATIONS, workers, _CHUNK):
        wrong, logs = np.sum(parts, axis=0)
        promise = Promise("wrong", int(wrong.sum()), int(logs.sum()), MOST)
        low, high = promise.interval
        shares = wrong / np.maximum(logs, 1)
        yield [
            {"kind": name, "variations": VARIATIONS, "logs": promise.cases, "wrong": promise.times}
            | {"share": promise.share, "low": low, "high": high}
            | {"worst": float(shares.max()), "variation": int(shares.argmax()), "kept": promise.kept}
        ]


def _play(task: tuple[tuple[int, str], int, int]) -> Ints:
    """Simulate some logs of one kind; return the numbers of wrong analyses and of logs of each variation."""
    (seed, name), first, last = task
    kind = next(kind for kind in KINDS if kind.name == name)
    settings, total = kind.settings, np.zeros((2, VARIATIONS), np.int64)
    for number in range(first, last):
        variation = number % VARIATIONS
        wrong = kind.play(settings[variation], seed * 1_000_000 + number // VARIATIONS)
        total[:, variation] += (bool(wrong), wrong is not None)
    return total


def summary_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return one line of text for each kind of log, with the share of wrong analyses."""
    return [
        f"{row['kind']}, {row['variations']} variations: wrong in "
        f"{percent(row['share'], (row['low'], row['high']), 1)} of {row['logs']:,} logs; at most "
        f"{100 * row['worst']:.1f} % in one variation"
        for row in rows
    ]


PART = LedgerPart(
    "in logs of random sizes and shapes, at most 6 % have a false alarm when options are combined",
    500,
    ("seed", "workers"),
    lambda _: KINDS,
    play_with_seed(run_kinds),
    columns,
    summary_lines,
)
