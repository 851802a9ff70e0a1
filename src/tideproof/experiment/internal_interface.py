"""Internal interface of an experiment, for the packages that store, serve and report experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tideproof.experiment.pull import Label, Pull
from tideproof.experiment.read_model import ExperimentStatus, ReadModel
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.stopping.stop_rule import AnyStopRule


class ExperimentInternals(NamedTuple):
    """Data and functions of an experiment for internal use by tideproof; not part of the public API.

    Hold the lock while you read several parts (see `locked`). `state` is replaced when a stored
    experiment is loaded again, so take it anew for each call.

    Attributes
    ----------
    state : the state after all events that this process has applied.
    lock : the lock of the experiment.
    clock : the function that returns the time in seconds.
    rule : the stopping rule, or None.
    policy_state : the state of the policy.
    now : returns the checked time of the clock.
    update : applies all events, and records expired and unseen pulls as events; needs the lock.
    read : returns the experiment at this point in time; does not count as an inspection of the results.
    status : returns settings, counts and state of the experiment, which is much cheaper.
    selected : returns the recommendation without margin, interval and probability.
    next_arm : returns the number of the arm that the next ask would choose.
    pull_number : returns the number of a pull.
    replace_state : continues with another state of the same experiment, such as one loaded from a log.
    renew_lock : replaces the lock, in a child process that inherited it.
    share : lets the experiment read from and write to a log that processes share.
    forget_environment : forgets the default environment of the current thread.
    is_deleted : whether a call noticed that the experiment was deleted from its store.
    """

    state: State
    lock: Any
    clock: Callable[[], float]
    rule: AnyStopRule | None
    policy_state: PolicyState
    now: Callable[[], float]
    update: Callable[[], None]
    read: Callable[[], ReadModel]
    status: Callable[[], ExperimentStatus]
    selected: Callable[[], Recommendation]
    next_arm: Callable[[Label], int]
    pull_number: Callable[[Pull | str], int]
    replace_state: Callable[[State], None]
    renew_lock: Callable[[], None]
    share: Callable[[Any], None]
    forget_environment: Callable[[], None]
    is_deleted: bool
