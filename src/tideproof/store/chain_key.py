"""Secret key of the hash chain, from the environment or a file.

Without a key, somebody who can write the database can change an event and compute all hashes anew. With a
key, this takes the key, which is not in the database.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from tideproof.errors import InputError

VARIABLE = "TIDEPROOF_CHAIN_KEY"
FILE_VARIABLE = "TIDEPROOF_CHAIN_KEY_FILE"
SHORTEST = 20  # characters


def chain_key() -> bytes:
    """Return the secret key of the hash chain; empty if none is set.

    The environment variable `TIDEPROOF_CHAIN_KEY` contains it, or `TIDEPROOF_CHAIN_KEY_FILE` the path of a
    file with it.
    """
    text, path = os.environ.get(VARIABLE, ""), os.environ.get(FILE_VARIABLE, "")
    if text:
        return _derive(text)
    return _derive(_read(path)) if path else b""


@lru_cache(4)
def _read(path: str) -> str:
    """Return the text of a file without leading and trailing blanks."""
    return read_secret(FILE_VARIABLE, path)


@lru_cache(4)
def _derive(text: str) -> bytes:
    """Derive a key of 32 bytes from a secret text."""
    if len(text) < SHORTEST:
        raise InputError(f"{VARIABLE} must have at least {SHORTEST} characters, and has {len(text)}")
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=32, person=b"chain").digest()


def read_secret(variable: str, path: str) -> str:
    """Return the secret in a file whose path an environment variable contains."""
    try:
        found = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InputError(f"the file {path!r} that {variable} names cannot be read: {error}") from None
    if not found:
        raise InputError(f"the file {path!r} that {variable} names is empty")
    return found
