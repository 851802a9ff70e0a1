"""Simulated logs in which units, such as visitors, come back: how often equal arms have a winner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tideproof as tp


class UnitSetting(NamedTuple):
    """One kind of log with units.

    Attributes
    ----------
    name : name of the setting.
    rewards : "money" (mostly 0, otherwise lognormal), "conversions" or "normal".
    units : number of units.
    visits : "once", "constant" (5 visits), "geometric" or "zipf".
    share : share of the units in the second arm.
    looks : number of analyses of the growing log, with `anytime` if there are several.
    """

    name: str
    rewards: str
    units: int
    visits: str
    share: float
    looks: int = 1


def settings() -> list[UnitSetting]:
    """Return the kinds of logs with units whose false winners are counted."""
    return [UnitSetting("units, money, once, 5 % arm", "money", 2_000, "once", 0.05)]


def play(setting: UnitSetting, number: int) -> bool | None:
    """Simulate and analyze one log; return whether an arm was named although both are equal."""
    random = np.random.default_rng((number, setting.units))
    arm = (random.random(setting.units) < setting.share).astype(int)
    reward = np.where(random.random(arm.size) < 0.05, random.lognormal(3.0, 1.0, arm.size), 0.0)
    if np.unique(arm).size < 2:
        return None
    log = {"arm": arm, "unit": np.arange(arm.size), "reward": reward}
    fit = tp.fit(log, arm="arm", environment=None, reward="reward", unit="unit")
    return fit.decision.standing == "winner"
