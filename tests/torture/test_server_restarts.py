"""A PostgreSQL server that is killed and started again, while clients ask and tell, and are killed, too."""

from __future__ import annotations

import os
import random
import time

import pytest

from store.servers import Server
from torture.checks import check, counted, said
from torture.clients import Herd

RESTARTS = int(os.environ.get("TIDEPROOF_RESTARTS", "1"))
COUNT = 8


@pytest.fixture
def server():
    made = Server()
    yield made
    made.stop()


def test_a_server_is_killed_and_comes_back(tmp_path, server):
    herd = Herd(server.database(), tmp_path / "calls", COUNT, fewest=100)
    chance, downs = random.Random(21), []
    try:
        herd.ready()
        for turn in range(RESTARTS):
            time.sleep(0.5 * chance.random())
            down = time.monotonic()
            server.kill()
            server.start()
            downs.append((down, time.monotonic()))
            if turn % 2 == 0:
                time.sleep(0.5 * chance.random())
                herd.kill(chance.randrange(COUNT))
            time.sleep(0.5 + 0.5 * chance.random())
        calls = herd.end()
    finally:
        herd.close()
    assert herd.bad == []
    happened = check(herd.url, calls)
    print(f"\n{len(downs)} restarts, {counted(herd, calls, happened)}")
    ends = sorted(call.end for call in calls if call.acknowledged)
    waits = [next(end for end in ends if end > up) - up for _, up in downs]
    print(said("the server was away", [up - down for down, up in downs]))
    print(said("until somebody was acknowledged after its return", waits))
    assert [call for call in calls if call.error] == []  # each command was repeated until it was known
    assert len(calls) > 20 * RESTARTS
