"""How near a run is to stopping by its rule: for whoever looks on, not for the rule itself."""

from __future__ import annotations

import math
from collections.abc import Callable

from tideproof.analysis.fit_result import Fit
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.stopping.stop_rule import StopRule
from tideproof.kernels.choose.leader_lead import leader_of, least_lead
from tideproof.policies.calibrated_bounds import normal_quantile_of_bound


def nearness(rule: StopRule, state: State, fit: Callable[[], Fit]) -> float | None:
    """Return which share of the evidence that the rule asks for there is, below 1 until it holds.

    Evidence is the square of the leader's least lead in standard errors: it grows with the number of pulls,
    so that a half means about as many again. None where nothing can be said yet.
    """
    if state.book.sure is not None:
        return 1.0
    numbers = state.numbers
    if rule.normal:
        lead = least_lead(numbers.fit, leader_of(numbers.fit), None)
    else:
        made = fit()
        lead = made.lead(made.best) if len(made.groups) == 1 else 0.0
    if not lead > 0.0:
        return None
    bound = rule.needed(state)
    square = 2.0 * bound if rule.current(state.book) == "proven" else normal_quantile_of_bound(bound) ** 2
    return min(0.99, lead**2 / square) if math.isfinite(lead) else None
