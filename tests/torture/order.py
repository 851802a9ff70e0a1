"""Whether one order of all calls explains every answer: that of the log.

The log says in which order changes happened. It must hold each acknowledged call once, as it was given and
answered, nothing that nobody called, and no call before another that had ended when it began. Each look must
show what the log said at some moment between its beginning and its end, and no look less than an earlier one.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tideproof.experiment.events import event_records as e
from torture.records import Call, fingerprint


def faults(happened: Sequence[e.Event], calls: Iterable[Call]) -> list[str]:
    """Return what no order explains, one line each; nothing if all is well."""
    calls = list(calls)
    changes = [call for call in calls if call.kind not in ("look", "has")]
    looks = [call for call in calls if call.kind == "look" and call.acknowledged]
    places: dict[str, list[int]] = defaultdict(list)
    for seq, event in enumerate(happened, 1):
        if event.by is not None:
            places[event.by].append(seq)
    said = _said(happened)
    known = {call.id for call in changes}
    found = [f"event {seqs[0]} by {by}, who never called" for by, seqs in places.items() if by not in known]
    for call in changes:
        found += _fault_of(call, places.get(call.id, []), said)
    there = [(places[call.id][0], call) for call in changes if call.id in places]
    return found + _out_of_order(there) + _stale(looks, there, _fingerprints(happened))


def _said(happened: Sequence[e.Event]) -> list[Any]:
    """Return what a client must have given and been answered for each event, from number 0, which is none."""
    created = happened[0]
    assert isinstance(created, e.Created)
    ids = (f"{created.session}-{number}" for number in itertools.count())
    asked: list[str] = []
    said: list[Any] = [None]
    for event in happened:
        if isinstance(event, e.Asked):
            pulls = [[next(ids), created.arms[arm], event.label] for arm in event.arms]
            asked += [pull[0] for pull in pulls]
            said.append(("ask", [event.label, len(pulls)], pulls))
        elif isinstance(event, e.Told):
            said.append(("tell", [[asked[pull] for pull in event.pulls], list(event.rewards)], None))
        elif isinstance(event, e.Cancelled):
            said.append(("cancel", [asked[pull] for pull in event.pulls], None))
        elif isinstance(event, e.Noted):
            said.append(("note", [event.text], None))
        else:
            said.append(None)
    return said


def _fault_of(call: Call, places: list[int], said: list[Any]) -> list[str]:
    """Return what is wrong with one change."""
    if len(places) > 1:
        return [f"{call.kind} {call.id} was done {len(places)} times: events {places}"]
    if not places:
        return [f"{call.kind} {call.id} was acknowledged and is lost"] if call.acknowledged else []
    if call.error is not None:
        return [f"{call.kind} {call.id} failed ({call.error}) and is event {places[0]}"]
    kind, given, answer = said[places[0]] or ("other", [], None)
    if (kind, given) != (call.kind, call.given):
        return [f"event {places[0]} is {kind} {given}, not {call.kind} {call.given} of {call.id}"]
    if call.acknowledged and answer != call.answer:
        return [f"{call.kind} {call.id} was answered {call.answer}, and event {places[0]} says {answer}"]
    return []


def _out_of_order(there: list[tuple[int, Call]]) -> list[str]:
    """Return the changes that stand before another which had ended when they began."""
    found, first = [], None
    for seq, call in sorted(there, reverse=True):
        if first is not None and first.end < call.start:
            found.append(f"{call.kind} {call.id} is event {seq}, before {first.id}, which ended earlier")
        if first is None or call.end < first.end:
            first = call
    return found


def _fingerprints(happened: Sequence[e.Event]) -> dict[int, list[int]]:
    """Return after which events exactly these pulls were out."""
    created = happened[0]
    assert isinstance(created, e.Created)
    known: list[int] = []
    now, found = 0, defaultdict(list)
    for seq, event in enumerate(happened, 1):
        if isinstance(event, e.Asked):
            new = [fingerprint([f"{created.session}-{len(known) + i}"]) for i in range(len(event.arms))]
            known += new
            for each in new:
                now ^= each
        elif isinstance(event, (e.Told, e.Cancelled)):
            for pull in event.pulls:
                now ^= known[pull]
        found[now].append(seq)
    return found


def _stale(looks: list[Call], there: list[tuple[int, Call]], shown: dict[int, list[int]]) -> list[str]:
    """Return the looks that no moment explains.

    Each is given the earliest moment that is possible: if that one is too late, all are.
    """
    ended = sorted((call.end, seq) for seq, call in there)
    begun = sorted((call.start, seq) for seq, call in there)
    at_most = list(itertools.accumulate((seq for _, seq in reversed(begun)), min))[::-1]
    seen: list[tuple[float, int]] = []  # when a look ended, and what it showed
    found, least, done = [], 1, 0
    for look in sorted(looks, key=lambda call: call.start):
        while done < len(ended) and ended[done][0] < look.start:
            least, done = max(least, ended[done][1]), done + 1
        while seen and seen[0][0] < look.start:
            least = max(least, heapq.heappop(seen)[1])
        later = bisect.bisect_right(begun, (look.end, math.inf))
        most = at_most[later] - 1 if later < len(begun) else math.inf
        moments = shown.get(look.answer, [])
        place = bisect.bisect_left(moments, least)
        if place == len(moments) or moments[place] > most:
            found.append(f"look {look.id} shows no moment from event {least} to {most}: {moments[-3:]}")
        else:
            heapq.heappush(seen, (look.end, moments[place]))
    return found
