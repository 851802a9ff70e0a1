"""What comes through a pipe: kept in a file while it is read, as its first bytes say it is one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tideproof.data.sources.file_kinds import kind_at
from tideproof.data.sources.source_dispatch import Source, open_source
from tideproof.errors import InputError


@contextmanager
def open_pipe(table: str | None) -> Iterator[Source]:
    """Open standard input."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("nothing comes through a pipe; '-' reads standard input, as in: cat log.csv | …")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "-"
        with open(file, "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        named = str(file.rename(file.with_name(f"-{kind_at(str(file))}")))
        try:
            with open_source(named, table) as source:
                yield source
        except InputError as error:  # which would name a file that nobody knows
            raise type(error)(str(error).replace(named, "-")) from None
