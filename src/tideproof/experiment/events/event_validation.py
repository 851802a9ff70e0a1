"""Whether an event from a file fits those before it: what an experiment's methods see to when it happens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, get_args

from tideproof import checks
from tideproof.checks import LARGEST_EXACT_INTEGER, require_whole_number
from tideproof.errors import InputError
from tideproof.experiment.controls import checked_arms
from tideproof.experiment.events import event_records as e
from tideproof.experiment.leases import lease_of
from tideproof.experiment.pull import DEFAULTED, EXPIRED, LATE, OUT, TOLD
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.rescaled_fit import checked_rewards
from tideproof.experiment.stopping.stop_rule import check_rule, rule_of
from tideproof.experiment.tells import WIDEST, checked_limits
from tideproof.experiment.tide_options import checked_option, checked_zone
from tideproof.policies.stopping_policy import RULES
from tideproof.stats.scales.scale_test import Scale

LARGEST_READ = 1e100  # a reward in a file: 0.2 took some beyond `rewards.LARGEST`

OPTIONS = {
    "limits",
    "floors",
    "caps",
    "lease",
    "default",
    "reserve",
    "rewards",
    "scale",
    "confidence",
    "rule",
    "tide",
    "time_zone",
}


def checked_created(created: e.Created) -> e.Created:
    """Return what an experiment began with, or say what of it cannot be."""
    checked_arms(created.arms)
    if created.budget is not None:
        require_whole_number("budget", created.budget, 1, LARGEST_EXACT_INTEGER)
    require_whole_number("seed", created.seed, 0, 2**64 - 1)
    checks.require_direction(created.direction)
    unknown = sorted(set(created.options) - OPTIONS)
    if unknown:
        raise InputError(f"no experiment has the option {unknown[0]!r}")
    lease_of(created.options)
    checked_rewards(created.options.get("rewards", "normal"))
    if created.options.get("scale", "difference") not in get_args(Scale):
        raise InputError(f"no experiment has the scale {created.options['scale']!r}")
    check_rule(created)
    checked_option(created.options.get("tide", "labels"))
    checked_zone(created.options.get("time_zone"))
    limits = checked_limits(created.options.get("limits"), LARGEST_READ)
    return created._replace(options=created.options | {"limits": limits})


def check(state: State, event: e.Event) -> None:
    """Raise if the event cannot come next."""
    _CHECKS.get(type(event), _anything)(state, event)


def _need(right: bool, event: e.Event) -> None:
    if not right:
        raise InputError(f"{str(event)[:120]} does not fit the events before it")


def _anything(state: State, event: e.Event) -> None:
    pass


def _never(state: State, event: e.Event) -> None:
    _need(False, event)


def _carried(state: State, event: e.Event) -> None:
    _need(len(state.book.pulls) == 0 and state.events[1] is event, event)


def _unlabelled(state: State, event: e.Unlabelled) -> None:
    _need(state.book.tide == "auto", event)


def _asked(state: State, event: e.Asked) -> None:
    active = state.book.active
    _need(bool(event.arms) and all(arm in active for arm in event.arms), event)
    _need(event.unit is None or len(event.arms) == 1, event)


def _shared(state: State, event: e.Shared) -> None:
    _need(event.n >= 1 and len(event.shares) == len(state.book.arms), event)
    _need(min(event.shares) >= 0.0 and math.isclose(sum(event.shares), 1.0, abs_tol=1e-9), event)


def _told(state: State, event: e.Told) -> None:
    _need(len(event.pulls) == len(event.rewards), event)
    _pulls(state, event, event.pulls, (OUT, EXPIRED, DEFAULTED))
    _need(not any(_held(state, pull) for pull in event.pulls), event)
    _need(state.book.reserved.keys().isdisjoint(event.pulls), event)
    _rewards(event, event.rewards)


def _added(state: State, event: e.Added) -> None:
    _need(len(event.pulls) == len(event.rewards) == len(event.keys) > 0, event)
    for pull in dict.fromkeys(event.pulls):
        _pulls(state, event, (pull,), (OUT, EXPIRED, DEFAULTED, LATE, TOLD))
    _need(state.book.reserved.keys().isdisjoint(event.pulls), event)
    _rewards(event, event.rewards)


def _summarised(state: State, event: e.Summarised) -> None:
    _need(0 <= event.arm < len(state.book.arms) and 1 <= event.n <= LARGEST_EXACT_INTEGER, event)
    _need(0.0 <= event.variance <= WIDEST, event)
    _need(event.key is None or event.key not in state.book.keyed, event)
    _need(state.book.tide not in ("hidden", "both"), event)
    _rewards(event, (event.mean,))


def _cancelled(state: State, event: e.Cancelled) -> None:
    _pulls(state, event, event.pulls, (OUT,))


def _exposed(state: State, event: e.Exposed) -> None:
    _pulls(state, event, event.pulls, (OUT,))
    _need(all(pull in state.book.reserved for pull in event.pulls), event)


def _expired(state: State, event: e.Expired) -> None:
    _pulls(state, event, event.pulls, (OUT,))
    _rewards(event, () if event.reward is None else (event.reward,))


def _corrected(state: State, event: e.Corrected) -> None:
    _pulls(state, event, (event.pull,), (OUT,) if _held(state, event.pull) else (TOLD, DEFAULTED, LATE))
    _rewards(event, (event.reward,))


def _held(state: State, pull: int) -> bool:
    """Return whether a pull is out although its reward was told: its window is open."""
    book = state.book
    return 0 <= pull < len(book.pulls) and book.status[pull] == OUT and book.rewards[pull] is not None


def _arm_added(state: State, event: e.ArmAdded) -> None:
    checked_arms([*state.book.arms, event.arm])


def _arm_retired(state: State, event: e.ArmRetired) -> None:
    active = state.book.active
    _need(event.arm in active and len(active) > 2, event)


def _sure(state: State, event: e.Sure) -> None:
    rule = rule_of(state.created)
    _need(rule is not None and event.rule in RULES and event.confidence == rule.confidence, event)
    _need(event.arm in state.book.active and state.book.sure is None, event)


def _extended(state: State, event: e.Extended) -> None:
    _need(event.budget is None or 1 <= event.budget <= LARGEST_EXACT_INTEGER, event)


def _warmed(state: State, event: e.Warmed) -> None:
    _need(state.book.tide not in ("hidden", "both"), event)
    for arm, _, n, mean, squares in event.cells:
        _need(0 <= arm < len(state.book.arms) and 1 <= n <= LARGEST_EXACT_INTEGER, event)
        _need(squares >= 0.0, event)
        _rewards(event, (mean,))


def _salted(state: State, event: e.Salted) -> None:
    try:
        bytes.fromhex(event.salt)
    except ValueError:
        _need(False, event)


def _pulls(state: State, event: e.Event, pulls: Sequence[int], allowed: Sequence[str]) -> None:
    """Raise unless these are different pulls, at least one, each in one of the states that are allowed."""
    status = state.book.status
    _need(0 < len(set(pulls)) == len(pulls), event)
    _need(min(pulls) >= 0 and max(pulls) < len(status), event)
    _need(all(status[pull] in allowed for pull in pulls), event)


def _rewards(event: e.Event, rewards: Sequence[float]) -> None:
    _need(all(abs(reward) <= LARGEST_READ for reward in rewards), event)


_CHECKS: dict[type[Any], Callable[[State, Any], None]] = {
    e.Created: _never,
    e.Carried: _carried,
    e.Unlabelled: _unlabelled,
    e.Asked: _asked,
    e.Shared: _shared,
    e.Told: _told,
    e.Added: _added,
    e.Summarised: _summarised,
    e.Cancelled: _cancelled,
    e.Expired: _expired,
    e.Corrected: _corrected,
    e.ArmAdded: _arm_added,
    e.ArmRetired: _arm_retired,
    e.Sure: _sure,
    e.Extended: _extended,
    e.Warmed: _warmed,
    e.Salted: _salted,
    e.Exposed: _exposed,
}
