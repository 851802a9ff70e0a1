"""What a client writes down of its calls, in a file of its own.

A line goes to the kernel before a call and another after it: a kill cannot take them back. A call without its
second line was in flight when its client was killed; nobody knows whether it happened.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple


class Call(NamedTuple):
    """One call of a client.

    Attributes
    ----------
    id : its name, which its event has, too (`by`).
    kind, given : what was called, and with what.
    start, end : on the clock that all processes share; it ends at infinity if nobody heard of its end.
    answer : what it answered.
    error : what it raised instead; None if it raised nothing.
    keyed : whether it has an idempotency key, so that it may be repeated.
    """

    id: str
    kind: str
    given: list[Any]
    start: float
    end: float = math.inf
    answer: Any = None
    error: str | None = None
    keyed: bool = False

    @property
    def acknowledged(self) -> bool:
        return self.end < math.inf and self.error is None


class Records:
    """The file of one client."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def begin(self, id: str, kind: str, given: list[Any], keyed: bool) -> None:
        self._write(["begin", id, kind, given, time.monotonic(), keyed])

    def end(self, id: str, answer: Any) -> None:
        self._write(["end", id, time.monotonic(), answer])

    def error(self, id: str, error: BaseException) -> None:
        self._write(["error", id, time.monotonic(), f"{type(error).__name__}: {error}"])

    def _write(self, line: list[Any]) -> None:
        os.write(self._file, (json.dumps(line) + "\n").encode())


def calls_of(paths: Iterable[Path]) -> list[Call]:
    """Return the calls in files, a repeated one once: it lasted from its first beginning to its last end."""
    calls: dict[str, Call] = {}
    unsure: set[str] = set()  # begun again, and nobody knows of the first time
    for path in paths:
        text = path.read_bytes() if path.exists() else b""
        for line in text[: text.rfind(b"\n") + 1].splitlines():
            what, id, *rest = json.loads(line)
            if what == "begin":
                kind, given, start, keyed = rest
                known = calls.get(id)
                if known and known.end == math.inf:
                    unsure.add(id)
                calls[id] = Call(id, kind, given, known.start if known else start, keyed=keyed)
            elif what == "end":
                calls[id] = calls[id]._replace(end=rest[0], answer=rest[1], error=None)
            elif id not in unsure and "not known" not in rest[1]:
                calls[id] = calls[id]._replace(end=rest[0], error=rest[1])
    return list(calls.values())


def fingerprint(ids: Iterable[str]) -> int:
    """Return a number that says which pulls these are, in any order; adding one pull twice takes it away."""
    found = 0
    for id in ids:
        found ^= int.from_bytes(hashlib.blake2b(id.encode(), digest_size=6).digest())
    return found
