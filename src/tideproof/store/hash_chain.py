"""Events as text, each with a hash of it and of all before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from tideproof.errors import InputError
from tideproof.experiment.events import event_records as e
from tideproof.store.backend import Entry

START = bytes(16)  # the hash before the first entry
_AT_ONCE = 1000  # entries that are read as one text

_written = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":")).encode


def entry(event: e.Event, seq: int, pulls: int, writer: bytes, before: bytes) -> Entry:
    """Return an event as it is kept behind the entry with the hash `before`."""
    salt = event.salt if isinstance(event, e.Salted) else ""
    record = _written(e.plain(event._replace(salt="") if isinstance(event, e.Salted) else event))
    return Entry(seq, event.at, pulls, record, salt, writer, _hash(before, seq, record, writer))


def _hash(before: bytes, seq: int, record: str, writer: bytes) -> bytes:
    text = b"%b%d %b%b" % (before, seq, writer, record.encode())
    return hashlib.blake2b(text, digest_size=16).digest()


def check(entries: Sequence[Entry], after: int, before: bytes) -> None:
    """Raise unless these entries are whole, and follow number `after`, which has the hash `before`."""
    for seq, each in enumerate(entries, after + 1):
        if each.seq != seq or _hash(before, seq, each.record, each.writer) != each.hash:
            raise InputError(
                f"the store is damaged: event {seq} is missing or is not what was written; tideproof fsck "
                f"says more, and a backup may have it"
            )
        before = each.hash


def faults(entries: Iterable[Entry]) -> Iterator[str]:
    """Say what is wrong wherever an entry does not follow the one before."""
    seq, before = 0, START
    for each in entries:
        if each.seq != seq + 1:
            lost = f"event {seq + 1} is" if each.seq == seq + 2 else f"events {seq + 1} to {each.seq - 1} are"
            yield f"{lost} missing"
        elif _hash(before, each.seq, each.record, each.writer) != each.hash:
            yield f"event {each.seq} is not what was written"
        seq, before = each.seq, each.hash
    if seq == 0:
        yield "all events are missing"


def events(entries: Sequence[Entry]) -> list[e.Event]:
    """Return the events of entries that were checked."""
    found: list[e.Event] = []
    for first in range(0, len(entries), _AT_ONCE):
        records = [each.record for each in entries[first : first + _AT_ONCE]]
        found += map(e.trusted, json.loads(f"[{','.join(records)}]"))
    for place, event in enumerate(found):
        if type(event) is e.Salted:
            found[place] = event._replace(salt=entries[place].salt)
    return found
