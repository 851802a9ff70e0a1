"""Logs from standard input, copied to a temporary file whose kind is detected from its first bytes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tideproof.data.dataset import Source, detect_kind_of_file, open_source
from tideproof.errors import InputError


@contextmanager
def open_pipe(table: str | None) -> Iterator[Source]:
    """Open standard input as a table."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "'-' reads a log from standard input, but nothing is piped into it; for example: "
            "cat log.csv | tideproof analyze -"
        )
    with TemporaryDirectory() as folder:
        file = Path(folder) / "-"
        with open(file, "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        named = str(file.rename(file.with_name(f"-{detect_kind_of_file(str(file))}")))
        try:
            with open_source(named, table) as source:
                yield source
        except InputError as error:  # the user knows the source as "-", not by the temporary name
            raise type(error)(str(error).replace(named, "-")) from None
