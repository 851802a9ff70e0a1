"""Hash of the last event of each experiment's hash chain, to be kept outside the store.

A head that was kept elsewhere shows later whether events were removed or replaced since then, even by
somebody who could write the whole database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tideproof.errors import InputError, MissingFile, TideproofError
from tideproof.store.backend import Backend, ExperimentLog, LogEntry


class ChainHead(NamedTuple):
    """Number of an experiment's events, and the hash of its last event, in hexadecimal digits."""

    name: str
    events: int
    hash: str


def combine_heads(heads: Iterable[ChainHead]) -> str:
    """Return one hash computed from the last event hashes of all experiments of a store.

    >>> combine_heads([ChainHead("a", 2, "00")]) == combine_heads([ChainHead("a", 1, "00")])
    False
    """
    text = json.dumps(sorted(heads))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def head_of(name: str, entries: Sequence[LogEntry]) -> ChainHead:
    """Return the number of events, and the hash of the last one, for the log of an experiment."""
    return ChainHead(name, entries[-1].seq, entries[-1].hash.hex()) if entries else ChainHead(name, 0, "")


def read_heads(path: str) -> list[ChainHead]:
    """Read the experiments' last event hashes from a file that `tideproof fsck` or `backup` printed."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["experiments"]
        return [ChainHead(str(each["name"]), int(each["events"]), str(each["head"])) for each in found]
    except FileNotFoundError:
        raise MissingFile(f"cannot read {path!r}: there is no such file") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path!r} contains no heads of hash chains, as tideproof fsck --json prints them: {error!r}"
        ) from None


def compare_heads(backend: Backend, heads: Sequence[ChainHead], name: str | None = None) -> list[str]:
    """Return a sentence for each experiment whose events were changed since hashes were last saved.

    With `name`, only this experiment is compared.
    """
    wanted = [head for head in heads if name is None or head.name == name]
    if name is not None and not wanted:
        return [f"{name}: there is no earlier head of this experiment to compare with"]
    faults = []
    for head in wanted:
        try:
            log = backend.log(head.name)
            fault = "the experiment is missing" if log is None else _compare(log, head)
        except TideproofError as error:
            fault = str(error)
        if fault:
            faults.append(f"{head.name}: {fault}")
    return faults


def _compare(log: ExperimentLog, head: ChainHead) -> str:
    """Return what contradicts the saved last hash of an event log; empty if nothing does."""
    found = log.read(head.events - 1, head.events)
    if not found:
        return f"events at the end are missing: there were {head.events:,} when the head was noted"
    if found[0].hash.hex() != head.hash:
        return f"an event was changed: event {head.events:,} had another hash when the head was noted"
    return ""
