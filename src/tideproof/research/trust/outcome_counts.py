"""What a fit says of a log whose truth is known: right or wrong, counted."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.core.array_layout import Ints
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.random_logs import RandomLog, draw, lifts

TOO_FEW = "too few events"
ENOUGH = 30  # events of each arm, with which that should be said seldom
_WATCHED = 4  # arms whose limits are worked out: the first ones, and the last, which has least traffic


@dataclass
class OutcomeCount:
    """How often something happened in so many logs of a setting.

    Attributes
    ----------
    logs : how many were fitted.
    excluded : (K,) times an arm was said not to be the best; of interest for those that are.
    false_winner : times a winner was named although another arm is as good or better.
    winner : times the one best arm was named.
    eventful, too_few : logs with 30 events or more of each arm, and how many of them it called too few.
    too_few_at_all : times it said "too few events", however many there were.
    below, above : (K,) times the truth was below the lower, above the upper limit of the arm against arm 0.
    limited : (K,) times there were limits on both sides.
    scales : how often each scale was chosen.
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
    def none(cls, arms: int) -> OutcomeCount:
        """Return what is known before the first log."""
        excluded, below, above, limited = (np.zeros(arms, np.int64) for _ in range(4))
        return cls(0, excluded, 0, 0, 0, 0, 0, below, above, limited)

    def __add__(self, other: OutcomeCount) -> OutcomeCount:
        return OutcomeCount(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )


def watched(arms: int) -> list[int]:
    """Return the arms whose lift over arm 0 is looked at.

    >>> watched(3), watched(40)
    ([1, 2], [1, 2, 3, 39])
    """
    return sorted({*range(1, min(arms, _WATCHED)), arms - 1})


def judge(fit: Fit, log: RandomLog, best: Ints) -> OutcomeCount:
    """Count what one fit says; `best` are the arms that are best, several if they are equal."""
    K = fit.cells.K
    seen, decision = OutcomeCount.none(K), fit.decision
    seen.logs = 1
    seen.scales[fit.scale] += 1
    seen.eventful = int(log.events.min() >= ENOUGH)
    seen.too_few_at_all = int(decision.doubt == TOO_FEW)
    seen.too_few = seen.eventful * seen.too_few_at_all
    if decision.doubt == "groups":
        return seen
    seen.excluded[:] = 1
    seen.excluded[list(decision.candidates)] = 0
    if decision.standing == "winner":
        right = best.size == 1 and decision.best == best[0]
        seen.winner, seen.false_winner = int(right), int(not right)
    for arm in watched(K):
        found, truth = fit.contrast(arm, 0), log.gap(fit.scale, arm, 0)
        low = -math.inf if found.low is None else found.low
        high = math.inf if found.high is None else found.high
        seen.below[arm], seen.above[arm] = int(truth < low), int(truth > high)
        seen.limited[arm] = int(math.isfinite(low) and math.isfinite(high))
    return seen


def best_arms(setting: Setting) -> Ints:
    """Return the arms that are best."""
    lift = lifts(setting)
    return np.flatnonzero(lift == lift.max())


def play(setting: Setting, first: int, last: int) -> OutcomeCount:
    """Draw, fit and judge logs `first` to `last` - 1 of a setting."""
    best = best_arms(setting)
    logs = (draw(setting, number) for number in range(first, last))
    return reduce(
        OutcomeCount.__add__,
        (judge(Fit(log.cells), log, best) for log in logs),
        OutcomeCount.none(setting.arms),
    )
