"""The `Pull` class, the statuses of a pull, and the check of environment labels."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from tideproof.errors import FIRST_UNPRINTABLE_INTEGER, InputError, describe_value

Label = str | int


class PullStatus(StrEnum):
    """Status of a pull, such as pending, cancelled or expired.

    The values are the words in tables of pulls. The order is that of the codes in snapshots, so a new status
    comes last.
    """

    PENDING = "pending"
    TOLD = "told"
    SUMMARISED = "summarised"  # its reward is in a summary
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # the lease ended without a default reward
    DEFAULTED = "defaulted"  # the lease ended, and the pull has the default reward
    LATE = "late"  # defaulted, and its reward arrived after the window had closed

    @property
    def description(self) -> str:
        """Clause for messages on what happened to a pull, such as "it was cancelled"."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    PullStatus.PENDING: "it is pending",
    PullStatus.TOLD: "its reward is recorded",
    PullStatus.SUMMARISED: "its reward is part of a summary",
    PullStatus.CANCELLED: "it was cancelled",
    PullStatus.EXPIRED: "its lease ended without a reward",
    PullStatus.DEFAULTED: "its lease ended, so that it has the default reward",
    PullStatus.LATE: "its reward arrived after the lease had ended, so that it has the default reward",
}


@dataclass(frozen=True, slots=True)
class Pull:
    """Assignment of one arm: play `arm` in `environment`, then tell the experiment the reward.

    Attributes
    ----------
    id : unique ID, which `tell` accepts instead of the pull. IDs of different experiments, and of one
        experiment loaded twice, differ.
    arm : name of the arm to play.
    environment : label of the environment to which the pull belongs, however late its reward arrives.
    """

    id: str
    arm: str
    environment: Label

    def to_dict(self) -> dict[str, Any]:
        """Return the pull as a dictionary of JSON values."""
        return asdict(self)


def new_session() -> str:
    """Return a random prefix of 40 bits for the pull IDs of one process."""
    return secrets.token_hex(5)


def checked_label(label: Any) -> Label:
    """Return an environment label as a string or integer, or raise an error; dates become ISO strings."""
    if isinstance(label, (datetime.date, np.datetime64)):
        return label.isoformat() if isinstance(label, datetime.date) else str(label)
    if isinstance(label, np.integer):
        return int(label)
    if isinstance(label, (bool, np.bool_)) or not isinstance(label, (str, int)):
        raise InputError(f"an environment label must be a string, a whole number or a date, not {label!r}")
    if isinstance(label, int) and abs(label) >= FIRST_UNPRINTABLE_INTEGER:
        raise InputError(
            f"an environment label must not be {describe_value(label)}: it is too large for a file"
        )
    return str(label) if isinstance(label, np.str_) else label
