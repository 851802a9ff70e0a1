"""Scoring of models by a command, run for each model and test item; its last output line is the score."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tideproof.errors import InputError, MissingFile
from tideproof.evaluations.evaluation_runner import CallFailed
from tideproof.experiment.pull import Label

_SHOWN = 200  # characters of a message that are shown
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class CommandCalls:
    """Callable that scores a model on a test item by running a command.

    In the words of the command, `{model}` and `{item}` are replaced by the name of the model and the ID of
    the item, and other names by fields of the item. The item as JSON is the standard input. The last line of
    the output must be a number, or a JSON object with `score` and, if known, `cost`.
    """

    def __init__(
        self, command: Sequence[str], items: Mapping[Label, Mapping[str, Any]], timeout: float
    ) -> None:
        if not command:
            raise InputError("give the command that asks a model, after --, such as: -- ./ask {model} {item}")
        self._command, self._items, self._timeout = list(command), items, timeout
        known = {"model", "item"}.union(*items.values())
        for word in command:
            for name in _PLACEHOLDER.findall(word):
                if name not in known:
                    raise InputError(
                        f"unknown placeholder {{{name}}} in the command; known: {', '.join(sorted(known))}"
                    )
        if shutil.which(command[0]) is None and not _PLACEHOLDER.search(command[0]):
            raise MissingFile(f"the command {command[0]!r} was not found, or is not executable")

    def __call__(self, model: str, item: Label) -> Any:
        """Run the command for one model and item, and return the score as a number or a mapping."""
        fields = self._items[item]
        values = {**fields, "model": model, "item": item}
        words = [
            _PLACEHOLDER.sub(lambda found: str(values.get(found[1], "")), word) for word in self._command
        ]
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except OSError as error:
            raise CallFailed(f"{words[0]!r} cannot be run: {error.strerror}") from None
        try:
            output, messages = process.communicate(json.dumps(dict(fields)), timeout=self._timeout)
        except subprocess.TimeoutExpired:
            raise CallFailed(f"the command did not end within {self._timeout:g} s") from None
        finally:
            if process.returncode is None:
                _kill_group(process)
        if process.returncode != 0:
            last = messages.strip().rpartition("\n")[2][:_SHOWN]
            raise CallFailed(f"the command ended with exit code {process.returncode}{last and ': '}{last}")
        return read_score(output)


def read_score(output: str) -> Any:
    r"""Parse the last line of a command's output as a score: a number, or a mapping with costs.

    >>> read_score("thinking\n0.5\n"), read_score('{"score": 1, "cost": 0.002}')
    (0.5, {'score': 1, 'cost': 0.002})
    """
    line = output.strip().rpartition("\n")[2].strip()
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if isinstance(found, bool) or not isinstance(found, (int, float, dict)):
        shown = repr(line[:_SHOWN]) if line else "nothing"
        raise CallFailed(
            f"the last line of the output must be a number, or a JSON object with 'score', not {shown}"
        )
    return found


def _kill_group(process: subprocess.Popen[str]) -> None:
    """Kill a command with all processes that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    process.wait()
