"""Assignment of units (visitors, customers, machines) to arms by keyed hashes of their IDs.

Only a keyed hash of the unit's ID is stored. A second keyed hash of 64 bits gives a number between 0 and 1,
which the shares of the arms divide among them. So the arm of a unit does not depend on the order in which
units ask.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from tideproof.errors import FIRST_UNPRINTABLE_INTEGER, InputError, describe_value

LARGEST_BATCH = 100  # largest number of units that share one prediction of shares


def new_salt() -> str:
    """Return a random key of 128 bits for the hashes of unit IDs."""
    return secrets.token_hex(16)


def checked_unit(unit: Any) -> str:
    """Return the ID of a unit as a string, or raise an error; a whole number becomes its digits."""
    if (
        isinstance(unit, (int, np.integer))
        and not isinstance(unit, bool)
        and abs(int(unit)) < FIRST_UNPRINTABLE_INTEGER
    ):
        return str(int(unit))
    if not isinstance(unit, str) or not unit:
        raise InputError(f"a unit must be a string or a whole number, not {describe_value(unit)}")
    return str(unit)


def hash_unit(unit: str, salt: str) -> str:
    """Return the keyed hash of a unit ID, which is stored instead of the ID."""
    return _hash(unit, salt, b"unit", 16).hex()


def hash_outcome_key(key: str, salt: str) -> str:
    """Return the keyed hash of the key of a reported outcome, such as an order number."""
    return _hash(key, salt, b"outcome", 16).hex()


def unit_fraction(unit: str, salt: str) -> float:
    """Return a number between 0 and 1 that is computed from the hash of a unit ID.

    >>> unit_fraction("visitor-42", "00" * 16), unit_fraction("visitor-43", "00" * 16)
    (0.6434025033282368, 0.3940254735883986)
    """
    return int.from_bytes(_hash(unit, salt, b"draw", 8), "big") / 2.0**64


def _hash(unit: str, salt: str, purpose: bytes, size: int) -> bytes:
    name = unit.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(name, key=bytes.fromhex(salt), person=purpose, digest_size=size).digest()


def arm_at(point: float, shares: Sequence[float]) -> int:
    """Return the arm that a number from 0 to 1 selects, given the shares of the arms.

    The arms are intervals whose lengths are their shares; the number lies in one of them.

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
    """Return for how many visitors (or other units) the shares of the arms are planned at once.

    That is about a tenth of the past pulls. It is at least twice the number of arms, but never above 100 or
    the remaining budget.
    """
    wanted = min(LARGEST_BATCH, max(2 * arms, asked // 10))
    return wanted if remaining is None else max(1, min(wanted, remaining))
