"""Progress of an experiment towards its stopping rule, for display only."""

from __future__ import annotations

import math
from collections.abc import Callable

from tideproof.analysis.fit_result import Fit
from tideproof.errors import NotComparable
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.stopping.stop_rule import StopRule
from tideproof.kernels.choose.leader_lead import leader_of, least_lead
from tideproof.policies.calibrated_bounds import normal_quantile_of_bound


def stop_progress(rule: StopRule, state: State, fit: Callable[[], Fit]) -> float | None:
    """Return the share of the required evidence that has been reached, below 1 until the rule is met.

    The evidence is the square of the leader's smallest lead in standard errors. It grows in proportion to the
    number of pulls, so that a half means that about as many pulls again are needed. The result is None while
    nothing can be said.
    """
    if state.book.sure is not None:
        return 1.0
    numbers = state.policy_state
    if rule.normal:
        lead = least_lead(numbers.fit, leader_of(numbers.fit), None)
    else:
        try:
            made = fit()
        except NotComparable:  # no reward has been recorded yet
            return None
        lead = made.lead(made.best) if len(made.groups) == 1 else 0.0
    if not lead > 0.0:
        return None
    bound = rule.needed(state)
    square = 2.0 * bound if rule.current(state.book) == "proven" else normal_quantile_of_bound(bound) ** 2
    return min(0.99, lead**2 / square) if math.isfinite(lead) else None
