"""Simulated logs in which units, such as visitors, come back: how often equal arms have a winner.

Half of the variance of normal rewards lies between units. The chances of conversions and of payments differ
between units, and so do the amounts of payments. Aggregated rows are counts whose chances differ from row to
row, such as seeds that germinate on a plate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tideproof as tp
from tideproof.analysis.arm_comparisons import About
from tideproof.core.kernel_state_arrays import Floats, Ints

_DAYS = 14
_MOST_VISITS = 200


class UnitSetting(NamedTuple):
    """One kind of simulated log in which units, such as visitors, may have several rewards.

    Attributes
    ----------
    rewards : "money" (mostly 0), "conversions", "normal", or "plates" for aggregated counts.
    visits : "once", "constant" (5 visits), "geometric" or "zipf".
    units : number of units.
    share : share of the units in the second arm.
    looks : number of analyses of the growing log; with several, they use `anytime`.
    about : which environments a winner is about, as in `fit`.
    """

    rewards: str
    visits: str
    units: int
    share: float
    looks: int = 1
    about: About = "these"

    @property
    def name(self) -> str:
        """Name of this kind of simulated log."""
        said = f"units, {self.rewards} {self.visits}, {self.units} units, {100 * self.share:g} % arm"
        said += ", similar days" if self.about == "similar" else ""
        return said if self.looks == 1 else f"{said}, {self.looks} looks"


def settings() -> list[UnitSetting]:
    """Return the kinds of simulated logs with units (visitors) for which wrong winners are counted."""
    once = [
        UnitSetting("money", "once", 2_000, 0.05),
        UnitSetting("money", "geometric", 2_000, 0.05),
        UnitSetting("normal", "zipf", 400, 0.5),
        UnitSetting("conversions", "zipf", 400, 0.3),
        UnitSetting("normal", "geometric", 100, 0.1),
        UnitSetting("conversions", "constant", 100, 0.1),
    ]
    plates = [UnitSetting("plates", "geometric", 21, 0.5), UnitSetting("plates", "constant", 12, 0.25)]
    returning = [UnitSetting("normal", "constant", 12, 0.5), UnitSetting("normal", "geometric", 24, 0.5)]
    similar = [setting._replace(about="similar") for setting in (*once, *returning)]
    return [*once, *similar, *(setting._replace(looks=_DAYS) for setting in once[:5]), *plates]


def play(setting: UnitSetting, number: int) -> bool | None:
    """Simulate and analyze one log; return whether an arm was named the best although both are equal."""
    if setting.rewards == "plates":
        log = draw_plates(setting, number)
        columns: dict[str, Any] = {"environment": None, "successes": "r", "n": "n"}
    else:
        log = draw(setting, number)
        columns = {"environment": "day", "reward": "reward", "unit": "unit"}
    day, compared = log.pop("seen"), False
    for last in np.linspace(0, _DAYS, setting.looks + 1)[1:]:
        seen = {name: column[day < last] for name, column in log.items()}
        if np.unique(seen["arm"]).size < 2:
            continue
        fit = tp.fit(seen, arm="arm", about=setting.about, anytime=setting.looks > 1, **columns)
        compared = compared or fit.decision.standing != "not_comparable"
        if fit.decision.names_winner:
            return True
    return False if compared else None


def draw(setting: UnitSetting, number: int) -> dict[str, Any]:
    """Draw one log with a row for each visit; `seen` is the day on which a row becomes known."""
    random = np.random.default_rng((number, setting.units))
    visits = draw_visits(setting, random)
    unit = np.repeat(np.arange(setting.units), visits)
    arm = (random.permutation(setting.units) < round(setting.share * setting.units)).astype(int)
    day = random.integers(_DAYS, size=unit.size)
    reward = _draw_rewards(setting.rewards, unit, setting.units, random)
    if setting.rewards == "normal":
        reward += random.normal(size=_DAYS)[day]
    return {"arm": arm[unit], "day": day, "unit": unit, "reward": reward, "seen": day}


def draw_visits(setting: UnitSetting, random: np.random.Generator) -> Ints:
    """Draw the number of visits of each simulated unit, such as a customer."""
    if setting.visits == "geometric":
        return random.geometric(0.25, setting.units)
    if setting.visits == "zipf":
        return np.minimum(random.zipf(2.0, setting.units), _MOST_VISITS)
    return np.full(setting.units, 1 if setting.visits == "once" else 5)


def _draw_rewards(rewards: str, unit: Ints, units: int, random: np.random.Generator) -> Floats:
    """Draw the reward of each simulated visit."""
    if rewards == "normal":
        sums = random.normal(size=units)[unit] + random.normal(size=unit.size)
        return np.asarray(sums / np.sqrt(2.0))
    rate = 0.1 if rewards == "conversions" else 0.05
    came = random.random(unit.size) < random.beta(5.0 * rate, 5.0 * (1.0 - rate), units)[unit]
    if rewards == "conversions":
        return came.astype(float)
    size = np.exp(random.normal(size=unit.size) + 0.7 * random.normal(size=units)[unit])
    return np.asarray(np.where(came, size, 0.0))


def draw_plates(setting: UnitSetting, number: int) -> dict[str, Any]:
    """Draw aggregated rows: the successes r of n on each plate, whose chances of success differ."""
    random = np.random.default_rng((number, setting.units))
    n = 8 * draw_visits(setting, random)
    r = random.binomial(n, random.beta(4.5, 4.5, setting.units))
    arm = (random.permutation(setting.units) < round(setting.share * setting.units)).astype(int)
    return {"arm": arm, "r": r, "n": n, "seen": np.zeros(setting.units)}
