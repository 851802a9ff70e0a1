"""Simulated logs with rare huge rewards or very small cells: how often a conclusion is wrong.

With timeouts the arms have equal means, but a few rewards of one arm are many times as large as usual. With
small cells, lifts come from hundreds of environments with three rewards each. Quotients, such as revenue per
session, are those of a few rows in each cell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tideproof as tp
from tideproof.analysis.arm_comparisons import About, Contrast
from tideproof.analysis.fit_result import Fit
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.research.trust.random_logs import cell_moments
from tideproof.stats.cells import Cells

_SHARE = 0.005  # of the rewards of one arm are timeouts
_TIDE = 0.3  # standard deviation of the logarithm of the factor of an environment
_LIFT = 0.2  # of the better arm, in small cells


class TailSetting(NamedTuple):
    """One kind of simulated log, with rare huge rewards or with very few rewards in each cell.

    Attributes
    ----------
    kind : "timeouts" (equal means; wrong is a winner), "small cells" or "quotients" (wrong is an interval
        that misses).
    rows, environments : numbers of rewards and of environments.
    spread : standard deviation of the logarithm of a usual reward.
    times : how many times as large as usual a timeout is.
    looks : number of analyses of the growing log; with several, they use `anytime`.
    about : which environments a winner is about, as in `fit`.
    """

    kind: str
    rows: int
    environments: int
    spread: float
    times: float = 1.0
    looks: int = 1
    about: About = "similar"

    @property
    def name(self) -> str:
        """Name of this kind of simulated log."""
        said = f"{self.kind}, {self.rows} rows, {self.environments} environments, spread {self.spread:g}"
        said += f", timeouts x {self.times:g}" if self.times > 1.0 else ""
        said += ", these days" if self.about == "these" else ""
        return said if self.looks == 1 else f"{said}, {self.looks} looks"


def settings() -> list[TailSetting]:
    """Return the kinds of simulated logs with rare huge rewards or with very few rewards in each cell."""
    return [
        TailSetting("timeouts", 4_000, 14, 0.5, 20.0),
        TailSetting("timeouts", 4_000, 14, 1.0, 20.0),
        TailSetting("timeouts", 10_000, 14, 0.5, 30.0),
        TailSetting("timeouts", 4_000, 14, 0.5, 20.0, looks=14),
        TailSetting("timeouts", 4_000, 14, 0.5, 20.0, about="these"),
        TailSetting("timeouts", 10_000, 14, 0.5, 30.0, about="these"),
        TailSetting("timeouts", 4_000, 14, 0.5, 20.0, looks=14, about="these"),
        TailSetting("small cells", 900, 300, 0.3),
        TailSetting("small cells", 900, 300, 0.6),
        TailSetting("quotients", 112, 14, 1.0),
        TailSetting("quotients", 400, 50, 1.0),
    ]


def play(setting: TailSetting, number: int) -> bool | None:
    """Simulate and analyze one log; return whether the conclusion on the two arms is wrong."""
    log = draw(setting, number)
    if setting.kind == "quotients":
        found = tp.fit(log, arm="arm", environment="day", reward="revenue / sessions").contrast(1, 0)
        return not _contains(found, 0.0)
    arm, environment, reward = log["arm"], log["day"], log["reward"]
    if setting.kind == "small cells":
        return not _contains(Fit(_cells(arm, environment, reward), scale="ratio").contrast(1, 0), _LIFT)
    for last in np.linspace(0, setting.environments, setting.looks + 1)[1:]:
        seen = environment < last
        cells = _cells(arm[seen], environment[seen], reward[seen])
        fit = Fit(cells, anytime=setting.looks > 1, about=setting.about)
        if fit.decision.standing == ("winner" if setting.about == "similar" else "winner_on_these"):
            return True
    return False


def _contains(found: Contrast, truth: float) -> bool:
    """Return whether the confidence interval of a comparison of arms contains the true difference."""
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def draw(setting: TailSetting, number: int) -> dict[str, Any]:
    """Simulate one log as columns: arm, day, and the reward (or numerator and denominator of a ratio)."""
    random = np.random.default_rng((number, setting.rows, setting.environments))
    if setting.kind == "quotients":
        return _draw_quotients(setting, random)
    arm = random.integers(0, 2, setting.rows)
    environment = random.integers(0, setting.environments, setting.rows)
    usual = random.lognormal(-0.5 * setting.spread**2, setting.spread, setting.rows)
    reward = usual * np.exp(_TIDE * random.normal(size=setting.environments))[environment]
    if setting.kind == "small cells":
        reward[arm == 1] *= 1.0 + _LIFT
    else:
        late = (arm == 1) & (random.random(setting.rows) < _SHARE)
        reward[late] *= setting.times
        reward[arm == 1] /= 1.0 + _SHARE * (setting.times - 1.0)
    return {"arm": arm, "day": environment, "reward": reward}


def _draw_quotients(setting: TailSetting, random: np.random.Generator) -> dict[str, Any]:
    """Simulate ratio metrics with the same distribution in both arms and geometric denominators.

    Every arm has equally many rows in each environment.
    """
    arm, day = np.tile([0, 1], setting.rows // 2), np.arange(setting.rows) // 2 % setting.environments
    sessions = random.geometric(0.2, arm.size)
    factor = np.exp(_TIDE * random.normal(size=setting.environments))[day]
    usual = random.lognormal(-0.5 * setting.spread**2, setting.spread, arm.size)
    return {"arm": arm, "day": day, "revenue": factor * sessions * usual, "sessions": sessions}


def _cells(arm: Ints, environment: Ints, reward: Floats) -> Cells:
    """Return the statistics of the rewards of two arms in each environment."""
    key = environment * 2 + arm
    order = np.argsort(key, kind="stable")
    cell, first, n = np.unique(key[order], return_index=True, return_counts=True)
    mean, squares, cubes, fourths, low = cell_moments(n, first, reward[order])
    where, index = np.unique(cell // 2, return_inverse=True)
    return Cells(
        [0, 1], where.tolist(), cell % 2, index, n.astype(float), mean, squares,
        cubes=cubes, fourths=fourths, low=low,
    )  # fmt: skip
