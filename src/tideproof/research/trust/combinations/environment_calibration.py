"""Simulated logs in which arms differ more on some days than on others: how often equal arms have a winner.

On average over all days, the ones to come included, all arms are equal. In each environment an effect is
added to an arm, or multiplies its mean: the interaction of arm and environment. A winner on environments like
these is then always wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.research.trust.random_logs import cell_moments
from tideproof.stats.cells import Cells

_RATE = 0.1  # conversions, and the share of buyers for money
_TIDE = 0.4  # standard deviation of the logarithm of the factor of an environment
_NOISIER = 3.0  # standard deviation of the last arm relative to the first, for uneven noise


class EnvironmentSetting(NamedTuple):
    """One kind of simulated log in which the differences between arms vary from day to day.

    Attributes
    ----------
    rewards : "normal", "uneven" (normal; the last arm is noisier), "conversions" or "money" (mostly 0).
    arms, environments, pulls : their numbers; pulls are rewards of an arm in an environment on average.
    interaction : standard deviation of the interactions, in standard deviations of a normal reward, or of the
        logarithm of the mean of other rewards.
    share : share of the traffic of the last arm; the others share the rest equally.
    looks : number of analyses of the growing log; with several, they use `anytime`.
    """

    rewards: str
    arms: int
    environments: int
    pulls: int
    interaction: float
    share: float
    looks: int = 1

    @property
    def name(self) -> str:
        """Name of this kind of simulated log."""
        said = (
            f"days differ, {self.rewards}, {self.arms} arms, {self.environments} x {self.pulls}, "
            f"interaction {self.interaction:g}, {100 * self.share:g} % arm"
        )
        return said if self.looks == 1 else f"{said}, {self.looks} looks"


def settings() -> list[EnvironmentSetting]:
    """Return the kinds of simulated logs for which wrongly named winners are counted."""
    days = [EnvironmentSetting("normal", 2, 14, 200, size, 0.5) for size in (0.0, 0.05, 0.1, 0.2)]
    return [
        *days,
        EnvironmentSetting("normal", 2, 4, 100, 0.2, 0.5),
        EnvironmentSetting("normal", 2, 30, 50, 0.5, 0.5),
        EnvironmentSetting("normal", 5, 14, 200, 0.2, 0.2),
        EnvironmentSetting("normal", 2, 8, 100, 1.0, 0.1),
        EnvironmentSetting("uneven", 2, 14, 200, 0.2, 0.1),
        EnvironmentSetting("uneven", 4, 7, 100, 0.2, 0.1),
        EnvironmentSetting("conversions", 2, 14, 500, 0.05, 0.5),
        EnvironmentSetting("conversions", 2, 14, 500, 0.2, 0.5),
        EnvironmentSetting("conversions", 4, 8, 500, 0.2, 0.1),
        EnvironmentSetting("money", 2, 14, 400, 0.0, 0.1),
        EnvironmentSetting("money", 2, 14, 400, 0.3, 0.5),
        EnvironmentSetting("money", 2, 14, 400, 0.3, 0.1),
        days[2]._replace(looks=14),
        EnvironmentSetting("money", 2, 14, 400, 0.3, 0.5, 14),
    ]


def play(setting: EnvironmentSetting, number: int) -> bool | None:
    """Simulate and analyze one log; return whether an arm was named the winner although all are equal."""
    log = draw(setting, number)
    for last in np.linspace(0, setting.environments, setting.looks + 1)[1:]:
        seen = log.select(np.flatnonzero(log.environment < last)).seen()
        if setting.arms > seen.K:
            continue
        if Fit(seen, anytime=setting.looks > 1).decision.standing == "winner":
            return True
    return False


def draw(setting: EnvironmentSetting, number: int) -> Cells:
    """Draw one log, as statistics of the rewards of each arm in each environment."""
    random = np.random.default_rng((number, setting.environments, setting.pulls))
    J, K = setting.environments, setting.arms
    share = np.full(K, (1.0 - setting.share) / (K - 1))
    share[-1] = setting.share
    n = random.multinomial(setting.pulls * K, share, size=J)
    environment, arm = np.nonzero(n)
    tide, own = random.normal(size=(J, 1)), setting.interaction * random.normal(size=(J, K))
    normal = setting.rewards in ("normal", "uneven")
    mean = 2.0 * tide + own if normal else _RATE * np.exp(_TIDE * tide + own)
    count = n[environment, arm]
    rewards = _draw_rewards(setting, np.repeat(arm, count), np.repeat(mean[environment, arm], count), random)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    means, squares, cubes, fourths, low = cell_moments(count, first, rewards)
    names = list(range(K)), list(range(J))
    return Cells(
        *names, arm, environment, count.astype(float), means, squares, cubes=cubes, fourths=fourths, low=low
    )


def _draw_rewards(
    setting: EnvironmentSetting, arm: Ints, mean: Floats, random: np.random.Generator
) -> Floats:
    """Draw one reward for each given arm and expected reward."""
    if setting.rewards in ("normal", "uneven"):
        noisier = _NOISIER if setting.rewards == "uneven" else 1.0
        return np.asarray(mean + np.linspace(1.0, noisier, setting.arms)[arm] * random.normal(size=mean.size))
    came = random.random(mean.size) < np.minimum(mean, 0.95)
    if setting.rewards == "conversions":
        return came.astype(float)
    return np.where(came, random.lognormal(0.0, 1.0, mean.size), 0.0)
