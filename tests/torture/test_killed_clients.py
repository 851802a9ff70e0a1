"""Clients are killed at random moments: nothing that was acknowledged is lost, nothing is done twice."""

from __future__ import annotations

import os
import random
import time

import pytest

from store.stores import url_of
from torture.checks import check, counted, said
from torture.clients import Herd, open_run
from torture.order import faults

KILLS = int(os.environ.get("TIDEPROOF_KILLS", "10"))
LONG = KILLS > 100
MOST = 0.3  # seconds between two kills
PATIENCE = 1.0  # seconds after which somebody else must have gone on


def test_sigkills(tmp_path):
    herd = Herd(url_of(tmp_path), tmp_path / "calls", 8, fewest=1000 if LONG else 100)
    chance = random.Random(21)
    try:
        herd.ready()
        while len(herd.kills) < KILLS:
            time.sleep(MOST * chance.random())
            places = [chance.randrange(8)] if chance.random() < 0.97 or not LONG else range(8)
            herd.kill(*places)
        time.sleep(1.0)
        calls = herd.end()
    finally:
        herd.close()
    assert herd.bad == []
    happened = check(herd.url, calls)
    assert [call for call in calls if call.error] == []
    some, every = herd.gaps(calls)
    print(f"\n{counted(herd, calls, happened)}")
    print(said("until somebody else was acknowledged", some))
    print(said("until each of the others was", every))
    assert len(herd.kills) >= KILLS
    assert len(calls) > 20 * KILLS
    assert max(some) < PATIENCE


@pytest.mark.parametrize("fault", ["lost", "doubled", "stale"])
def test_a_planted_fault_is_caught(tmp_path, fault):
    """The same checks, of a store that was broken on purpose: they do fail."""
    herd = Herd(url_of(tmp_path), tmp_path / "calls", 3, calls=60, fault=fault)
    try:
        calls = herd.join()
    finally:
        herd.close()
    run = open_run(herd.url)
    found = faults(run.events(), calls)
    word = {"lost": "acknowledged and is lost", "doubled": "was done 2 times", "stale": "shows no moment"}
    assert any(word[fault] in each for each in found), found
    run.close()
