"""Units: visitors, customers or machines that always get the same arm.

A unit's name is kept as a keyed hash only. Another keyed hash of it, 64 bits, says where it falls between 0
and 1, and the shares of the arms say who is there: neither depends on who came before.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from tideproof.errors import FIRST_UNPRINTABLE_INTEGER, InputError, describe_value

MOST = 100  # units that share one look ahead


def new_salt() -> str:
    """Return a key for hashes: 128 random bits."""
    return secrets.token_hex(16)


def checked_unit(unit: Any) -> str:
    """Return a unit's name; a whole number is its digits."""
    if (
        isinstance(unit, (int, np.integer))
        and not isinstance(unit, bool)
        and abs(int(unit)) < FIRST_UNPRINTABLE_INTEGER
    ):
        return str(int(unit))
    if not isinstance(unit, str) or not unit:
        raise InputError(f"a unit must be a string or a whole number, not {describe_value(unit)}")
    return str(unit)


def hashed(unit: str, salt: str) -> str:
    """Return what is kept of a unit's name."""
    return _hash(unit, salt, b"unit", 16).hex()


def point(unit: str, salt: str) -> float:
    """Return where a unit falls between 0 and 1.

    >>> point("visitor-42", "00" * 16), point("visitor-43", "00" * 16)
    (0.6434025033282368, 0.3940254735883986)
    """
    return int.from_bytes(_hash(unit, salt, b"draw", 8), "big") / 2.0**64


def _hash(unit: str, salt: str, purpose: bytes, size: int) -> bytes:
    name = unit.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(name, key=bytes.fromhex(salt), person=purpose, digest_size=size).digest()


def arm_at(point: float, shares: Sequence[float]) -> int:
    """Return the arm whose share of the line from 0 to 1 has that point.

    >>> [arm_at(point, [0.25, 0.0, 0.75, 0.0]) for point in (0.0, 0.2, 0.25, 1.0)]
    [0, 0, 2, 2]
    """
    end = 0.0
    last = 0
    for arm, share in enumerate(shares):
        if share > 0.0:
            end, last = end + share, arm
            if point < end:
                break
    return last


def batch_size(arms: int, asked: int, remaining: int | None) -> int:
    """Return for how many units the next shares hold: a tenth of the pulls so far, within limits."""
    wanted = min(MOST, max(2 * arms, asked // 10))
    return wanted if remaining is None else max(1, min(wanted, remaining))
