"""One ask, where it is played, and what can become of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.errors import InputError

Label = str | int

OUT, TOLD, SUMMARISED, CANCELLED = "out", "told", "summarised", "cancelled"


@dataclass(frozen=True, slots=True)
class Pull:
    """One ask: play `arm` in `environment`, then tell the reward.

    Attributes
    ----------
    id : its number, by which it may be told instead of the pull itself.
    arm : the arm to play.
    environment : the environment it belongs to, however late its reward comes.
    """

    id: int
    arm: str
    environment: Label


def checked_label(label: Any) -> Label:
    """Return an environment's label, or say what is allowed."""
    if isinstance(label, bool) or not isinstance(label, (str, int)):
        raise InputError(f"an environment's label must be a string or a whole number, not {label!r}")
    return label
