"""Writing a file so that a crash leaves the old one or the new one, never a half."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` in one step: beside it first, then renamed over it."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `path`, of the same kind, to write to; it is renamed over `path` in the end."""
    target = Path(path)
    beside = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{target.suffix}")
    try:
        yield beside
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
