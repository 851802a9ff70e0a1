"""What is promised, and whether it was kept: shares of logs with exact limits, power beside another test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.lab.share_intervals import binomial, paired_ratio
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.outcome_counts import OutcomeCount, best_arms, watched
from tideproof.research.trust.reference_tests import Duel

ERROR, SILENCE, POWER = 0.05, 0.1, 0.97
_LEVEL = 0.95  # of the exact intervals
_CHANCE = (
    0.0007  # of calling a promise broken that is just kept: with 2,000 logs, if more than 6.6 % are wrong
)


class Promise(NamedTuple):
    """Something that should happen in a share `most` of cases at most, and how often it did."""

    name: str
    times: int
    cases: int
    most: float

    @property
    def share(self) -> float:
        """How often it happened, NaN if it never could."""
        return self.times / self.cases if self.cases else np.nan

    @property
    def limits(self) -> tuple[float, float]:
        """The exact 95 % interval of that share."""
        return self._limits(_LEVEL)

    @property
    def kept(self) -> bool:
        """Whether chance explains what was counted.

        >>> Promise("", 132, 2000, 0.05).kept, Promise("", 133, 2000, 0.05).kept
        (True, False)
        """
        return self._limits(1.0 - 2.0 * _CHANCE)[0] <= self.most

    def _limits(self, level: float) -> tuple[float, float]:
        if not self.cases:
            return 0.0, 1.0
        found = binomial(np.array([self.times]), self.cases, level)
        return float(found.low[0]), float(found.high[0])

    def __str__(self) -> str:
        if not self.cases:
            return "\N{EN DASH}"
        low, high = self.limits
        return (
            f"{100 * self.share:.1f} ({100 * low:.1f}\N{EN DASH}{100 * high:.1f}){'' if self.kept else ' !'}"
        )


def bar(logs: int) -> float:
    """Return the share of so many logs from which on an error rate that should be 5 % counts as broken.

    Above 1 if there are too few to see anything.

    >>> [round(100 * bar(logs), 2) for logs in (200, 2000)]
    [11.0, 6.65]
    """
    return next((n for n in range(1, logs + 1) if not Promise("", n, logs, ERROR).kept), logs + 1) / logs


def promises(setting: Setting, tally: OutcomeCount) -> list[Promise]:
    """Return what was promised for a setting; of several arms, what befell the unluckiest."""
    missed = (tally.below + tally.above)[watched(setting.arms)]
    return [
        Promise("best excluded", int(tally.excluded[best_arms(setting)].max()), tally.logs, ERROR),
        Promise("false winner", tally.false_winner, tally.logs, ERROR),
        Promise("lift missed", int(missed.max()), tally.logs, ERROR),
        Promise("too few events", tally.too_few, tally.eventful, SILENCE),
    ]


class Strength(NamedTuple):
    """How often the better of two arms was found, by us and by the yardstick.

    Attributes
    ----------
    ours, theirs : share of logs, both tests at 5 %.
    ratio, low, high : ours over theirs with its 95 % interval.
    our_size, their_size : share of logs with equal arms in which a winner was named.
    at_equal_size : the ratio if both name one in exactly 5 % of logs with equal arms.
    """

    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    our_size: float
    their_size: float
    at_equal_size: float

    @property
    def kept(self) -> bool:
        """Whether it is as strong as promised, as far as chance lets one see."""
        return self.high >= POWER


def strength(better: Duel, equal: Duel) -> Strength:
    """Compare two tests: logs in which the second arm is better, and logs in which it is not."""
    ours, theirs = better.named == 1, _found(better.theirs, ERROR)
    a, b, both = (np.array([np.count_nonzero(x)]) for x in (ours, theirs, ours & theirs))
    ratio = paired_ratio(a, b, both, _LEVEL)
    own = _found(better.ours, float(np.quantile(np.abs(equal.ours), ERROR))).mean()
    other = _found(better.theirs, float(np.quantile(np.abs(equal.theirs), ERROR))).mean()
    return Strength(
        ours=float(ours.mean()),
        theirs=float(theirs.mean()),
        ratio=float(ratio.estimate[0]),
        low=float(ratio.low[0]),
        high=float(ratio.high[0]),
        our_size=float(np.mean(equal.named != 0)),
        their_size=float(np.mean(np.abs(equal.theirs) < ERROR)),
        at_equal_size=float(own / other) if other else np.nan,
    )


def _found(p: Floats, size: float) -> Floats:
    """Return whether a test of this size says that the second arm is better."""
    return np.asarray((p > 0.0) & (p < size))
