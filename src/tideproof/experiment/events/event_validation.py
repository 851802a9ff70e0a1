"""Validation of events from files: checks that each event is possible after those before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, get_args

from tideproof import checks
from tideproof.checks import LARGEST_EXACT_INTEGER, require_finite, require_whole_number
from tideproof.errors import InputError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.leases import lease_of
from tideproof.experiment.lifecycle import checked_arms, checked_control
from tideproof.experiment.options.environment_options import checked_environments
from tideproof.experiment.options.tide_options import checked_option, checked_zone
from tideproof.experiment.pull import PullStatus
from tideproof.experiment.reward_kinds import checked_rewards
from tideproof.experiment.settings import settings_of
from tideproof.experiment.state.environment_choice_state import EnvironmentChoiceState
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.stopping.look_rule import LookStopRule
from tideproof.experiment.stopping.stop_rule import check_rule, rule_of
from tideproof.experiment.tells import WIDEST, checked_limits
from tideproof.policies.stopping_policy import STOPPING_RULES
from tideproof.stats.scales.scale_properties import Scale
from tideproof.text import join_names

LARGEST_READ = 1e100  # rewards in a file may be larger than `tells.LARGEST`


def checked_created(created: e.Created) -> e.Created:
    """Return the first event of an experiment with checked parameters, or raise an error."""
    checked_arms(created.arms)
    if created.budget is not None:
        require_whole_number("budget", created.budget, 1, LARGEST_EXACT_INTEGER)
    require_whole_number("seed", created.seed, 0, 2**64 - 1)
    checks.require_direction(created.direction)
    settings = settings_of(created)
    checked_control(settings.control, created.arms)
    lease_of(settings)
    checked_rewards(settings.rewards)
    if settings.scale not in get_args(Scale):
        allowed = join_names(map(repr, get_args(Scale)), "or")
        raise InputError(f"unknown scale {settings.scale!r} of an experiment: it must be {allowed}")
    check_rule(settings)
    checked_option(settings.tide)
    checked_zone(settings.time_zone)
    limits = checked_limits(settings.limits, LARGEST_READ)
    options = created.options | {"limits": limits}
    if settings.environments is not None:
        options["environments"] = checked_environments(settings.environments, len(created.arms))
        require_finite("tolerance", settings.tolerance, 0.0)
    return created._replace(options=options)


def check_event(state: State, event: e.Event) -> None:
    """Raise an error if an event from a file is impossible after the events before it."""
    EVENT_CHECKS[type(event)](state, event)


def _require(condition: bool, event: e.Event) -> None:
    if not condition:
        raise InputError(f"an event is impossible after the events before it: {str(event)[:120]}")


def _allow(state: State, event: e.Event) -> None:
    pass


def _refuse(state: State, event: e.Event) -> None:
    _require(False, event)


def _check_unlabelled(state: State, event: e.Unlabelled) -> None:
    _require(state.book.tide == "auto", event)


def _check_asked(state: State, event: e.Asked) -> None:
    active = state.book.active
    _require(state.settings.environments is None, event)
    _require(bool(event.arms) and all(arm in active for arm in event.arms), event)
    _require(event.unit is None or len(event.arms) == 1, event)


def _check_asked_pairs(state: State, event: e.AskedPairs) -> None:
    count, active = len(state.settings.environments or ()), state.book.active
    pairs = set(zip(event.arms, event.environments, strict=False))
    _require(0 < len(event.arms) == len(event.environments) == len(pairs), event)
    _require(all(arm in active and 0 <= environment < count for arm, environment in pairs), event)
    if isinstance(state.policy_state, EnvironmentChoiceState):
        _require(all(state.policy_state.is_free(*pair) for pair in pairs), event)


def _check_shared(state: State, event: e.Shared) -> None:
    _require(event.n >= 1 and len(event.shares) == len(state.book.arms), event)
    _require(min(event.shares) >= 0.0 and math.isclose(sum(event.shares), 1.0, abs_tol=1e-9), event)


def _check_told(state: State, event: e.Told) -> None:
    _require(len(event.pulls) == len(event.rewards), event)
    _check_pulls(state, event, event.pulls, (PullStatus.PENDING, PullStatus.EXPIRED, PullStatus.DEFAULTED))
    _require(not any(_is_held_back(state, pull) for pull in event.pulls), event)
    _require(state.book.reserved.keys().isdisjoint(event.pulls), event)
    _check_rewards(event, event.rewards)


def _check_added(state: State, event: e.Added) -> None:
    _require(len(event.pulls) == len(event.rewards) == len(event.keys) > 0, event)
    for pull in dict.fromkeys(event.pulls):
        _check_pulls(
            state,
            event,
            (pull,),
            (PullStatus.PENDING, PullStatus.EXPIRED, PullStatus.DEFAULTED, PullStatus.LATE, PullStatus.TOLD),
        )
    _require(state.book.reserved.keys().isdisjoint(event.pulls), event)
    _check_rewards(event, event.rewards)


def _check_summarised(state: State, event: e.Summarised) -> None:
    _require(0 <= event.arm < len(state.book.arms) and 1 <= event.n <= LARGEST_EXACT_INTEGER, event)
    _require(0.0 <= event.variance <= WIDEST, event)
    _require(event.key is None or event.key not in state.book.keyed, event)
    _require(state.book.tide not in ("hidden", "both"), event)
    _require(state.settings.environments is None, event)
    _check_rewards(event, (event.mean,))


def _check_cancelled(state: State, event: e.Cancelled) -> None:
    _check_pulls(state, event, event.pulls, (PullStatus.PENDING,))


def _check_exposed(state: State, event: e.Exposed) -> None:
    _check_pulls(state, event, event.pulls, (PullStatus.PENDING,))
    _require(all(pull in state.book.reserved for pull in event.pulls), event)


def _check_expired(state: State, event: e.Expired) -> None:
    _check_pulls(state, event, event.pulls, (PullStatus.PENDING,))
    _check_rewards(event, () if event.reward is None else (event.reward,))


def _check_corrected(state: State, event: e.Corrected) -> None:
    _check_pulls(
        state,
        event,
        (event.pull,),
        (PullStatus.PENDING,)
        if _is_held_back(state, event.pull)
        else (PullStatus.TOLD, PullStatus.DEFAULTED, PullStatus.LATE),
    )
    _check_rewards(event, (event.reward,))


def _is_held_back(state: State, pull: int) -> bool:
    """Return whether the reward of a pull is held back until the time limit of the pull ends.

    The pull is pending until its time limit ends; then the reward counts.
    """
    book = state.book
    return (
        0 <= pull < len(book.pulls)
        and book.status[pull] == PullStatus.PENDING
        and book.rewards[pull] is not None
    )


def _check_arm_added(state: State, event: e.ArmAdded) -> None:
    checked_arms([*state.book.arms, event.arm])


def _check_arm_retired(state: State, event: e.ArmRetired) -> None:
    active = state.book.active
    _require(event.arm in active and len(active) > 2, event)


def _check_stopped(state: State, event: e.Stopped) -> None:
    _require(event.ship is None or 0 <= event.ship < len(state.book.arms), event)


def _check_archived(state: State, event: e.Archived) -> None:
    _require(state.book.stopped and state.book.archived_at is None, event)


def _check_restored(state: State, event: e.Restored) -> None:
    _require(state.book.archived_at is not None, event)


def _check_sure(state: State, event: e.Sure) -> None:
    rule = rule_of(state.created)
    _require(rule is not None and not isinstance(rule, LookStopRule), event)
    _require(rule is not None and event.rule in STOPPING_RULES and event.confidence == rule.confidence, event)
    _require(event.arm in state.book.active and state.book.sure is None, event)


def _check_looked(state: State, event: e.Looked) -> None:
    rule, book = rule_of(state.created), state.book
    _require(isinstance(rule, LookStopRule) and event.recorded == book.recorded, event)
    assert isinstance(rule, LookStopRule)
    arms = range(len(book.arms))
    _require(all(a in arms and b in arms and variance >= 0.0 for a, b, variance in event.variances), event)
    _require(event.arm is None or event.arm in book.active, event)
    try:
        spent = rule.resolve(book, event.look).error_spent(1.0 - rule.confidence)[-1]
    except InputError:
        _require(False, event)
    _require(math.isclose(event.spent, spent, rel_tol=1e-9), event)


def _check_extended(state: State, event: e.Extended) -> None:
    _require(event.budget is None or 1 <= event.budget <= LARGEST_EXACT_INTEGER, event)


def _check_warmed(state: State, event: e.Warmed) -> None:
    _require(state.settings.looks is None, event)
    _require(state.book.tide not in ("hidden", "both"), event)
    _require(state.settings.environments is None, event)
    for arm, _, n, mean, squares in event.cells:
        _require(0 <= arm < len(state.book.arms) and 1 <= n <= LARGEST_EXACT_INTEGER, event)
        _require(squares >= 0.0, event)
        _check_rewards(event, (mean,))


def _check_salted(state: State, event: e.Salted) -> None:
    try:
        bytes.fromhex(event.salt)
    except ValueError:
        _require(False, event)


def _check_pulls(state: State, event: e.Event, pulls: Sequence[int], allowed: Sequence[str]) -> None:
    """Raise an error unless the pulls of an event exist, are distinct, and have an allowed status.

    There must be at least one pull.
    """
    status = state.book.status
    _require(0 < len(set(pulls)) == len(pulls), event)
    _require(min(pulls) >= 0 and max(pulls) < len(status), event)
    _require(all(status[pull] in allowed for pull in pulls), event)


def _check_rewards(event: e.Event, rewards: Sequence[float]) -> None:
    _require(all(abs(reward) <= LARGEST_READ for reward in rewards), event)


def _check_unit_forgotten(state: State, event: e.UnitForgotten) -> None:
    _require(len(event.pulls) > 0 and state.book.of_units.issuperset(event.pulls), event)


EVENT_CHECKS: dict[type[Any], Callable[[State, Any], None]] = {
    e.Created: _refuse,
    e.Unlabelled: _check_unlabelled,
    e.Asked: _check_asked,
    e.AskedPairs: _check_asked_pairs,
    e.Shared: _check_shared,
    e.Told: _check_told,
    e.Added: _check_added,
    e.Summarised: _check_summarised,
    e.Cancelled: _check_cancelled,
    e.Expired: _check_expired,
    e.Corrected: _check_corrected,
    e.ArmAdded: _check_arm_added,
    e.ArmRetired: _check_arm_retired,
    e.Sure: _check_sure,
    e.Looked: _check_looked,
    e.Extended: _check_extended,
    e.Warmed: _check_warmed,
    e.Salted: _check_salted,
    e.UnitForgotten: _check_unit_forgotten,
    e.Exposed: _check_exposed,
    e.Opened: _allow,
    e.Paused: _allow,
    e.Resumed: _allow,
    e.Stopped: _check_stopped,
    e.Archived: _check_archived,
    e.Restored: _check_restored,
    e.Noted: _allow,
}
