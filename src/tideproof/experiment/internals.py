"""Interface of an experiment for the packages above it, which store, serve and report experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tideproof.analysis.fit_result import Fit
from tideproof.experiment.pull import Label, Pull
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.stopping.stop_rule import StopRule
from tideproof.experiment.usage_warnings import UsageFacts, UsageMonitor
from tideproof.stats.cells import Cells


class ExperimentInternals(NamedTuple):
    """Parts of an experiment that other packages of tideproof may use; not part of the public API.

    Whoever reads several parts holds the lock meanwhile (`locked`). `state` is replaced when a stored
    experiment is loaded again, so take it anew for each call.

    Attributes
    ----------
    state : the state after all events that this process has applied.
    lock : the lock of the experiment.
    clock : the function that returns the time in seconds.
    rule : the stopping rule, or None.
    usage_monitor : finds mistakes in the use of the experiment.
    has_hidden_tide : whether the experiment has no environment labels.
    policy_state : the state of the policy.
    now : returns the checked time of the clock.
    update : applies all events, and records expired and unseen pulls as events; needs the lock.
    recommend : returns the recommendation and the facts behind usage warnings; does not count as a look.
    selected : returns the recommendation without the evidence of a fit.
    evidence : returns the selection, functions that compute its fit and bounds, and the facts.
    copy_cells : returns a function that builds the cells of some arms outside the lock.
    fit_cells : returns the fit of cells with the options of the experiment.
    next_arm : returns the number of the arm that the next ask would choose.
    pull_number : returns the number of a pull.
    replace_state : continues with another state of the same experiment, such as one loaded from a log.
    renew_lock : replaces the lock, in a child process that inherited it.
    share : lets the experiment read from and write to a log that processes share.
    forget_environment : forgets the default environment of the current thread.
    """

    state: State
    lock: Any
    clock: Callable[[], float]
    rule: StopRule | None
    usage_monitor: UsageMonitor
    has_hidden_tide: bool
    policy_state: PolicyState
    now: Callable[[], float]
    update: Callable[[], None]
    recommend: Callable[[], tuple[Recommendation, UsageFacts]]
    selected: Callable[[], Recommendation]
    evidence: Callable[[Any], tuple[Recommendation, Any, Any, UsageFacts]]
    copy_cells: Callable[[Any], Callable[[], Cells]]
    fit_cells: Callable[..., Fit]
    next_arm: Callable[[Label], int]
    pull_number: Callable[[Pull | str], int]
    replace_state: Callable[[State], None]
    renew_lock: Callable[[], None]
    share: Callable[[Any], None]
    forget_environment: Callable[[], None]
