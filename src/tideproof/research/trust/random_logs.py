"""Simulate random logs: their traffic, true means, and rewards summarised by arm and environment.

Traffic does not depend on rewards. A tide has a trend as well as noise. An arm whose share of traffic grows
therefore gets most of its rewards under other shifts than the rest, which biases raw means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import UnknownName
from tideproof.research.trust.log_settings import Setting
from tideproof.stats.cells import Cells, bernoulli_moments

Random = np.random.Generator
Moments = tuple[Floats, ...]  # for each cell: mean, sums of powers 2, 3 and 4 of deviations, lowest reward

_MAX_RATE = 0.95  # no tide raises a rate above this
_BUSIER = 20.0  # traffic of the first arm relative to the last, in the uneven split
_DRIFT = 4.0  # logarithm of that ratio at the end of the drifting split
_OTHER_END = 0.4  # lift of the second-best arm in "low-end" and "high-end", relative to the best
_NEAR = 0.9  # lift of the second-best arm in "near", relative to the best
_CLUMP = 0.5  # shape of the gamma distribution that makes counts overdispersed
_LOG_DEVIATIONS = {
    "seconds": 0.2,
    "money": 1.0,
    "fortunes": 1.5,
    "unlike": 1.0,
}  # standard deviation of the logarithm of a reward
_UNLIKE = (0.85, 1.0)  # the same for the first and the last arm of "unlike"
_NOISIER = 3.0  # standard deviation of the last arm relative to the first, with uneven noise


class RandomLog(NamedTuple):
    """A simulated log with its true means.

    Attributes
    ----------
    cells : the data that a user would have.
    means : (J, K) the expected reward of each arm in each environment, also where it has no rewards.
    events : (K,) number of nonzero rewards of each arm.
    """

    cells: Cells
    means: Floats
    events: Floats

    def gap(self, scale: str, a: int, b: int) -> float:
        """Return the true effect of arm `a` relative to arm `b`, on a scale such as difference or ratio.

        `Contrast.estimate` is an estimate of this value.

        On the scale of the simulated tide, the value is the same in every environment. On other scales, it is
        the difference or the ratio of the means over all traffic.
        """
        share = self.cells.sizes / self.cells.sizes.sum()
        x, y = self.means[:, a], self.means[:, b]
        if scale == "difference":
            return float(share @ (x - y))
        if scale in ("ratio", "log"):
            return float(share @ x / (share @ y)) - 1.0
        return math.expm1(float(share @ (_logit(x) - _logit(y))))


def draw(setting: Setting, number: int) -> RandomLog:
    """Simulate a log of the given kind; the same kind and the same log number always give the same log."""
    rng = np.random.default_rng([crc32(setting.name.encode()), number])
    J, K = setting.environments, setting.arms
    share = _lookup("allocation", SPLITS, setting.allocation)(rng, J, K)
    n = rng.multinomial(setting.pulls * K, (share / share.sum()).ravel()).reshape(J, K)
    means = _means(setting, rng)
    environment, arm = np.nonzero(n)
    rewards = _draw_cell_rewards(setting, rng, arm, n[environment, arm], means[environment, arm])

    def cells(moments: Moments) -> Cells:
        mean, squares, cubes, fourths, low = moments
        counts = n[environment, arm].astype(np.float64)
        names = list(range(K)), list(range(J))
        return Cells(*names, arm, environment, counts, mean, squares, cubes=cubes, fourths=fourths, low=low)

    found = cells(rewards.moments)
    if rewards.logs is not None:
        found = replace(found, logs=cells(rewards.logs))
    return RandomLog(found, means, found.by_arm(rewards.events))


def _even_split(_: Random, J: int, K: int) -> Floats:
    return np.ones((J, K))


def _uneven_split(_: Random, J: int, K: int) -> Floats:
    return np.tile(np.geomspace(_BUSIER, 1.0, K), (J, 1))


def _drifting_split(_: Random, J: int, K: int) -> Floats:
    """Return the arms' shares of traffic, which are equal at first and move to the first arms over time."""
    share = np.exp(_DRIFT * np.outer(np.linspace(0.0, 1.0, J), np.linspace(1.0, 0.0, K)))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _random_split(rng: Random, J: int, K: int) -> Floats:
    return rng.dirichlet(np.full(K, 0.7), J)


def _three_arm_split(rng: Random, J: int, K: int) -> Floats:
    """Return the arms' shares of traffic if each environment contains only two or three of the arms.

    Each environment contains two arms with neighbouring indices and an arm that is drawn at random.
    """
    share = np.zeros((J, K))
    for j in range(J):
        share[j, [j % K, (j + 1) % K, int(rng.integers(K))]] = 1.0
    return share


def _relay_split(_: Random, J: int, K: int) -> Floats:
    """Return the arms' shares of traffic if only two neighbouring arms at a time get traffic.

    The pair moves from the first to the last arms.
    """
    first = np.arange(J) * (K - 1) // J
    share = np.zeros((J, K))
    share[np.arange(J), first] = share[np.arange(J), first + 1] = 1.0
    return share


SPLITS: dict[str, Callable[[Random, int, int], Floats]] = {
    "even": _even_split,
    "uneven": _uneven_split,
    "drifting": _drifting_split,
    "wild": _random_split,
    "threes": _three_arm_split,
    "relay": _relay_split,
}

# The lift of each of K arms. The first arm has the most traffic where traffic is not even.
TRUTHS: dict[str, Callable[[int, float], Floats]] = {
    "equal": lambda K, _: np.zeros(K),
    "first": lambda K, lift: lift * (np.arange(K) == 0),
    "last": lambda K, lift: lift * (np.arange(K) == K - 1),
    "steps": lambda K, lift: np.linspace(0.0, lift, K),
    "near": lambda K, lift: lift * ((np.arange(K) == K - 1) + _NEAR * (np.arange(K) == K - 2)),
    "low-end": lambda K, lift: lift * ((np.arange(K) == 0) + _OTHER_END * (np.arange(K) == K - 1)),
    "high-end": lambda K, lift: lift * ((np.arange(K) == K - 1) + _OTHER_END * (np.arange(K) == 0)),
}


def lifts(setting: Setting) -> Floats:
    """Return the true lift of each arm in one kind of simulated log.

    The result is an array (K,).
    """
    return np.asarray(_lookup("truth", TRUTHS, setting.truth)(setting.arms, setting.lift), np.float64)


def _means(setting: Setting, rng: Random) -> Floats:
    """Return the expected reward of each arm in each environment, as an array (environments, arms)."""
    J = setting.environments
    trend = math.sqrt(3.0) * np.linspace(-1.0, 1.0, J)
    z = (trend + rng.standard_normal(J)) / math.sqrt(2.0)
    lift, level = lifts(setting), _base_mean(setting)
    if setting.rewards in ("normal", "uneven"):
        return lift + (setting.swell * z)[:, None]
    tide = _lookup("tide", _TIDES, setting.tide)
    means = tide(level, lift, setting.swell * z, setting.rewards == "conversions")
    return np.asarray(means)


def _additive_means(level: float, lift: Floats, z: Floats, rate: bool) -> Floats:
    if not rate:  # amounts must not become negative
        return np.asarray(level * (2.0 + lift + np.tanh(z)[:, None]))
    room = min(1.0, _MAX_RATE / level - 1.0 - lift.max())
    return np.asarray(level * (1.0 + lift + room * np.tanh(z / room)[:, None]))


def _multiplicative_means(level: float, lift: Floats, z: Floats, rate: bool) -> Floats:
    highest = _MAX_RATE / (level * (1.0 + lift.max())) if rate else math.inf
    return np.outer(level * np.minimum(np.exp(z), highest), 1.0 + lift)


def _odds_means(level: float, lift: Floats, z: Floats, _: bool) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-_logit(level) - np.log1p(lift) - z[:, None])))


_TIDES = {
    "none": _multiplicative_means,
    "adds": _additive_means,
    "multiplies": _multiplicative_means,
    "odds": _odds_means,
}


def _base_mean(setting: Setting) -> float:
    """Return the expected reward of an arm without lift, in an environment without a shift.

    Amounts of money have a median of 1, so that their mean is above 1.
    """
    log_deviation = _LOG_DEVIATIONS.get(setting.rewards)
    return setting.level if log_deviation is None else setting.level * math.exp(0.5 * log_deviation**2)


class _RewardMoments(NamedTuple):
    """Statistical moments of the rewards in each arm-by-environment cell, and numbers of nonzero rewards.

    `moments` are those of the rewards, `logs` those of their logarithms. `logs` is None unless all rewards of
    the log are positive.
    """

    moments: Moments
    logs: Moments | None
    events: Floats


def _draw_cell_rewards(setting: Setting, rng: Random, arm: Ints, n: Ints, m: Floats) -> _RewardMoments:
    """Simulate the rewards of each arm-by-environment cell, and return their statistical moments.

    `n` and `m` are the number and the expected value of the rewards of each cell.
    """
    if setting.rewards == "conversions":
        events = rng.binomial(n, m).astype(np.float64)
        moments = events / n, *bernoulli_moments(n.astype(np.float64), events / n), np.floor(events / n)
        return _RewardMoments(moments, None, events)
    rewards = _draw_rewards(setting, rng, np.repeat(arm, n), np.repeat(m, n))
    first = np.concatenate([[0], np.cumsum(n)[:-1]])
    logs = cell_moments(n, first, np.log(rewards)) if np.all(rewards > 0.0) else None
    return _RewardMoments(
        cell_moments(n, first, rewards), logs, np.add.reduceat((rewards != 0.0) * 1.0, first)
    )


def _draw_rewards(setting: Setting, rng: Random, arm: Ints, m: Floats) -> Floats:
    """Simulate one reward for each given pair of an arm and an expected reward."""
    kind = setting.rewards
    if kind in ("normal", "uneven"):
        noisier = np.linspace(1.0, _NOISIER if kind == "uneven" else 1.0, setting.arms)
        return np.asarray(m + noisier[arm] * rng.standard_normal(m.size))
    if kind == "counts":
        return rng.poisson(m).astype(np.float64)
    if kind == "clumps":
        return rng.poisson(m * rng.gamma(_CLUMP, 1.0 / _CLUMP, m.size)).astype(np.float64)
    log_deviation = _lookup("rewards", _LOG_DEVIATIONS, kind)
    if kind == "unlike":
        each = np.linspace(*_UNLIKE, setting.arms)[arm]
        return np.asarray(m * rng.lognormal(-0.5 * each**2, each))
    typical = math.exp(0.5 * log_deviation**2)  # the mean of an amount
    if setting.level < 1.0:  # tides and lifts apply to the share of buyers
        return np.asarray((rng.random(m.size) < m / typical) * rng.lognormal(0.0, log_deviation, m.size))
    amount = rng.lognormal(0.0, log_deviation, m.size)
    return np.asarray(m - typical + amount if setting.tide == "adds" else m / typical * amount)


def cell_moments(n: Ints, first: Ints, rewards: Floats) -> Moments:
    """Return the statistical moments and the lowest reward of each arm-by-environment cell.

    The rewards of a cell are consecutive.
    """
    mean = np.add.reduceat(rewards, first) / n
    deviation = rewards - np.repeat(mean, n)
    squares, cubes, fourths = (np.add.reduceat(deviation**k, first) for k in (2, 3, 4))
    return mean, squares, cubes, fourths, np.minimum.reduceat(rewards, first)


def _logit(p: Any) -> Any:
    return np.log(p / (1.0 - p))


def _lookup(what: str, known: dict[str, Any], name: str) -> Any:
    if name not in known:
        raise UnknownName.with_suggestion(what, name, known)
    return known[name]
