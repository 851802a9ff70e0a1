"""Check that a process that joins an experiment passes the options that the experiment was created with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tideproof.errors import InputError, UnknownName
from tideproof.experiment.lifecycle import checked_arms
from tideproof.experiment.settings import to_public_names
from tideproof.experiment.snapshots.experiment_file import policy_from_description
from tideproof.experiment.state.experiment_state import State

if TYPE_CHECKING:
    from tideproof.experiment.experiment import Experiment

OPTIONS = ("budget", "policy", "tide", "confidence", "rule", "seed", "direction", "rewards", "scale",
           "limits", "minimum_shares", "maximum_shares", "lease", "default", "reserve",
           "time_zone", "control", "environments", "tolerance", "looks")  # fmt: skip


def check_options(
    cls: type[Experiment], name: str, state: State, arms: Any, options: Mapping[str, Any]
) -> None:
    """Raise `InputError` if the arms or options that a process passes differ from those of the experiment.

    Both the original and the current values are accepted.
    """
    unknown = [each for each in options if each not in OPTIONS]
    if unknown:
        raise UnknownName.with_suggestion("option", unknown[0], OPTIONS)
    created, book = state.created, state.book
    if arms is not None:
        given = checked_arms(arms)
        active = {book.arms[arm] for arm in book.active}
        if set(given) not in (set(created.arms), set(book.arms), active):
            _refuse(name, "arms", sorted(active), list(given))
    if not options:
        return
    before = {
        "budget": created.budget,
        "seed": created.seed,
        "direction": created.direction,
        **to_public_names(created.options),
    }
    before["policy"] = policy_from_description(created.policy, options.get("policy"))
    wanted_event = cls(created.arms, **(before | dict(options))).internals.state.created
    wanted: Any
    found: Any
    for option in options:
        if option == "policy":
            same = _comparable_policy(wanted_event.policy) == _comparable_policy(created.policy)
            wanted, found = (created if same else wanted_event).policy["label"], created.policy["label"]
        elif option in ("budget", "seed", "direction"):
            wanted, found = getattr(wanted_event, option), getattr(created, option)
        else:
            default = "labels" if option == "tide" else None
            wanted, found = (
                to_public_names(each.options).get(option, default) for each in (wanted_event, created)
            )
        current = {"budget": book.budget, "tide": book.tide}.get(option, found)
        if option == "environments" and wanted != current:
            raise InputError(
                f"the experiment {name!r} has {len(found or ()):,} other environments than the "
                f"{len(wanted or ()):,} that are given. Omit environments to join the experiment unchanged, "
                f"or "
                f"create a new experiment with another name"
            )
        if wanted not in (found, current):
            _refuse(name, option, current, wanted)


def _comparable_policy(policy: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a policy without its label, for comparing two policies."""
    found: dict[str, Any] = json.loads(json.dumps(policy, default=repr))
    return found | {"label": ""}


def _refuse(name: str, option: str, found: Any, wanted: Any) -> None:
    """Raise an `InputError` that says how a passed option differs from that of the stored experiment."""
    raise InputError(
        f"the experiment {name!r} has {option}={found!r}, not {wanted!r}. Omit {option} to join the "
        f"experiment unchanged, or create a new experiment with another name"
    )
