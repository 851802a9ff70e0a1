"""Progress of an experiment towards its stopping rule, for display only."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tideproof.analysis.fit_result import Fit
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.stopping.stop_rule import AnyStopRule, StopRule
from tideproof.kernels.choose.leader_lead import leader_of, least_lead
from tideproof.policies.calibrated_bounds import normal_quantile_of_bound
from tideproof.policies.stopping_policy import STOPPING_RULES


class StopProgress(NamedTuple):
    """Evidence for the leading arm of an experiment, and the evidence that the stopping rule requires.

    Attributes
    ----------
    is_met : whether the rule has found the best arm.
    lead : the leader's smallest lead in standard errors; None if it comes from the fit.
    required : the square of the lead that the rule requires.
    """

    is_met: bool
    lead: float | None
    required: float

    def share(self, fit: Fit | Any | None) -> float | None:
        """Return the evidence so far as a share of what the stopping rule requires: 1 once the rule is met.

        The evidence is the square of the lead. It grows in proportion to the number of pulls, so that a half
        means that about as many pulls again are needed. The result is None while nothing can be said. `fit`
        is the fit of all rewards, or None.
        """
        if self.is_met:
            return 1.0
        lead = self.lead
        if lead is None and isinstance(fit, Fit) and len(fit.groups) == 1:
            lead = fit.lead(fit.best)
        if lead is None or not lead > 0.0:
            return None
        return min(0.99, lead**2 / self.required) if math.isfinite(lead) else None


def read_stop_progress(rule: AnyStopRule, state: State) -> StopProgress:
    """Return an experiment's progress towards its stopping rule; the caller must hold the lock."""
    if not isinstance(rule, StopRule):  # races and planned looks have no number that says how far they are
        return StopProgress(state.book.sure is not None, None, math.inf)
    numbers = state.policy_state
    lead = least_lead(numbers.fit, leader_of(numbers.fit), None) if rule.normal else None
    bound = rule.needed(state)
    calibrated = STOPPING_RULES[rule.current(state.book)].calibrated
    required = normal_quantile_of_bound(bound) ** 2 if calibrated else 2.0 * bound
    return StopProgress(state.book.sure is not None, lead, required)
