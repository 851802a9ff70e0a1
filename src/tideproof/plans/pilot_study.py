"""What a pilot says: how noisy rewards are, how often they are 1, and how long environments last."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_options import open_log
from tideproof.data.cell_reader import read
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.worlds import Lengths


class Pilot(NamedTuple):
    """What was found in a log.

    Attributes
    ----------
    arms : how many there were.
    sigma : standard deviation of the noise, shifts and arms taken out; None if the log cannot tell.
    rate : the mean of rewards that are 0 or 1; None of others.
    lengths : rewards of each environment, in order.
    """

    arms: int
    sigma: float | None
    rate: float | None
    lengths: Lengths

    def checked_sigma(self) -> float:
        """Return the standard deviation, or say that there is none."""
        if self.sigma is None or self.sigma <= 0.0:
            raise InputError("the log cannot tell sigma: it has no two rewards to compare; give sigma")
        return self.sigma

    def checked_rate(self) -> float:
        """Return the rate, or say that there is none."""
        if self.rate is None:
            raise InputError("the rewards of the log are not 0 or 1: lift needs a rate, or give gap")
        return self.rate


def pilot_of_cells(cells: Cells) -> Pilot:
    """Return what cells say."""
    pulls = np.bincount(cells.environment, cells.n, minlength=len(cells.environments))
    lengths = [round(float(n)) for n in pulls if n >= 1.0]
    rate = float(np.sum(cells.n * cells.mean) / np.sum(cells.n)) if cells.binary else None
    return Pilot(len(cells.arms), Fit(cells, scale="difference").sigma, rate, Lengths(lengths))


def pilot_of(log: Any, arm: str | None, environment: str | None, reward: str | None) -> Pilot:
    """Return what a log says, read as `fit` reads it."""
    with open_log(log, arm, environment, reward) as opened:
        return pilot_of_cells(read(*opened).cells)
