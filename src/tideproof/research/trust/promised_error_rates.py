"""Promises of tideproof and whether they are kept: error rates with exact intervals, and power ratios."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.lab.share_intervals import binomial, paired_ratio
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.outcome_counts import OutcomeCount, best_arms, compared_arms
from tideproof.research.trust.reference_tests import PairedTests

ERROR, SILENCE, POWER = 0.05, 0.1, 0.97
_CONFIDENCE = 0.95  # of the exact intervals
# Probability of calling a promise broken that is just kept: with 2,000 logs, if more than 6.6 % are wrong
_FALSE_ALARM = 0.0007


class Promise(NamedTuple):
    """Promise that an error happens in at most a given share of cases, and how often it happened."""

    name: str
    times: int
    cases: int
    most: float

    @property
    def share(self) -> float:
        """Observed frequency of an error that is promised to be rare; NaN without observations."""
        return self.times / self.cases if self.cases else np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % confidence interval of the frequency of an error that is promised to be rare."""
        return self._interval(_CONFIDENCE)

    @property
    def kept(self) -> bool:
        """Whether a promise is kept: an error is not more frequent than promised, apart from chance.

        >>> Promise("", 132, 2000, 0.05).kept, Promise("", 133, 2000, 0.05).kept
        (True, False)
        """
        return self._interval(1.0 - 2.0 * _FALSE_ALARM)[0] <= self.most

    def _interval(self, confidence: float) -> tuple[float, float]:
        if not self.cases:
            return 0.0, 1.0
        found = binomial(np.array([self.times]), self.cases, confidence)
        return float(found.low[0]), float(found.high[0])

    def __str__(self) -> str:
        if not self.cases:
            return "\N{EN DASH}"
        low, high = self.interval
        return (
            f"{100 * self.share:.1f} ({100 * low:.1f}\N{EN DASH}{100 * high:.1f}){'' if self.kept else ' !'}"
        )


def detectable_rate(logs: int) -> float:
    """Return the smallest observed error rate that contradicts a promised error rate of at most 5 %.

    It is the error rate of `logs` simulated logs. The result is above 1 if there are too few logs to detect
    anything.

    >>> [round(100 * detectable_rate(logs), 2) for logs in (200, 2000)]
    [11.0, 6.65]
    """
    return next((n for n in range(1, logs + 1) if not Promise("", n, logs, ERROR).kept), logs + 1) / logs


def promises(setting: Setting, tally: OutcomeCount) -> list[Promise]:
    """Return the promises that are checked on one kind of simulated log, with counts of wrong answers.

    "lift missed" counts the arm whose lift was missed most often.
    """
    missed = (tally.below + tally.above)[compared_arms(setting.arms)]
    return [
        Promise("best excluded", int(tally.excluded[best_arms(setting)].max()), tally.logs, ERROR),
        Promise("false winner", tally.false_winner, tally.logs, ERROR),
        Promise("lift missed", int(missed.max()), tally.logs, ERROR),
        Promise("too few events", tally.too_few, tally.eventful, SILENCE),
    ]


class PowerRatio(NamedTuple):
    """Statistical power to find the better of two arms, for tideproof and for a reference test.

    Attributes
    ----------
    ours, theirs : share of logs in which each test finds the better arm, both at 5 %.
    ratio, low, high : ratio of the two shares, ours to theirs, with its 95 % confidence interval.
    our_size, their_size : share of logs with equal arms in which each test names a winner.
    at_equal_size : the ratio when both tests name a winner in exactly 5 % of logs with equal arms.
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
        """Whether tideproof has the promised share of the reference test's power, up to chance.

        The upper bound of the power ratio must reach `POWER`.
        """
        return self.high >= POWER


def power_ratio(better: PairedTests, equal: PairedTests) -> PowerRatio:
    """Compare the power of tideproof with that of the reference test, on the same logs.

    `better` holds logs in which the second arm is better, and `equal` logs in which both arms are equal.
    """
    ours, theirs = better.named == 1, _found(better.theirs, ERROR)
    a, b, both = (np.array([np.count_nonzero(x)]) for x in (ours, theirs, ours & theirs))
    ratio = paired_ratio(a, b, both, _CONFIDENCE)
    own = _found(better.ours, float(np.quantile(np.abs(equal.ours), ERROR))).mean()
    other = _found(better.theirs, float(np.quantile(np.abs(equal.theirs), ERROR))).mean()
    return PowerRatio(
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
    """Return, for each log, whether a test finds the second arm better at the significance level `size`."""
    return np.asarray((p > 0.0) & (p < size))
