"""Summary of how much differences between arms vary across environments, and of which arm leads where."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.analysis.arm_comparisons import find_candidates, finite_or_none
from tideproof.stats.best.environment_leaders import (
    environment_averages,
    leader_probabilities,
    omega_interval,
)
from tideproof.stats.pairs.difference_pairs import WaldPairs
from tideproof.stats.variance.interaction_reml import MixedModelFit
from tideproof.stats.variance.variance_models import Estimate
from tideproof.table import Table, to_json_values

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit

ONE_WINNER_SHARE = 0.9  # share of the environments in which an arm must lead to be the single winner


@dataclass(frozen=True, slots=True)
class InteractionSummary:
    """Summary of how much differences between arms vary across environments, and of where each arm leads.

    Attributes
    ----------
    estimable : whether the log can separate interactions from noise. That takes an arm with two rewards in
        one environment, and two arms in two environments. If not, omega and its interval are None.
    omega : standard deviation of the interaction of arm and environment, averaged over rewards where each arm
        has its own.
    low, high : lower and upper bound of a common omega.
    sigma : standard deviation of a reward in its environment.
    environments : number of environments.
    one_winner : whether the best arm leads in at least 90 % of the environments; None if arms cannot be
        compared.
    average : candidates for the best arm in an average environment, where all environments count equally.
    observed : candidates for the best arm in the observed environments, weighted by their traffic.
    arms : one row per arm: "environments_led", the number of environments in which it leads, with a
        confidence interval ("low" and "high"); "p_leads_in_new", the probability that it leads in a new
        environment; and its "omega".
    chance : one row per environment and arm, with the probability that the arm leads there; None in an
        environment without rewards.
    """

    estimable: bool
    omega: float | None
    low: float | None
    high: float | None
    sigma: float | None
    environments: int
    one_winner: bool | None
    average: tuple[Any, ...]
    observed: tuple[Any, ...]
    arms: Table
    chance: Table

    def to_dict(self) -> dict[str, Any]:
        """Return how differences between arms vary, as a dictionary of plain values for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


def summarize_interactions(fit: Fit, found: Estimate, groups: list[Any], sign: float) -> InteractionSummary:
    """Summarize how much differences between arms vary across environments, as estimated by a mixed model.

    `found` is the estimate of that model, which has interactions of arms and environments.
    """
    mixed, c = found.mixed, fit.cells
    assert mixed is not None
    omega, sigma = mixed.typical() if mixed.told else (math.nan, math.nan)
    low, high = omega_interval(c, c.solution, mixed, fit.confidence)
    count = int(np.count_nonzero(c.arms_seen))
    whole = len(groups) == 1 and mixed.told and not np.isnan(found.covariance).any()
    columns: dict[str, Any] = {"arm": c.arms}
    each = mixed.omega2 if mixed.omega2.size > 1 else np.full(c.K, mixed.omega2[0])
    chance: dict[str, Any] = {"environment": [], "arm": [], "chance": []}
    one = None
    if whole:
        who = leader_probabilities(mixed, found.mu, found.covariance, sign, fit.confidence)
        columns |= {"environments_led": who.days, "low": who.low, "high": who.high}
        columns["p_leads_in_new"] = who.to_come
        chance["environment"] = [name for name in c.environments for _ in c.arms]
        chance |= {"arm": c.arms * c.J, "chance": who.chance.ravel()}
        one = bool(who.days[c.arms.index(fit.best)] >= ONE_WINNER_SHARE * count)
    columns["omega"] = np.sqrt(each) if mixed.told else np.full(c.K, np.nan)
    return InteractionSummary(
        estimable=mixed.told,
        omega=finite_or_none(omega),
        low=finite_or_none(low),
        high=finite_or_none(high),
        sigma=finite_or_none(sigma),
        environments=count,
        one_winner=one,
        average=fit.decision.candidates,
        observed=_observed_candidates(fit, mixed, found, groups, sign) if whole else (),
        arms=Table(columns),
        chance=Table(chance),
    )


def _observed_candidates(
    fit: Fit, mixed: MixedModelFit, found: Estimate, groups: list[Any], sign: float
) -> tuple[Any, ...]:
    """Return the arms that may be the best on average over the observed environments, the best first."""
    if mixed.none:
        return fit.decision.candidates
    these = environment_averages(mixed)
    pairs = WaldPairs(these.mu, these.covariance, these.freedom)
    narrow = replace(found, mu=these.mu, covariance=these.covariance, freedom=these.freedom, pairs=pairs)
    may = find_candidates(narrow, groups, sign, fit.confidence, adaptive=fit.adaptive)
    order = np.argsort(-sign * these.mu, kind="stable").tolist()
    return tuple(fit.cells.arms[i] for i in order if may[i])
