"""One ask, where it is played, and what can become of it."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tideproof.errors import FIRST_UNPRINTABLE_INTEGER, InputError, describe_value

Label = str | int

OUT, TOLD, SUMMARISED, CANCELLED = "out", "told", "summarised", "cancelled"
EXPIRED, DEFAULTED = "expired", "defaulted"  # its time was over: without a reward, with the default
LATE = "late"  # has the default, and was told after its window had closed


@dataclass(frozen=True, slots=True)
class Pull:
    """One ask: play `arm` in `environment`, then tell the reward.

    Attributes
    ----------
    id : its name, by which it may be told instead of the pull itself. No other run, nor the same one
        loaded again, gives out the same.
    arm : the arm to play.
    environment : the environment it belongs to, however late its reward comes.
    """

    id: str
    arm: str
    environment: Label

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain words."""
        return asdict(self)


def new_session() -> str:
    """Return the beginning of the ids that one process gives out: 40 random bits."""
    return secrets.token_hex(5)


def checked_label(label: Any) -> Label:
    """Return an environment's label, or say what is allowed; a date is written as 2026-11-16."""
    if isinstance(label, (datetime.date, np.datetime64)):
        return label.isoformat() if isinstance(label, datetime.date) else str(label)
    if isinstance(label, np.integer):
        return int(label)
    if isinstance(label, (bool, np.bool_)) or not isinstance(label, (str, int)):
        raise InputError(f"an environment's label must be a string, a whole number or a date, not {label!r}")
    if isinstance(label, int) and abs(label) >= FIRST_UNPRINTABLE_INTEGER:
        raise InputError(f"an environment's label must not be {describe_value(label)}: no file could hold it")
    return str(label) if isinstance(label, np.str_) else label
