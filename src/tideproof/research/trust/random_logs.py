"""Logs drawn at random as cells: who got traffic where, what rewards were expected, and what came.

Traffic never looks at rewards. A tide has a trend as well as noise, so that an arm whose share grows meets
another tide than the others: whoever averages over environments is misled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.errors import UnknownName
from tideproof.research.trust.log_settings import Setting
from tideproof.stats.cells import Cells, bernoulli

Random = np.random.Generator
Moments = tuple[Floats, ...]  # of each cell: mean, squares, cubes, fourths; the lowest reward

_MOST = 0.95  # a rate that no tide exceeds
_BUSIER = 20.0  # the traffic of the first arm over that of the last, where it is uneven
_DRIFT = 4.0  # the logarithm of that ratio at the end of a drift
_OTHER = 0.4  # the lift of the other end of a valley, over the better one's
_NEAR = 0.9  # the lift of the second of two near the top, over the first's
_CLUMP = 0.5  # shape of the gamma numbers that make counts clump
_VARIES = {
    "seconds": 0.2,
    "money": 1.0,
    "fortunes": 1.5,
    "unlike": 1.0,
}  # standard deviation of its logarithm
_UNLIKE = (0.85, 1.0)  # that of the first arm and of the last, where they differ
_NOISIER = 3.0  # standard deviation of the last arm over that of the first, where noise is uneven


class RandomLog(NamedTuple):
    """What was drawn.

    Attributes
    ----------
    cells : what a user has.
    means : (J, K) the expected reward of each arm in each environment, seen there or not.
    events : (K,) rewards of each arm that are not 0.
    """

    cells: Cells
    means: Floats
    events: Floats

    def gap(self, scale: str, a: int, b: int) -> float:
        """Return the true value of arm a over arm b on a scale, as `Contrast.estimate` states it.

        Where the scale is the world's own it is the same in every environment. Elsewhere it is what the
        traffic met: the difference of the means over all traffic, or their ratio.
        """
        share = self.cells.sizes / self.cells.sizes.sum()
        x, y = self.means[:, a], self.means[:, b]
        if scale == "difference":
            return float(share @ (x - y))
        if scale in ("ratio", "log"):
            return float(share @ x / (share @ y)) - 1.0
        return math.expm1(float(share @ (_logit(x) - _logit(y))))


def draw(setting: Setting, number: int) -> RandomLog:
    """Draw log `number` of a setting; the same numbers, the same log."""
    rng = np.random.default_rng([crc32(setting.name.encode()), number])
    J, K = setting.environments, setting.arms
    share = _named("allocation", SPLITS, setting.allocation)(rng, J, K)
    n = rng.multinomial(setting.pulls * K, (share / share.sum()).ravel()).reshape(J, K)
    means = _means(setting, rng)
    environment, arm = np.nonzero(n)
    told = _told(setting, rng, arm, n[environment, arm], means[environment, arm])

    def cells(moments: Moments) -> Cells:
        mean, squares, cubes, fourths, low = moments
        counts = n[environment, arm].astype(np.float64)
        names = list(range(K)), list(range(J))
        return Cells(*names, arm, environment, counts, mean, squares, cubes=cubes, fourths=fourths, low=low)

    found = cells(told.moments)
    if told.logs is not None:
        found = replace(found, logs=cells(told.logs))
    return RandomLog(found, means, found.by_arm(told.events))


def _even(_: Random, J: int, K: int) -> Floats:
    return np.ones((J, K))


def _uneven(_: Random, J: int, K: int) -> Floats:
    return np.tile(np.geomspace(_BUSIER, 1.0, K), (J, 1))


def _drifting(_: Random, J: int, K: int) -> Floats:
    """Equal at first; in the end nearly all traffic goes to the first arms, as a bandit would have it."""
    share = np.exp(_DRIFT * np.outer(np.linspace(0.0, 1.0, J), np.linspace(1.0, 0.0, K)))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _wild(rng: Random, J: int, K: int) -> Floats:
    return rng.dirichlet(np.full(K, 0.7), J)


def _threes(rng: Random, J: int, K: int) -> Floats:
    """Three arms at a time, chosen at random, but so that each meets its neighbours somewhere."""
    share = np.zeros((J, K))
    for j in range(J):
        share[j, [j % K, (j + 1) % K, int(rng.integers(K))]] = 1.0
    return share


def _relay(_: Random, J: int, K: int) -> Floats:
    """Neighbours meet while the tide rises: the first two at its lowest, the last two at its highest."""
    first = np.arange(J) * (K - 1) // J
    share = np.zeros((J, K))
    share[np.arange(J), first] = share[np.arange(J), first + 1] = 1.0
    return share


SPLITS: dict[str, Callable[[Random, int, int], Floats]] = {
    "even": _even,
    "uneven": _uneven,
    "drifting": _drifting,
    "wild": _wild,
    "threes": _threes,
    "relay": _relay,
}

# The lift of each of K arms; the first is the busiest where traffic is not even.
TRUTHS: dict[str, Callable[[int, float], Floats]] = {
    "equal": lambda K, _: np.zeros(K),
    "first": lambda K, lift: lift * (np.arange(K) == 0),
    "last": lambda K, lift: lift * (np.arange(K) == K - 1),
    "steps": lambda K, lift: np.linspace(0.0, lift, K),
    "near": lambda K, lift: lift * ((np.arange(K) == K - 1) + _NEAR * (np.arange(K) == K - 2)),
    "low-end": lambda K, lift: lift * ((np.arange(K) == 0) + _OTHER * (np.arange(K) == K - 1)),
    "high-end": lambda K, lift: lift * ((np.arange(K) == K - 1) + _OTHER * (np.arange(K) == 0)),
}


def lifts(setting: Setting) -> Floats:
    """Return the lift of each arm: (K,)."""
    return np.asarray(_named("truth", TRUTHS, setting.truth)(setting.arms, setting.lift), np.float64)


def _means(setting: Setting, rng: Random) -> Floats:
    """Return the expected reward of each arm in each environment: (J, K)."""
    J = setting.environments
    trend = math.sqrt(3.0) * np.linspace(-1.0, 1.0, J)
    z = (trend + rng.standard_normal(J)) / math.sqrt(2.0)
    lift, level = lifts(setting), _mean(setting)
    if setting.rewards in ("normal", "uneven"):
        return lift + (setting.swell * z)[:, None]
    tide = _named("tide", _TIDES, setting.tide)
    means = tide(level, lift, setting.swell * z, setting.rewards == "conversions")
    return np.asarray(means)


def _adds(level: float, lift: Floats, z: Floats, rate: bool) -> Floats:
    if not rate:  # amounts of 0 and more stay so
        return np.asarray(level * (2.0 + lift + np.tanh(z)[:, None]))
    room = min(1.0, _MOST / level - 1.0 - lift.max())
    return np.asarray(level * (1.0 + lift + room * np.tanh(z / room)[:, None]))


def _multiplies(level: float, lift: Floats, z: Floats, rate: bool) -> Floats:
    highest = _MOST / (level * (1.0 + lift.max())) if rate else math.inf
    return np.outer(level * np.minimum(np.exp(z), highest), 1.0 + lift)


def _odds(level: float, lift: Floats, z: Floats, _: bool) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-_logit(level) - np.log1p(lift) - z[:, None])))


_TIDES = {"none": _multiplies, "adds": _adds, "multiplies": _multiplies, "odds": _odds}


def _mean(setting: Setting) -> float:
    """Return the expected reward without lift and tide; amounts of money have a median of 1."""
    varies = _VARIES.get(setting.rewards)
    return setting.level if varies is None else setting.level * math.exp(0.5 * varies**2)


class _Told(NamedTuple):
    """Moments of the rewards of each cell and, if all are above 0, of logarithms; how many are not 0."""

    moments: Moments
    logs: Moments | None
    events: Floats


def _told(setting: Setting, rng: Random, arm: Ints, n: Ints, m: Floats) -> _Told:
    """Draw n rewards of each cell."""
    if setting.rewards == "conversions":
        events = rng.binomial(n, m).astype(np.float64)
        moments = events / n, *bernoulli(n.astype(np.float64), events / n), np.floor(events / n)
        return _Told(moments, None, events)
    rewards = _rewards(setting, rng, np.repeat(arm, n), np.repeat(m, n))
    first = np.concatenate([[0], np.cumsum(n)[:-1]])
    logs = _moments(n, first, np.log(rewards)) if np.all(rewards > 0.0) else None
    return _Told(_moments(n, first, rewards), logs, np.add.reduceat((rewards != 0.0) * 1.0, first))


def _rewards(setting: Setting, rng: Random, arm: Ints, m: Floats) -> Floats:
    """Draw single rewards of these arms with these means."""
    kind = setting.rewards
    if kind in ("normal", "uneven"):
        noisier = np.linspace(1.0, _NOISIER if kind == "uneven" else 1.0, setting.arms)
        return np.asarray(m + noisier[arm] * rng.standard_normal(m.size))
    if kind == "counts":
        return rng.poisson(m).astype(np.float64)
    if kind == "clumps":
        return rng.poisson(m * rng.gamma(_CLUMP, 1.0 / _CLUMP, m.size)).astype(np.float64)
    varies = _named("rewards", _VARIES, kind)
    if kind == "unlike":
        each = np.linspace(*_UNLIKE, setting.arms)[arm]
        return np.asarray(m * rng.lognormal(-0.5 * each**2, each))
    typical = math.exp(0.5 * varies**2)  # the mean of an amount
    if setting.level < 1.0:  # tides and lifts are of the share of those who buy
        return np.asarray((rng.random(m.size) < m / typical) * rng.lognormal(0.0, varies, m.size))
    amount = rng.lognormal(0.0, varies, m.size)
    return np.asarray(m - typical + amount if setting.tide == "adds" else m / typical * amount)


def _moments(n: Ints, first: Ints, rewards: Floats) -> Moments:
    """Return moments and the lowest of the rewards of each cell, which lie one after the other."""
    mean = np.add.reduceat(rewards, first) / n
    deviation = rewards - np.repeat(mean, n)
    squares, cubes, fourths = (np.add.reduceat(deviation**k, first) for k in (2, 3, 4))
    return mean, squares, cubes, fourths, np.minimum.reduceat(rewards, first)


def _logit(p: Any) -> Any:
    return np.log(p / (1.0 - p))


def _named(what: str, known: dict[str, Any], name: str) -> Any:
    if name not in known:
        raise UnknownName.with_suggestion(what, name, known)
    return known[name]
