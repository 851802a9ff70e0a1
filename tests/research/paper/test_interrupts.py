"""Ctrl-C while the reproduction hands out what other processes do: heard, but never in the middle of that."""

from __future__ import annotations

import signal
from contextlib import nullcontext

import pytest

from simulations import Pressed
from tideproof.research.paper.reproduction import reproduce

FIGURE = "fig3"  # of no panel: the first task is the side studies, the second its picture


@pytest.mark.parametrize("at", [1, 2], ids=["side studies", "pictures"])
def test_ctrl_c_never_ends_the_handing_out_of_work_halfway(monkeypatch, tmp_path, at):
    """The pool's own locks would stay locked, and Python wait for it for ever."""
    before, pool = signal.getsignal(signal.SIGINT), Pressed(times=1, at=at)
    monkeypatch.setattr("tideproof.research.paper.reproduction.processes", lambda: nullcontext(pool))
    with pytest.raises(KeyboardInterrupt):
        reproduce([FIGURE], 5, 1, tmp_path)
    assert (pool.begun, pool.ended) == (at, at)
    assert not (tmp_path / "index.html").exists()
    assert signal.getsignal(signal.SIGINT) is before
