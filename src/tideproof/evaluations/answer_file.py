"""File of scores that models got on test items, one JSON line each, so that no call is paid for twice.

A line is on the disk before its score is recorded in the experiment, so that no paid answer is lost, and none
is paid for twice.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import IO, Any, NamedTuple

from tideproof.errors import InputError
from tideproof.experiment.pull import Label


class Answer(NamedTuple):
    """Score of one model on one item, with the cost of the call.

    Attributes
    ----------
    score : the score.
    cost : cost of the call, in the unit of the caller; 0 if it is unknown.
    """

    score: float
    cost: float = 0.0


class AnswerFile:
    """Append-only file of models' scores on items, which only one process at a time may use.

    Attributes
    ----------
    known : all answers by model and item.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.known: dict[tuple[str, Label], Answer] = {}
        try:
            self._file: IO[bytes] = self._path.open("a+b")
        except OSError as error:
            raise InputError(f"the answers cannot be written to {str(path)!r}: {error.strerror}") from None
        try:
            _lock(self._file, self._path)
            self._read()
        except BaseException:
            self._file.close()
            raise

    def add(self, model: str, item: Label, answer: Answer) -> None:
        """Append the score of a model on an item to the file; on return, the score is safe on disk."""
        line = json.dumps({"model": model, "item": item, "score": answer.score, "cost": answer.cost})
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.known[model, item] = answer

    def close(self) -> None:
        """Close the file of answers, so that another process may use it."""
        self._file.close()

    def _read(self) -> None:
        self._file.seek(0)
        contents = self._file.read()
        whole = contents.rfind(b"\n") + 1
        if whole < len(contents):  # a crash interrupted the last line, whose score was not recorded
            self._file.truncate(whole)
        for number, line in enumerate(contents[:whole].splitlines(), 1):
            try:
                row = json.loads(line)
                key = str(row["model"]), row["item"]
                answer = Answer(float(row["score"]), float(row["cost"]))
                if not math.isfinite(answer.score):
                    raise ValueError
            except (ValueError, TypeError, KeyError):
                raise InputError(
                    f"line {number} of {str(self._path)!r} is not an answer of an evaluation: give another "
                    f"file"
                ) from None
            self.known.setdefault(key, answer)


def _lock(file: IO[Any], path: Path) -> None:
    """Lock an answer file, or raise an error if another process uses it; skipped on systems without locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"another process runs this evaluation: it uses {str(path)!r}. Wait until it has ended, or give "
            f"another file"
        ) from None
