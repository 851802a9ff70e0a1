"""Do arms differ from day to day, and is there one winner? What a fit with interactions has to say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.analysis.arm_contrast import known
from tideproof.analysis.connected_groups import candidates
from tideproof.stats.best.daily_leaders import leads, omega_limits, these_days
from tideproof.stats.pairs.wald_pairs import Wald
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance.interaction_reml import Mixed
from tideproof.stats.variance.variance_models import Estimate
from tideproof.table import Table, to_json_values

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit

ONE = 0.9  # of the environments that one arm must lead in to be the one winner


@dataclass(frozen=True, slots=True)
class Interacting:
    """How much arms differ from environment to environment, and who leads where.

    Attributes
    ----------
    told : whether the log can tell interactions from noise: an arm seen twice in an environment, and
        environments that check each other. If not, omega and its limits are None.
    omega : standard deviation of the interaction of arm and environment, averaged over rewards where each
        arm has its own.
    low, high : its limits, one omega taken for all.
    sigma : standard deviation of a reward in its environment.
    environments : how many there are.
    one_winner : whether the best arm leads in nine of ten of them or more; None if arms cannot be compared.
    average : the best arm of an average environment, each counted alike, and all that may be it.
    these : the best arm of these very environments, weighed by their traffic, and all that may be it.
    arms : one row an arm: in how many environments it leads ("days", with "days_low" and "days_high"),
        "to_come", the probability that it leads in an environment to come, and its "omega".
    chance : one row an environment and arm, with its probability to lead there; None where nothing was seen.
    """

    told: bool
    omega: float | None
    low: float | None
    high: float | None
    sigma: float | None
    environments: int
    one_winner: bool | None
    average: tuple[Any, ...]
    these: tuple[Any, ...]
    arms: Table
    chance: Table

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        found: dict[str, Any] = to_json_values(self)
        return found


def interacting(fit: Fit, found: Estimate, groups: list[Any], sign: float) -> Interacting:
    """Say how much arms differ from environment to environment; `found` has a model with interactions."""
    mixed, c = found.mixed, fit.cells
    assert mixed is not None
    omega, sigma = mixed.typical() if mixed.told else (math.nan, math.nan)
    low, high = omega_limits(c, solve(c), mixed, fit.level)
    count = int(np.count_nonzero(c.arms_seen))
    whole = len(groups) == 1 and mixed.told and not np.isnan(found.covariance).any()
    columns: dict[str, Any] = {"arm": c.arms}
    each = mixed.omega2 if mixed.omega2.size > 1 else np.full(c.K, mixed.omega2[0])
    chance: dict[str, Any] = {"environment": [], "arm": [], "chance": []}
    one = None
    if whole:
        who = leads(mixed, found.mu, found.covariance, sign, fit.level)
        columns |= {"days": who.days, "days_low": who.low, "days_high": who.high, "to_come": who.to_come}
        chance["environment"] = [name for name in c.environments for _ in c.arms]
        chance |= {"arm": c.arms * c.J, "chance": who.chance.ravel()}
        one = bool(who.days[c.arms.index(fit.best)] >= ONE * count)
    columns["omega"] = np.sqrt(each) if mixed.told else np.full(c.K, np.nan)
    return Interacting(
        told=mixed.told,
        omega=known(omega),
        low=known(low),
        high=known(high),
        sigma=known(sigma),
        environments=count,
        one_winner=one,
        average=fit.decision.candidates,
        these=_these(fit, mixed, found, groups, sign) if whole else (),
        arms=Table(columns),
        chance=Table(chance),
    )


def _these(fit: Fit, mixed: Mixed, found: Estimate, groups: list[Any], sign: float) -> tuple[Any, ...]:
    """Return the arms that may be the best of these environments, the best first."""
    if mixed.none:
        return fit.decision.candidates
    these = these_days(mixed)
    pairs = Wald(these.mu, these.covariance, these.freedom)
    narrow = found._replace(mu=these.mu, covariance=these.covariance, freedom=these.freedom, pairs=pairs)
    may = candidates(narrow, groups, sign, fit.level)
    order = np.argsort(-sign * these.mu, kind="stable").tolist()
    return tuple(fit.cells.arms[i] for i in order if may[i])
