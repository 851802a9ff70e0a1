"""Many processes that begin at once on a file that is not there."""

from __future__ import annotations

from store.stores import url_of
from torture.checks import check
from torture.clients import Herd

COUNT, CALLS = 64, 3


def test_all_begin_at_once(tmp_path):
    herd = Herd(url_of(tmp_path), tmp_path / "calls", COUNT, calls=CALLS)
    try:
        calls = herd.join(120.0)
    finally:
        herd.close()
    assert herd.bad == []
    assert len(calls) == COUNT * CALLS
    assert [call for call in calls if not call.acknowledged] == []
    check(herd.url, calls)
