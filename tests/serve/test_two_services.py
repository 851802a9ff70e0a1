"""Two processes with few connections serve many experiments on one PostgreSQL, and send each webhook message once.

TIDEPROOF_TEST_EXPERIMENTS=500 TIDEPROOF_TEST_IDLE=9500 TIDEPROOF_TEST_CONNECTIONS=20 is the large version, for minutes.
"""

import json
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg

import tideproof as tp
from serve.service_clients import ADMIN, Served, bearer
from serve.test_webhooks import Receiver

EXPERIMENTS = int(os.environ.get("TIDEPROOF_TEST_EXPERIMENTS", "16"))
IDLE = int(os.environ.get("TIDEPROOF_TEST_IDLE", "10"))  # experiments that are created, and not used
CONNECTIONS = int(os.environ.get("TIDEPROOF_TEST_CONNECTIONS", "5"))
BUDGET = 6


class Shop:
    """Clients of two services, which use either of them at random and write down what was acknowledged."""

    def __init__(self, urls):
        self._urls = urls
        self.client = httpx.Client(headers=bearer(ADMIN), timeout=60.0)

    def post(self, path, body, key=None, which=None):
        url = random.choice(self._urls) if which is None else self._urls[which]
        headers = {"Idempotency-Key": key} if key else {}
        return self.client.post(url + path, json=body, headers=headers)

    def play(self, name):
        """Create an experiment at both services at once, use up its budget, and return pulls with rewards."""
        body = {"name": name, "arms": ["A", "B"], "budget": BUDGET, "policy": "round-robin"}
        with ThreadPoolExecutor(2) as both:
            made = list(both.map(lambda which: self.post("/v1/experiments", body, "create", which), (0, 1)))
        assert sorted(each.status_code for each in made) == [200, 201], [each.text for each in made]
        told = {}
        for turn in range(BUDGET // 2):
            path, ask = f"/v1/experiments/{name}", {"n": 2, "environment": f"day {turn}"}
            asked, again = (self.post(f"{path}/ask", ask, f"ask {turn}") for _ in range(2))
            assert asked.json() == again.json(), (asked.text, again.text)
            rewards = [{"pull": each["id"], "reward": random.random()} for each in asked.json()["pulls"]]
            assert self.post(f"{path}/tell", {"rewards": rewards}).status_code == 204
            told |= {each["pull"]: each["reward"] for each in rewards}
        return told

    def create(self, name):
        """Create an experiment that is not used."""
        made = self.post("/v1/experiments", {"name": name, "arms": ["A", "B"], "visitors": True})
        assert made.status_code == 201, made.text


def test_nothing_is_lost_and_nothing_doubled(postgres_server, tmp_path):
    url, receiver = postgres_server.database(), Receiver()
    settings = {"TIDEPROOF_POSTGRES_CONNECTIONS": str(CONNECTIONS), "TIDEPROOF_WEBHOOK_TARGETS": "any"}
    settings["TIDEPROOF_ADDRESS_REQUESTS_PER_SECOND"] = "100000"
    for number in range(2):
        (tmp_path / str(number)).mkdir()
    names = [f"test {number}" for number in range(EXPERIMENTS)]
    with (
        Served(tmp_path / "0", store=url, **settings) as one,
        Served(tmp_path / "1", store=url, **settings) as other,
    ):
        shop = Shop([one.url, other.url])
        for _ in range(2):
            assert shop.post("/v1/webhooks", {"url": receiver.url}).status_code == 201
        begun = time.monotonic()
        with ThreadPoolExecutor(8) as clients:
            list(clients.map(shop.create, [f"idle {number}" for number in range(IDLE)]))
            print(f"{IDLE} experiments created in {time.monotonic() - begun:.0f} s")
            told = dict(zip(names, clients.map(shop.play, names), strict=True))
        with psycopg.connect(url) as connection:
            sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tideproof'"
            connections = connection.execute(sql).fetchone()[0]
        for each in (one, other):
            assert shop.client.get(f"{each.url}/readyz").status_code == 200
        end = time.monotonic() + 60.0 + EXPERIMENTS
        while len(receiver.got) < 2 * EXPERIMENTS and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(6.0)  # a second look of both services
        shop.client.close()
        assert one.stop()[0] == other.stop()[0] == 0
    receiver.close()
    print(f"{EXPERIMENTS} experiments played; {connections} connections; {time.monotonic() - begun:.0f} s")
    assert len(tp.experiments(url)) == EXPERIMENTS + IDLE
    assert connections <= 2 * CONNECTIONS
    sent = Counter(headers["webhook-id"] for headers, _ in receiver.got)
    assert set(sent.values()) == {1}
    about = Counter(json.loads(body)["data"]["experiment"] for _, body in receiver.got)
    assert about == dict.fromkeys(names, 2)  # once for each receiver
    for name in names:
        run = tp.Experiment.open(url, name)
        history = run.history()
        assert dict(zip(history["pull"], history["reward"], strict=True)) == told[name]
        run.close()
