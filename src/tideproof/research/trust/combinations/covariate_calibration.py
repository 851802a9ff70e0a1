"""Settings of the trust ledger for logs with covariates or two environment factors.

All arms have equal means. Arm A is rarer and noisier than the others, and the shifts of the environments are
larger than the noise. A winner is therefore always false.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit import fit
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import NotComparable

_LOOKS = 14  # looks at a log that grows, with anytime=True


class AdjustedLog(NamedTuple):
    """One kind of simulated log: cows and periods, or days and a covariate.

    Attributes
    ----------
    name : name of the setting.
    rows : number of rewards.
    levels : numbers of levels of the two environment factors; the second one is 1 with a covariate alone.
    share, ratio : share of arm A in the rewards, and its noise relative to that of the other arms.
    law : distribution of the noise: "normal", "skewed" (exponential) or "0/1" (rates, so the ratio is 1).
    covariate : whether the log has a covariate.
    anytime : whether the log is analyzed 14 times while it grows.
    """

    name: str
    rows: int
    levels: tuple[int, int]
    share: float
    ratio: float
    law: str = "normal"
    covariate: bool = False
    anytime: bool = False


def settings() -> list[AdjustedLog]:
    """Return the simulated kinds of logs with covariates."""
    return [
        AdjustedLog("covariate, 15 % arm, noise x 4", 400, (10, 1), 0.15, 4.0, covariate=True),
        AdjustedLog("covariate, 10 % arm, noise x 5", 400, (10, 1), 0.1, 5.0, covariate=True),
        AdjustedLog("covariate, skewed, 20 % arm, noise x 3", 400, (14, 1), 0.2, 3.0, "skewed", True),
        AdjustedLog(
            "covariate, 15 % arm, noise x 4, 14 looks", 400, (10, 1), 0.15, 4.0, covariate=True, anytime=True
        ),
        AdjustedLog("covariate, rates", 2_000, (14, 1), 0.1, 1.0, "0/1", True),
        AdjustedLog("two factors, 15 % arm, noise x 4", 240, (20, 6), 0.15, 4.0),
        AdjustedLog("two factors, small blocks, 20 % arm, noise x 4", 80, (20, 4), 0.2, 4.0),
        AdjustedLog("two factors, 15 % arm, noise x 4, 14 looks", 240, (20, 6), 0.15, 4.0, anytime=True),
        AdjustedLog(
            "two factors and a covariate, 20 % arm, noise x 4", 200, (20, 5), 0.2, 4.0, covariate=True
        ),
        AdjustedLog("two factors, rates", 2_000, (14, 6), 0.1, 1.0, "0/1"),
    ]


def play(setting: AdjustedLog, number: int) -> bool | None:
    """Simulate one log, and return whether the analysis names a false winner; None if it is not possible."""
    log = draw_log(setting, number)
    names = "first" if setting.levels[1] == 1 else "first + second"
    options: dict[str, Any] = {"arm": "arm", "environment": names, "reward": "reward"}
    options["covariates"] = ["before"] if setting.covariate else []
    if not setting.anytime:
        return fit(log, about="these", **options).decision.names_winner
    for look in range(1, _LOOKS + 1):
        part = {name: column[: setting.rows * look // _LOOKS] for name, column in log.items()}
        try:
            if fit(part, anytime=True, about="these", **options).decision.names_winner:
                return True
        except NotComparable:  # too few rows yet
            continue
    return False


def draw_log(setting: AdjustedLog, number: int) -> dict[str, Any]:
    """Simulate one log with covariates; its rows are in random order."""
    random = np.random.default_rng((number, zlib.crc32(setting.name.encode())))
    arm = (random.random(setting.rows) >= setting.share).astype(np.int64)
    arm[:2] = 0, 1
    pairs = random.permutation(np.arange(setting.rows) % (setting.levels[0] * setting.levels[1]))
    first, second = pairs // setting.levels[1], pairs % setting.levels[1]
    before = random.standard_normal(setting.rows)
    if setting.law == "0/1":
        rate = 0.05 * (1.0 + 0.5 * (first % 3)) * (1.0 + 0.3 * np.tanh(before))
        reward: Floats = (random.random(setting.rows) < rate).astype(float)
    else:
        noise = random.exponential(size=setting.rows) - 1.0
        noise = noise if setting.law == "skewed" else random.standard_normal(setting.rows)
        shift = 5.0 * random.standard_normal(setting.levels[0])[first]
        shift += 2.0 * random.standard_normal(setting.levels[1])[second]
        reward = shift + before * setting.covariate + np.where(arm == 0, setting.ratio, 1.0) * noise
    names = np.array(["A", "B"])[arm]
    return {"arm": names, "first": first, "second": second, "before": before, "reward": reward}
