"""Messages that webhooks send about an experiment: its winner, its used budget and its warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tideproof.experiment.experiment import Experiment
from tideproof.experiment.leases import lease_of
from tideproof.experiment.read_model import ReadModel
from tideproof.experiment.state.clock_jumps import SYSTEM_CLOCK

QUIET_SECONDS = 86_400.0  # seconds without an event after which rewards that have no time limit are given up


class Notice(NamedTuple):
    """Message about an experiment, such as its winner, that each webhook sends only once.

    Attributes
    ----------
    word : text that identifies the message among those of the experiment, such as "winner B".
    kind : type of the message, such as "experiment.winner".
    about : its data.
    """

    word: str
    kind: str
    about: dict[str, Any]


class Inspection(NamedTuple):
    """Result of an inspection of an experiment for messages.

    Attributes
    ----------
    created_at : time at which the experiment was created.
    notices : the messages that describe its present state.
    due_at : time at which the next one can become due without a new event, for example because a
        conversion window closes; None if there is no such time.
    """

    created_at: float
    notices: list[Notice]
    due_at: float | None


def inspect_experiment(run: Experiment, last_event_at: float) -> Inspection:
    """Update an experiment to the present time; return its webhook messages and the next time to look."""
    found = run.internals.read()
    internals = run.internals
    with internals.lock:
        now, book, lease = internals.now(), internals.state.book, lease_of(internals.state.settings)
        due_at = min(
            lease.unseen_pulls(book, now, SYSTEM_CLOCK.end_of)[1] if book.reserved else math.inf,
            lease.expired_pulls(book, now, SYSTEM_CLOCK.end_of)[1] if book.pending else math.inf,
        )
    is_given_up = False
    if found.status.remaining == 0 and found.status.pending and due_at == math.inf:
        is_given_up = now >= last_event_at + QUIET_SECONDS
        due_at = math.inf if is_given_up else last_event_at + QUIET_SECONDS
    notices = [*_notices(found, found.status.pending == 0 or is_given_up)]
    return Inspection(found.status.created.at, notices, None if due_at == math.inf else due_at)


def _notices(found: ReadModel, is_complete: bool) -> Iterator[Notice]:
    """Yield the messages for the state of an experiment; a used budget only if its rewards are complete."""
    status = found.status
    if status.winner is not None:
        winner = {"arm": status.winner, "sentence": str(found.recommendation)}
        yield Notice(f"winner {status.winner}", "experiment.winner", winner)
    if status.remaining == 0 and is_complete:
        recommended = found.recommendation
        about = {"budget": status.budget, "arm": recommended.arm, "sentence": str(recommended)}
        yield Notice(f"budget {status.budget}", "experiment.budget_used", about)
    for text in found.warnings:  # a warning with other numbers counts as the same warning
        yield Notice(re.sub(r"\d[\d,.]*", "#", text), "experiment.warning", {"warning": text})
