"""Hash chain of the event log: each entry's hash covers its contents and the hash of the entry before.

With a key (see `chain_key`), the hashes are message authentication codes: keyed BLAKE2b, as in RFC 7693.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Sequence

from tideproof.errors import InputError
from tideproof.experiment.events import event_records as e
from tideproof.store.backend import LogEntry
from tideproof.store.chain_key import VARIABLE, chain_key

INITIAL_HASH = bytes(16)  # the hash before the first entry
NONCE = 16  # characters of the random number of a commitment
_PARSE_SIZE = 1000  # entries that are parsed as one JSON text, which is faster

_to_json = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":")).encode


def make_entry(event: e.Event, seq: int, pulls: int, writer: bytes, previous_hash: bytes) -> LogEntry:
    """Return an event as an entry of a log with a hash chain.

    Its number is `seq`, and the hash of the entry before it is `previous_hash`.
    """
    event, erasable = _separate(event)
    record = _to_json(e.event_to_record(event))
    return LogEntry(seq, event.at, pulls, record, erasable, writer, _hash(previous_hash, seq, record, writer))


def _separate(event: e.Event) -> tuple[e.Event, str]:
    """Split an event into a permanent part and a part that may be deleted later, such as unit hashes.

    Instead of the hash of a unit, the event contains a commitment to it: a hash of the hash and a random
    number. So a changed hash is noticed, and nobody can compute a deleted one from its commitment.
    """
    if isinstance(event, e.Salted):
        return event._replace(salt=""), event.salt
    if isinstance(event, e.UnitForgotten):
        return event._replace(unit=""), event.unit
    if isinstance(event, e.Asked) and event.unit:
        erasable = secrets.token_hex(NONCE // 2) + event.unit
        return event._replace(unit=_commit(erasable)), erasable
    return event, ""


def _commit(erasable: str) -> str:
    """Return a hash of an erasable unit hash, which the event log keeps in its place."""
    return hashlib.blake2b(erasable.encode(), digest_size=16, person=b"unit commitment").hexdigest()


def _hash(previous_hash: bytes, seq: int, record: str, writer: bytes, key: bytes | None = None) -> bytes:
    """Return the hash of a log entry, computed from its contents and the hash of the entry before it.

    It is keyed with the key of this process, or with `key`.
    """
    text = b"%b%d %b%b" % (previous_hash, seq, writer, record.encode())
    return hashlib.blake2b(text, digest_size=16, key=chain_key() if key is None else key).digest()


def check_chain(entries: Sequence[LogEntry], after: int, previous_hash: bytes) -> None:
    """Raise `InputError` unless log entries are undamaged and directly follow entry number `after`."""
    for seq, each in enumerate(entries, after + 1):
        if each.seq != seq or _hash(previous_hash, seq, each.record, each.writer) != each.hash:
            raise InputError(
                f"the store is damaged: event {seq} is missing or was changed. Run tideproof fsck for "
                f"details; a backup may contain the event{_key_hint(each, previous_hash)}"
            )
        previous_hash = each.hash


def find_faults(entries: Iterable[LogEntry]) -> Iterator[str]:
    """Yield a sentence for each log entry that is missing or whose hash is wrong."""
    seq, previous_hash = 0, INITIAL_HASH
    for each in entries:
        if each.seq != seq + 1:
            missing = (
                f"event {seq + 1} is" if each.seq == seq + 2 else f"events {seq + 1} to {each.seq - 1} are"
            )
            yield f"{missing} missing"
        elif _hash(previous_hash, each.seq, each.record, each.writer) != each.hash:
            yield f"event {each.seq} was changed after it was written{_key_hint(each, previous_hash)}"
            if _has_no_key(each, previous_hash):
                return
        seq, previous_hash = each.seq, each.hash
    if seq == 0:
        yield "all events are missing"


def _has_no_key(entry: LogEntry, previous_hash: bytes) -> bool:
    """Return whether a log entry has a correct hash that was computed without this process's key."""
    plain = _hash(previous_hash, entry.seq, entry.record, entry.writer, b"")
    return bool(chain_key()) and plain == entry.hash


def _key_hint(entry: LogEntry, previous_hash: bytes) -> str:
    """Return the end of an error message, saying if a missing or different key explains a wrong hash."""
    if _has_no_key(entry, previous_hash):
        return (
            f". Its hash was made without a key, but {VARIABLE} is set: to begin with a key, export the "
            f"experiment without it (tideproof export) and import it with it (tideproof import)"
        )
    if chain_key():
        return f". Another {VARIABLE} than now would be another reason"
    return f". If its hashes have a key, set {VARIABLE} to it"


def decode_events(entries: Sequence[LogEntry]) -> list[e.Event]:
    """Convert entries of an event log to events.

    The hashes of the entries must have been checked.
    """
    found: list[e.Event] = []
    for first in range(0, len(entries), _PARSE_SIZE):
        records = [each.record for each in entries[first : first + _PARSE_SIZE]]
        found += map(e.trusted_record_to_event, json.loads(f"[{','.join(records)}]"))
    for index, event in enumerate(found):
        if type(event) is e.Salted:
            found[index] = event._replace(salt=entries[index].erasable)
        elif type(event) is e.Asked and event.unit:
            found[index] = event._replace(unit=_opened_unit(event.unit, entries[index]))
    return found


def _opened_unit(commitment: str, entry: LogEntry) -> str:
    """Return the unit hash in an entry of the event log; empty if it was deleted."""
    if entry.erasable and _commit(entry.erasable) != commitment:
        raise InputError(
            f"the store is damaged: the unit of event {entry.seq} was changed. Run tideproof fsck for details"
        )
    return entry.erasable[NONCE:]
