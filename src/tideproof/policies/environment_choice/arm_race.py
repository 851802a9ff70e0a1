"""Race of arms on a finite set of environments: drop an arm once another is better with confidence.

Every environment, in a random order, is asked of all arms that are still in the race. For arms i and k let D
be the differences of their scores, of which S is the sum after n of N environments. If i is not better than
k, then given the past the next difference has at most the mean

    m = -S / (N - n)

because the rest of the set must make up for the sum so far (sampling without replacement). Two rules drop k:

* proven: a bet on D > m multiplies its capital by 1 + lambda (D - m). If i is not better, the capital is a
  supermartingale, so it ever exceeds (K - 1) / alpha with a probability of at most alpha / (K - 1) (Ville).
* calibrated: the signed root of the likelihood ratio, with one adverse difference added and corrected for
  the finite set, exceeds a critical value for Brownian motion observed from the 30th environment to the
  last. It is asymptotic; simulations show that it errs less than it may.

A tolerance adds tolerance * N to S: the race ends once one arm is better than every other arm by more than
minus the tolerance, so that the best arm is at most that much better. Each of the two tests then gets half
of alpha.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.policies.environment_choice.arm_environment_pairs import PairStatus, PairTable

FIRST_CHECK = 30  # number of environments before the first check of the calibrated rule
CALIBRATION = 2.0  # error probability of the critical value divided by that of the race, from simulations
_LARGEST_BET = 0.5  # share of the capital that the least favourable difference can cost
_PRIOR_SQUARE = 0.25  # squared difference that is added to those observed, for the size of a bet


class RaceRule(NamedTuple):
    """Options of a race that drops arms until the best one is left, such as its confidence level.

    Attributes
    ----------
    confidence : probability that the best arm is not dropped.
    proven : whether arms are dropped by bets, instead of the calibrated rule.
    tolerance : difference of means that does not matter.
    span : lowest and highest possible score.
    """

    confidence: float
    proven: bool
    tolerance: float
    span: tuple[float, float]

    def threshold(self, arms: int, environments: int) -> float:
        """Return the threshold for dropping an arm: a log betting capital or a z-score, by the rule."""
        error = (1.0 - self.confidence) / max(arms - 1, 1) / (2.0 if self.tolerance > 0.0 else 1.0)
        return -math.log(error) if self.proven else critical_deviate(error, environments)


@lru_cache(64)
def critical_deviate(error: float, environments: int) -> float:
    """Return the critical z-score that an ongoing race of two equal arms exceeds with small probability.

    The approximation is for Brownian motion B at times t, where B(t) / sqrt(t) is observed over a range of
    times whose logarithms differ by L: P(max > c) = phi(c) ((c - 1/c) L / 2 + 1/c).
    """
    last = environments - 1.0
    if last <= FIRST_CHECK:
        return math.inf  # the rule would not be checked before the end of the set
    length = math.log(last * (environments - FIRST_CHECK) / FIRST_CHECK)
    low, high = 1.2, 12.0
    for _ in range(60):
        middle = (low + high) / 2.0
        density = math.exp(-middle * middle / 2.0) / math.sqrt(2.0 * math.pi)
        exceeds = density * ((middle - 1.0 / middle) * length / 2.0 + 1.0 / middle)
        low, high = (middle, high) if exceeds > CALIBRATION * error else (low, middle)
    return high


def deviates(sums: Floats, squares: Floats, n: int, environments: int, tolerance: float) -> Floats:
    """Return z-scores of the evidence that each difference between arm means is above minus the tolerance.

    It is the signed root of the likelihood ratio of normal differences, after one difference of -1 was added.
    """
    squares = squares + 2.0 * tolerance * sums + tolerance * tolerance * n + 1.0
    sums = sums + tolerance * n - 1.0
    rest = squares - sums * sums / (n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt(
            (n + 1) * np.log(squares / np.maximum(rest, 0.0)) / max(1.0 - n / environments, 1e-300)
        )
    return np.where(sums > 0.0, found, 0.0)


class ArmRace:
    """State of a race that drops arms, computed from environments in which all remaining arms have scores.

    Attributes
    ----------
    alive : which arms are in the race.
    row : number of environments (in the random order) that were processed.
    n : number of these with scores of all remaining arms; others have a pair that was cancelled.
    winner : the arm that is the best, or None.
    logs : with the proven rule, the logarithm of the capital of the bet that one arm (the row) is better than
        another (the column).
    """

    def __init__(self, rule: RaceRule, table: PairTable) -> None:
        self._rule, self._table = rule, table
        arms = table.status.shape[1]
        self.alive = np.zeros(arms, bool)
        self.alive[table.active] = True
        self.row, self.n = 0, 0
        self._size = len(table.labels)
        self._threshold = rule.threshold(int(self.alive.sum()), self._size)
        self._sums, self._squares = np.zeros((arms, arms)), np.zeros((arms, arms))
        self.logs, self._tolerant_logs = np.zeros((arms, arms)), np.zeros((arms, arms))
        self.winner: int | None = None

    def advance(self) -> None:
        """Process the environments in which all remaining arms now have scores, and drop inferior arms."""
        table = self._table
        while self.winner is None and self.row < len(table.labels):
            status = table.status[self.row, self.alive]
            if not np.isin(status, (PairStatus.RECORDED, PairStatus.EXCLUDED)).all():
                break
            self.row += 1
            if (status == PairStatus.EXCLUDED).any():
                self._size -= 1
            else:
                self._process(table.score[self.row - 1])
            self._drop()

    def next_pair(self) -> tuple[int, int] | None:
        """Return the environment and the arm of the next pull as indices; None if no pull is left."""
        table = self._table
        if self.winner is not None:
            return None
        free = (table.status[self.row :, table.active] == PairStatus.FREE) & self.alive[table.active]
        rows = free.any(axis=1)
        row = int(np.argmax(rows)) if len(rows) else 0
        if not len(rows) or not rows[row]:
            return None
        return self.row + row, int(np.argmax(free[row]))

    def leader(self) -> int:
        """Return the remaining arm with the largest sum of scores so far."""
        if self.winner is not None:
            return self.winner
        left = np.flatnonzero(self.alive)
        return int(left[np.argmax(self._sums[np.ix_(left, left)].sum(axis=1))])

    def _process(self, scores: Floats) -> None:
        low, high = self._rule.span
        both = np.outer(self.alive, self.alive)
        difference = np.where(both, (scores[:, None] - scores[None, :]) / (high - low), 0.0)
        if self._rule.proven:
            self._bet(self.logs, difference, 0.0)
            if self._rule.tolerance > 0.0:
                self._bet(self._tolerant_logs, difference, self._tolerance)
        self._sums += difference
        self._squares += difference * difference
        self.n += 1

    @property
    def _tolerance(self) -> float:
        low, high = self._rule.span
        return self._rule.tolerance / (high - low)

    def _bet(self, logs: Floats, difference: Floats, tolerance: float) -> None:
        """Update the log capital of every bet that one arm is better than another, by a new environment."""
        count = self.n + 1
        mean = -(self._sums + tolerance * self._size) / (self._size - self.n)
        edge = self._sums / count - mean
        variance = (self._squares + _PRIOR_SQUARE) / count
        share = np.clip(edge / (variance + edge * edge), 0.0, None)
        share = np.minimum(share, _LARGEST_BET / np.maximum(1.0 + mean, 1e-300))
        possible = np.abs(mean) < 1.0
        logs[possible] += np.log1p(share[possible] * (difference - mean)[possible])
        logs[mean < -1.0 - 1e-12] = np.inf  # the rest of the set cannot make up for the sum

    def _drop(self) -> None:
        complete = self.n >= self._size
        if not self.n:
            return
        if complete:
            better = self._sums > 0.0
        elif self._rule.proven:
            better = self.logs >= self._threshold
        else:
            better = self._exceeds(0.0)
        for arm in np.flatnonzero(self.alive):
            if (better[:, arm] & self.alive).any():
                self.alive[arm] = False
        left = np.flatnonzero(self.alive)
        if len(left) == 1:
            self.winner = int(left[0])
        elif self._rule.tolerance > 0.0 and not complete:
            tolerant = (
                self._tolerant_logs >= self._threshold
                if self._rule.proven
                else self._exceeds(self._tolerance)
            )
            for arm in left:
                if all(tolerant[arm, other] for other in left if other != arm):
                    self.winner = int(arm)
                    return

    def _exceeds(self, tolerance: float) -> Any:
        if self.n < FIRST_CHECK:
            return np.zeros(self._sums.shape, bool)
        return deviates(self._sums, self._squares, self.n, self._size, tolerance) >= self._threshold
