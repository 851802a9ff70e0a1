"""The service is killed again and again under load: nothing acknowledged is lost, nothing is done twice.

TIDEPROOF_KILLS=200 makes a long run.
"""

import os
import random
import signal
import threading
import time

import tideproof as tp
from serve.service_clients import ADMIN, Served
from tideproof.store import hash_chain
from tideproof.store.store_urls import open_backend

KILLS = int(os.environ.get("TIDEPROOF_KILLS", "1"))


def test_killed_under_load_it_loses_and_doubles_nothing(tmp_path):
    """Clients repeat what got no answer. A reward is its number, so that one told twice would show in the sum."""
    told, over, failed, restarts = {}, threading.Event(), [], []
    pauses, served = random.Random(1), Served(tmp_path)
    port = served.url.rpartition(":")[2]
    tp.connect(served.url, ADMIN, "shop", ["A", "B"]).close()

    def play(who):
        run = tp.connect(served.url, ADMIN, "shop")
        step = 0
        try:
            while not over.is_set():
                pull = run.ask(unit=f"{who}-{step}", environment=f"day {step // 20}")
                run.tell(pull, 1.0)
                told[pull.id] = 1
                run.tell(pull, 1.0)  # added: a unit may bring twice
                told[pull.id] = 2
                step += 1
        except BaseException as error:
            failed.append(error)
        finally:
            run.close()

    threads = [threading.Thread(target=play, args=[who]) for who in range(3)]
    for thread in threads:
        thread.start()

    def progress(calls):
        """Wait until so many more pulls were told, however slow the machine is."""
        count = len(told)
        while len(told) < count + calls and not failed:
            time.sleep(0.01)

    for _ in range(KILLS):
        if pauses.random() < 0.75:  # else it may die before it has served anybody
            progress(1)
        time.sleep(pauses.uniform(0.0, 0.4))
        served.process.send_signal(signal.SIGKILL)
        served.process.wait()
        served.__exit__()
        begun = time.monotonic()
        served = Served(tmp_path, "--port", port)
        restarts.append(time.monotonic() - begun)
    progress(10)
    over.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert failed == []
    assert served.stop()[0] == 0
    served.__exit__()
    run = tp.Experiment.open(f"sqlite:///{tmp_path}/shop.db", "shop")
    rewards = {row["pull"]: row["reward"] for row in run.history()}
    run.close()
    assert rewards == told  # all were acknowledged in the end, and none twice
    place = open_backend(f"sqlite:///{tmp_path}/shop.db")
    hash_chain.check_chain(place.log("shop").read(0), 0, hash_chain.INITIAL_HASH)
    place.close()
    print(f"{KILLS} kills, {len(told)} pulls; restarted within {max(restarts):.1f} s")
