"""Writing a file so that a crash leaves the old one or the new one, never a half."""

from __future__ import annotations

import os
import tempfile
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
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix)
    beside = Path(name)
    try:
        yield beside
        os.fsync(handle)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
