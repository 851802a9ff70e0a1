"""What must hold of every store after whatever happened to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from store.stores import check_refold
from tideproof.live import events as e
from tideproof.store.recompute import recompute
from torture.clients import open_run
from torture.order import faults
from torture.records import Call


def check(url: str, calls: Iterable[Call]) -> Sequence[e.Event]:
    """Check the calls against the log, and the log against its snapshots; return its events."""
    run = open_run(url)
    happened = run.events()
    assert faults(happened, calls) == []
    check_refold(run)
    again = recompute(run._shared.log)
    assert (again.other, again.trusted) == (None, 0)
    run.close()
    return happened
