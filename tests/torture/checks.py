"""What must hold of every store after whatever happened to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from store.stores import check_refold, log_of
from tideproof.experiment.events import event_records as e
from tideproof.store.ask_verification import recompute_asks
from torture.clients import Herd, open_run
from torture.order import faults
from torture.records import Call


def check(url: str, calls: Iterable[Call]) -> Sequence[e.Event]:
    """Check the calls against the log, and the log against its snapshots; return its events."""
    run = open_run(url)
    happened = run.events()
    assert faults(happened, calls) == []
    check_refold(run)
    again = recompute_asks(log_of(run))
    assert (again.other, again.trusted) == (None, 0)
    run.close()
    return happened


def counted(herd: Herd, calls: Sequence[Call], happened: Sequence[e.Event]) -> str:
    """Return how much there was of everything, in words."""
    done = {event.by for event in happened}
    never = [call for call in calls if call.kind not in ("look", "has") and not call.acknowledged]
    return (
        f"{len(herd.kills)} kills, {len(calls)} calls, {len(happened)} events; {len(never)} calls never "
        f"acknowledged, of which {sum(call.id in done for call in never)} were kept"
    )


def said(what: str, seconds: Iterable[float]) -> str:
    """Return how long something took, in words."""
    values = sorted(seconds)
    most = values[int(0.99 * len(values))]
    return f"{what}: median {values[len(values) // 2]:.3f} s, 99 % {most:.3f} s, longest {values[-1]:.3f} s"
