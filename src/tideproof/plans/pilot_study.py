"""Estimate from a pilot log how noisy rewards are, how often they are 1, and how long environments are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_analysis import SILENT, AnalysisObserver, read_log
from tideproof.analysis.log_options import AnalysisOptions, ColumnOptions, StatisticsOptions
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.worlds import Lengths


class Pilot(NamedTuple):
    """Number of arms, noise, mean reward and environment lengths in a pilot log, used to plan a test.

    Attributes
    ----------
    arms : the number of arms.
    sigma : standard deviation of the noise after shifts, arm means and interactions are subtracted; None if
        the log is too small to estimate it.
    rate : the mean of rewards that are 0 or 1; None for other rewards.
    lengths : the number of rewards in each environment, in order.
    omega : standard deviation of the interaction of arm and environment; 0 if none is found, and if the log
        cannot tell it from noise.
    """

    arms: int
    sigma: float | None
    rate: float | None
    lengths: Lengths
    omega: float = 0.0

    def checked_sigma(self, spell: Callable[[str], str] = str) -> float:
        """Return the standard deviation of the noise, or raise `InputError` if the log is too small."""
        if self.sigma is None or self.sigma <= 0.0:
            name = spell("sigma")
            raise InputError(
                f"{name} cannot be estimated from the log (too few rewards or no noise): give {name}"
            )
        return self.sigma

    def checked_rate(self, spell: Callable[[str], str] = str) -> float:
        """Return the mean of 0/1 rewards, or raise `InputError` for other rewards."""
        if self.rate is None:
            rate, lift, gap = map(spell, ("rate", "lift", "gap"))
            raise InputError(
                f"the rewards of the log are not 0 or 1: give {rate} with {lift}, or give {gap} instead"
            )
        return self.rate


def pilot_of_cells(cells: Cells) -> Pilot:
    """Return noise, mean reward and environment lengths in a pilot log summarised by arm and environment."""
    pulls = np.bincount(cells.environment, cells.n, minlength=len(cells.environments))
    lengths = [round(float(n)) for n in pulls if n >= 1.0]
    rate = float(np.sum(cells.n * cells.mean) / np.sum(cells.n)) if cells.binary else None
    sigma, omega = _noise_and_interaction(cells)
    return Pilot(len(cells.arms), sigma, rate, Lengths(lengths), omega)


def _noise_and_interaction(cells: Cells) -> tuple[float | None, float]:
    """Return the standard deviations of the noise and of the interaction of arm and environment."""
    with suppress(InputError):  # too few rewards for this model
        found = Fit(cells, scale="difference", variance="interaction").interaction
        if found is not None and found.omega and found.sigma:
            return found.sigma, found.omega
    return Fit(cells, scale="difference").sigma, 0.0


def pilot_of(
    log: Any,
    arm: str | None,
    environment: str | None,
    reward: str | None,
    table: str | None = None,
    observer: AnalysisObserver | None = None,
) -> Pilot:
    """Read a pilot log, and estimate from it the noise, mean reward and environment lengths to plan a test.

    The log is read in the same way as `fit` reads it. With an `observer`, columns that are not given are
    guessed, and the observer is told which.
    """
    guess = observer is not None
    columns = ColumnOptions(
        arm=arm,
        environment=environment or "" if guess else environment,
        reward=reward,
        table=table,
        guess=guess,
    )
    asked = AnalysisOptions(columns=columns, statistics=StatisticsOptions(scale="difference"))
    return pilot_of_cells(read_log(log, asked, observer or SILENT).found.cells)
