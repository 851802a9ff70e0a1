"""Evidence about the ratio of two commands' times, from a paired difference of log times in each round.

The e-process of a claim "the ratio is above a point" is the wealth of a gambler who bets on each difference
before seeing it. Half of the bets are on its sign only, the others on its clipped size:

    wealth = mean over bets b and both kinds of u of the product over rounds r of (1 + b * u_r),
    u_r = sign(d_r - point)  or  clip((d_r - point) / scale_r, -1, 1).

If all u_r have a conditional mean of at most 0, the wealth is a nonnegative supermartingale that begins at 1,
so it ever reaches 1 / alpha with probability alpha at most (Ville's inequality), however often one looks.
The order of the commands is drawn anew in each round. For identical commands each d_r is therefore as likely
as -d_r, given the past and |d_r|, and the claim about point 0 is exact, whatever the machine does. For a
command that multiplies all times by a constant factor, the same holds for d_r minus its logarithm, so bounds
are exact under this model.

The scales depend on earlier rounds only and not on the point. The wealth therefore decreases in the point:
whatever rejects a point rejects all points beyond it, and verdicts agree with intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tideproof.errors import InputError

# Shares of the wealth that are bet. Large bets win quickly if one command wins every round; small ones are
# best for effects that are small beside the noise. Each share is bet on signs and on clipped differences, and
# all of these bets begin with equal wealth.
_BETS = np.array([1.0, 0.8, 0.6, 0.45, 0.33, 0.24, 0.17, 0.12, 0.08, 0.05, 0.03, 0.015])
_KINDS = 2  # of bets: on signs and on clipped differences
_LOG_SHARE = -math.log(_KINDS * len(_BETS))

_SCALE = 2.5  # differences are clipped at so many median absolute deviations: 1.7 standard deviations
_ROUNDS_BEFORE_FACTORING = 64  # each round at most doubles the wealth
_FIRST_SCALE = 4  # rounds before the first scale; until then all bets see signs
_SMALLEST_SCALE = 1e-9  # for differences that were all equal
_BISECTIONS = 50
_FARTHEST = 30.0  # a logarithm of a ratio; bounds beyond it are infinite
_MOST_PAIRED = 600  # last rounds of which the estimate takes all pairs


class RunningEvidence:
    """Evidence by betting (e-processes) that the time ratios of commands lie above or below given values.

    Parameters
    ----------
    pairs
        Number of pairs of commands.
    points
        Logarithms of ratios about which there may be a claim.
    """

    def __init__(self, pairs: int, points: Sequence[float]) -> None:
        self.points = np.array(points, dtype=float)
        self._position = {float(point): index for index, point in enumerate(points)}
        shape = 2, pairs, len(points)  # the two sides are "above" and "below"
        self._wealth = np.full((*shape, _KINDS, len(_BETS)), math.exp(_LOG_SHARE))
        self._factored = np.zeros(shape)  # logarithm of what was factored out of the wealth
        self._most = np.zeros(shape)
        self._scales = np.full((pairs, 1), _SMALLEST_SCALE)
        self._differences = np.empty((64, pairs))
        self.rounds = 0

    def add(self, differences: np.ndarray) -> None:
        """Add one round of log time differences between commands, NaN for pairs that were not compared."""
        if self.rounds == len(self._differences):
            self._differences = np.concatenate([self._differences, np.empty_like(self._differences)])
        if is_scale_round(self.rounds):
            past = self._differences[: self.rounds]
            self._scales = np.array([[noise_scale(column[~np.isnan(column)])] for column in past.T])
        self._differences[self.rounds] = differences
        self.rounds += 1
        moves = bounded_moves(differences[:, None], self.points, self._scales)
        if math.isnan(differences.sum()):
            moves[np.isnan(differences)] = 0.0  # nothing is bet on pairs that were not compared
        self._wealth *= growth(np.stack([moves, -moves]))
        total = self._wealth.sum(axis=(-2, -1))
        np.maximum(self._most, self._factored + np.log(total), out=self._most)
        if self.rounds % _ROUNDS_BEFORE_FACTORING == 0:
            self._factored += np.log(total)
            self._wealth /= total[..., None, None]

    def count_claims(self, alpha: float) -> int:
        """Return how many claims "this time ratio is above (or below) this value" have been shown."""
        return int(np.count_nonzero(self._most >= -math.log(alpha)))

    def is_above(self, pair: int, point: float, alpha: float) -> bool:
        """Return whether a time ratio was shown to be above a given value, with error probability `alpha`."""
        return bool(self._most[0, pair, self._position[point]] >= -math.log(alpha))

    def is_below(self, pair: int, point: float, alpha: float) -> bool:
        """Return whether a time ratio was shown to be below a given value, with error probability `alpha`."""
        return bool(self._most[1, pair, self._position[point]] >= -math.log(alpha))

    def differences(self, pair: int) -> np.ndarray:
        """Return the log time differences of two commands in all rounds that compared them."""
        column = self._differences[: self.rounds, pair]
        return column[~np.isnan(column)]


def bounded_moves(differences: np.ndarray, points: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return signs and clipped sizes of log time differences beyond given values, for bets on them."""
    beyond = differences - points
    return np.stack([np.sign(beyond), np.clip(beyond / scales, -1.0, 1.0)], axis=-1)


def growth(moves: np.ndarray) -> np.ndarray:
    """Return the factors by which the capital of each bet grows in each round."""
    factors: np.ndarray = 1.0 + moves[..., None] * _BETS
    return factors


def is_scale_round(rounds: int) -> bool:
    """Return whether the noise scale is estimated anew after so many rounds: at 4, 6, 8, 12, 16 and so on.

    >>> [n for n in range(40) if is_scale_round(n)]
    [4, 6, 8, 12, 16, 24, 32]
    """
    power = rounds & -rounds
    return rounds >= _FIRST_SCALE and (rounds == power or rounds == 3 * power)


def noise_scale(differences: np.ndarray) -> float:
    """Return the size at which log time differences are clipped, estimated from earlier rounds."""
    if not len(differences):
        return _SMALLEST_SCALE
    deviations = np.abs(differences - np.median(differences))
    return max(_SMALLEST_SCALE, _SCALE * float(np.median(deviations)))


def noise_scales(differences: np.ndarray) -> np.ndarray:
    """Return the size at which each round's log time differences are clipped, from earlier rounds."""
    scales = np.empty(len(differences))
    scale = _SMALLEST_SCALE
    for number in range(len(differences)):
        if is_scale_round(number):
            scale = noise_scale(differences[:number])
        scales[number] = scale
    return scales


def log_evidence(differences: np.ndarray, scales: np.ndarray, point: float) -> float:
    """Return the log of the largest capital so far of bets that a time ratio is above a given value."""
    moves = bounded_moves(differences, np.array(point), scales)
    with np.errstate(divide="ignore"):  # all was bet and lost
        wealth = np.cumsum(np.log(growth(moves)), axis=0) + _LOG_SHARE
    wealth = np.logaddexp.reduce(wealth, axis=(-2, -1))
    return max(0.0, float(wealth.max()))


def ratio_bounds(differences: np.ndarray, alpha: float) -> tuple[float, float]:
    """Return the lower and the upper confidence bound of a log time ratio, valid after any round.

    They are the last points that the evidence of "above" and of "below" does not reject; infinite with few
    rounds.
    """
    if not 0.0 < alpha < 1.0:
        raise InputError(f"the error of a bound must be between 0 and 1, not {alpha!r}")
    if not len(differences):
        return -math.inf, math.inf
    scales, enough = noise_scales(differences), -math.log(alpha)
    low = _last_rejected(differences, scales, enough)
    return low, -_last_rejected(-differences, scales, enough)


def _last_rejected(differences: np.ndarray, scales: np.ndarray, enough: float) -> float:
    """Return the largest value that the log time ratio surely exceeds; minus infinity if there is none."""
    rejected, open_ = -_FARTHEST, float(np.max(differences))
    if log_evidence(differences, scales, rejected) < enough:
        return -math.inf
    for _ in range(_BISECTIONS):
        middle = 0.5 * (rejected + open_)
        if log_evidence(differences, scales, middle) >= enough:
            rejected = middle
        else:
            open_ = middle
        if open_ - rejected < 1e-9:
            break
    return rejected


def estimate_ratio(differences: np.ndarray) -> float:
    """Return the Hodges-Lehmann estimate of a log ratio: the median of means of all pairs of values.

    >>> estimate_ratio(np.array([0.01, 0.02, 0.03, 0.04, 5.0]))
    0.03
    """
    recent = differences[-_MOST_PAIRED:]
    first, second = np.triu_indices(len(recent))
    return float(np.median((recent[first] + recent[second]) / 2.0))
