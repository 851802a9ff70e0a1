"""Counts of right and wrong conclusions of `fit` on simulated logs, whose truth is known."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.core.kernel_state_arrays import Ints
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.random_logs import RandomLog, draw, lifts

TOO_FEW = "too few events"
ENOUGH = 30  # events of each arm; with that many, the answer "too few events" should be rare
_WATCHED = 4  # arms that are compared with arm 0: the first ones, and the last, which has the least traffic


@dataclass
class OutcomeCount:
    """Counts of right and wrong conclusions of `fit` for one kind of simulated log.

    Attributes
    ----------
    logs : number of fitted logs.
    excluded : (K,) times an arm was excluded from the candidates; of interest for the best arms.
    false_winner : times a winner was named although another arm is as good or better.
    winner : times the single best arm was named.
    eventful, too_few : logs with 30 events or more of each arm, and those of them called "too few events".
    too_few_at_all : logs called "too few events", however many events there were.
    below, above : (K,) times the true lift over arm 0 was below the lower bound or above the upper bound.
    limited : (K,) times the interval was bounded on both sides.
    scales : number of logs for which each scale was chosen.
    """

    logs: int
    excluded: Ints
    false_winner: int
    winner: int
    eventful: int
    too_few: int
    too_few_at_all: int
    below: Ints
    above: Ints
    limited: Ints
    scales: Counter[str] = field(default_factory=Counter)

    @classmethod
    def zero(cls, arms: int) -> OutcomeCount:
        """Return counts of right and wrong conclusions that are all zero."""
        excluded, below, above, limited = (np.zeros(arms, np.int64) for _ in range(4))
        return cls(0, excluded, 0, 0, 0, 0, 0, below, above, limited)

    def __add__(self, other: OutcomeCount) -> OutcomeCount:
        return OutcomeCount(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )


def compared_arms(arms: int) -> list[int]:
    """Return the arms whose confidence interval for the lift over arm 0 is compared with the truth.

    >>> compared_arms(3), compared_arms(40)
    ([1, 2], [1, 2, 3, 39])
    """
    return sorted({*range(1, min(arms, _WATCHED)), arms - 1})


def count_outcome(fit: Fit, log: RandomLog, best: Ints) -> OutcomeCount:
    """Count the right and wrong conclusions of one analysis, such as a wrong winner.

    `best` holds the indices of the best arms, which are several if their means are equal.
    """
    K = fit.cells.K
    seen, decision = OutcomeCount.zero(K), fit.decision
    seen.logs = 1
    seen.scales[fit.scale] += 1
    seen.eventful = int(log.events.min() >= ENOUGH)
    seen.too_few_at_all = int(decision.doubt == TOO_FEW)
    seen.too_few = seen.eventful * seen.too_few_at_all
    if decision.doubt == "groups":
        return seen
    seen.excluded[:] = 1
    seen.excluded[list(decision.candidates)] = 0
    if decision.names_winner:
        right = best.size == 1 and decision.best == best[0]
        seen.winner, seen.false_winner = int(right), int(not right)
    for arm in compared_arms(K):
        found, truth = fit.contrast(arm, 0), log.gap(fit.scale, arm, 0)
        low = -math.inf if found.low is None else found.low
        high = math.inf if found.high is None else found.high
        seen.below[arm], seen.above[arm] = int(truth < low), int(truth > high)
        seen.limited[arm] = int(math.isfinite(low) and math.isfinite(high))
    return seen


def best_arms(setting: Setting) -> Ints:
    """Return the indices of the best arms in one kind of simulated log; several if they are equally good."""
    lift = lifts(setting)
    return np.flatnonzero(lift == lift.max())


def play(setting: Setting, first: int, last: int) -> OutcomeCount:
    """Simulate and analyze some logs of one kind, and count right and wrong conclusions.

    The logs have the numbers `first` to `last` - 1.
    """
    best = best_arms(setting)
    logs = (draw(setting, number) for number in range(first, last))
    return reduce(
        OutcomeCount.__add__,
        (count_outcome(Fit(log.cells, about="these"), log, best) for log in logs),
        OutcomeCount.zero(setting.arms),
    )
