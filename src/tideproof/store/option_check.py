"""Whether who joins an experiment means the same as who began it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tideproof.errors import InputError, UnknownName
from tideproof.experiment.controls import checked_arms
from tideproof.experiment.snapshots.experiment_file import chosen
from tideproof.experiment.state.experiment_state import State

if TYPE_CHECKING:
    from tideproof.experiment.experiment import Experiment

OPTIONS = ("budget", "policy", "tide", "confidence", "rule", "seed", "direction", "rewards", "scale",
           "limits", "floors", "caps", "lease", "default", "reserve", "time_zone")  # fmt: skip


def check_same(cls: type[Experiment], name: str, state: State, arms: Any, options: Mapping[str, Any]) -> None:
    """Raise if arms or options are given that the experiment neither began with nor has now."""
    unknown = [each for each in options if each not in OPTIONS]
    if unknown:
        raise UnknownName.with_suggestion("option", unknown[0], OPTIONS)
    made, book = state.created, state.book
    if arms is not None:
        given = checked_arms(arms)
        active = {book.arms[arm] for arm in book.active}
        if set(given) not in (set(made.arms), set(book.arms), active):
            _refuse(name, "arms", sorted(active), list(given))
    if not options:
        return
    before = {"budget": made.budget, "seed": made.seed, "direction": made.direction, **made.options}
    before["policy"] = chosen(made.policy, options.get("policy"))
    meant = cls(made.arms, **(before | dict(options)))._state.created
    wanted: Any
    found: Any
    for option in options:
        if option == "policy":
            same = _said(meant.policy) == _said(made.policy)
            wanted, found = (made if same else meant).policy["label"], made.policy["label"]
        elif option in ("budget", "seed", "direction"):
            wanted, found = getattr(meant, option), getattr(made, option)
        else:
            default = "labels" if option == "tide" else None
            wanted, found = (each.options.get(option, default) for each in (meant, made))
        now = {"budget": book.budget, "tide": book.tide}.get(option, found)
        if wanted not in (found, now):
            _refuse(name, option, now, wanted)


def _said(policy: dict[str, Any]) -> dict[str, Any]:
    """Return a policy as a store has it, whatever its label."""
    found: dict[str, Any] = json.loads(json.dumps(policy, default=repr))
    return found | {"label": ""}


def _refuse(name: str, option: str, found: Any, wanted: Any) -> None:
    raise InputError(
        f"the experiment {name!r} has {option}={found!r}, not {wanted!r}: leave it out to join as it is, or "
        f"begin another under another name"
    )
