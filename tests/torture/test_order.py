"""The checker itself: what it must find in small histories, and in what many threads and processes did."""

from __future__ import annotations

import math

import pytest

import tideproof as tp
from store.stores import url_of
from tideproof.experiment.events import event_records as e
from torture.checks import check
from torture.clients import Herd
from torture.order import faults
from torture.records import Call, fingerprint

CREATED = tp.Experiment(["A", "B"], budget=10).events()[0]
ONE, TWO = (f"{CREATED.session}-{number}" for number in range(2))
ASKED = e.Asked(0.0, "a", "x", (0,), None)
TOLD = e.Told(0.0, "b", (0,), (1.5,))
MORE = e.Asked(0.0, "c", "x", (1,), None)
LOG = [CREATED, ASKED, TOLD, MORE]
A = Call("a", "ask", ["x", 1], 1.0, 2.0, [[ONE, "A", "x"]])
B = Call("b", "tell", [[ONE], [1.5]], 3.0, 4.0)
C = Call("c", "ask", ["x", 1], 5.0, 6.0, [[TWO, "B", "x"]])


def look(id, start, end, *ids):
    return Call(id, "look", [], start, end, fingerprint(ids))


def test_what_can_be_explained_is():
    assert faults(LOG, [A, B, C]) == []
    flight = B._replace(end=math.inf)
    assert faults(LOG, [A, flight, C]) == []  # kept, and not acknowledged
    assert faults([CREATED, ASKED], [A, flight]) == []  # neither
    assert faults([CREATED, ASKED], [A, B._replace(error="StoreError: full")]) == []
    looks = [look("1", 0.0, 0.5), look("2", 1.5, 1.6, ONE), look("3", 3.5, 3.6, ONE), look("4", 3.7, 3.8),
             look("5", 0.0, 9.0, TWO)]  # fmt: skip
    assert faults(LOG, [A, B, C, *looks]) == []


@pytest.mark.parametrize(
    ("log", "calls", "said"),
    [
        (LOG[:2], [A, B], "tell b was acknowledged and is lost"),
        ([CREATED, ASKED, ASKED], [A], "ask a was done 2 times"),
        (LOG, [A, B], "event 4 by c, who never called"),
        (LOG, [A, B._replace(error="StoreError: full"), C], "tell b failed .* and is event 3"),
        (LOG, [A, B._replace(given=[[ONE], [1.0]]), C], "event 3 is tell .*1.5"),
        (LOG, [A, B, C._replace(answer=[[ONE, "B", "x"]])], "ask c was answered .* and event 4 says"),
        (LOG, [A, B, C._replace(answer=[[TWO, "A", "x"]])], "ask c was answered"),
        ([CREATED, MORE, ASKED, TOLD], [A, B, C], "is event 2, before a, which ended earlier"),
        (LOG, [A, B, C, look("1", 2.5, 2.6)], "look 1 shows no moment"),  # before what had ended
        (LOG, [A, B, C, look("1", 4.5, 4.6, TWO)], "look 1 shows no moment"),  # what had not begun
        (LOG, [A, B, C, look("1", 7.0, 8.0, ONE, TWO)], "look 1 shows no moment"),  # what never was
        (LOG, [A, B, C, look("1", 3.1, 3.2), look("2", 3.3, 3.4, ONE)], "look 2 shows no moment"),  # back
    ],
)
def test_what_cannot_be_explained_is_said(log, calls, said):
    found = faults(log, calls)
    assert found
    with pytest.raises(AssertionError, match=said):
        raise AssertionError("\n".join(found))


def test_threads_and_processes_together(tmp_path):
    herd = Herd(url_of(tmp_path), tmp_path / "calls", 3, threads=3, calls=40, fewest=100)
    try:
        calls = herd.join()
    finally:
        herd.close()
    assert herd.bad == []
    assert all(call.acknowledged for call in calls)
    assert len(calls) == 3 * 3 * 40
    check(herd.url, calls)
