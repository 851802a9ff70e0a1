"""Webhooks: signed so that a receiver nobody here wrote takes them, repeated until taken, and never sent inside."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from serve.service_clients import ADMIN, Here, bearer
from store.stores import in_threads
from tideproof.errors import InputError
from tideproof.serve.app import make_app
from tideproof.serve.service_settings import Settings
from tideproof.serve.webhooks import webhook_sender
from tideproof.serve.webhooks.webhook_notices import QUIET_SECONDS
from tideproof.serve.webhooks.webhook_queue import CLAIM_SECONDS
from tideproof.serve.webhooks.webhook_targets import checked_target, is_public
from tideproof.store import stored_experiments


class Receiver:
    """A web server that keeps what it gets, and answers as it is told."""

    def __init__(self):
        self.got, self.answer = [], 204
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((dict(self.headers), body))
                self.send_response(outer.answer)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *said):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


def body_of(receiver):
    """Return the body of the last message."""
    return receiver.got[-1][1]


def kinds_of(receiver):
    """Return the types of all messages."""
    return [json.loads(body)["type"] for _, body in receiver.got]


def pass_time(monkeypatch, seconds):
    """Let the clock of this process go forward."""
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + seconds)


@pytest.fixture
def later(monkeypatch):
    """Let time pass for the sender and for the experiments that are opened in this test."""
    whole = stored_experiments.open_experiment

    def opened(cls, url, name, arms, clock, options):
        return whole(cls, url, name, arms, lambda: time.time(), options)

    monkeypatch.setattr(stored_experiments, "open_experiment", opened)

    return lambda seconds: pass_time(monkeypatch, seconds)


def used_up(here, name="prices"):
    body = {"name": name, "arms": ["A", "B"], "budget": 4, "policy": "round-robin"}
    here.post("/v1/experiments", body)
    pulls = here.post(f"/v1/experiments/{name}/ask", {"n": 4, "environment": "monday"}).json()["pulls"]
    rewards = [{"pull": each["id"], "reward": number} for number, each in enumerate(pulls)]
    assert here.post(f"/v1/experiments/{name}/tell", {"rewards": rewards}).status_code == 204


def test_a_used_budget_is_said_once_and_signed(begin, receiver):
    here = begin(webhook_targets="any")
    made = here.post("/v1/webhooks", {"url": receiver.url}).json()
    sender = here.app.state.service.sender
    sender.send_pending()
    assert receiver.got == []
    used_up(here)
    for _ in range(3):
        sender.send_pending()
    ((headers, body),) = receiver.got
    said = Webhook(made["secret"]).verify(body, headers)
    assert said["type"] == "experiment.budget_used"
    assert said["data"]["experiment"] == "prices"
    assert said["data"]["budget"] == 4
    assert said["data"]["arm"] in ("A", "B")
    with pytest.raises(WebhookVerificationError):
        Webhook(made["secret"]).verify(body.replace(b"prices", b"others"), headers)


def test_what_is_not_taken_is_sent_again_from_where_it_was(begin, receiver, monkeypatch):
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": receiver.url, "experiments": ["prices"]})
    used_up(here, "other")
    used_up(here)
    service = here.app.state.service
    receiver.answer = 500
    service.sender.send_pending()
    service.sender.send_pending()  # waits
    assert len(receiver.got) == 1
    receiver.answer = 302  # is not followed
    again = webhook_sender.WebhookSender(
        service.experiments, service.webhooks
    )  # another process, or after a start
    again.send_pending()  # waits, too
    assert len(receiver.got) == 1
    pass_time(monkeypatch, webhook_sender.PAUSE)
    again.send_pending()
    receiver.answer = 204
    again.send_pending()  # waits twice as long
    pass_time(monkeypatch, webhook_sender.PAUSE)
    again.send_pending()
    assert len(receiver.got) == 2
    pass_time(monkeypatch, webhook_sender.PAUSE)
    again.send_pending()
    webhook_sender.WebhookSender(service.experiments, service.webhooks).send_pending()
    assert len(receiver.got) == 3
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert len({body for _, body in receiver.got}) == 1
    assert json.loads(body_of(receiver))["data"]["experiment"] == "prices"


def test_a_winner_and_warnings(begin, receiver):
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": receiver.url})
    body = {"name": "sure", "arms": ["A", "B"], "confidence": 0.9, "rule": "calibrated"}
    assert here.post("/v1/experiments", body).status_code == 201
    for day in range(40):
        asked = here.post("/v1/experiments/sure/ask", {"n": 10, "environment": f"day {day}"})
        if asked.status_code == 409:
            break
        rewards = [
            {"pull": each["id"], "reward": (each["arm"] == "B") * 5.0 + number % 3}
            for number, each in enumerate(asked.json()["pulls"])
        ]
        here.post("/v1/experiments/sure/tell", {"rewards": rewards})
    for number in (1, "1"):  # two environments that look alike
        here.post("/v1/experiments", {"name": "twins", "arms": ["A", "B"]})
        here.post("/v1/experiments/twins/ask", {"environment": number})
    here.app.state.service.sender.send_pending()
    found = [json.loads(body) for _, body in receiver.got]
    assert [each["data"]["arm"] for each in found if each["type"] == "experiment.winner"] == ["B"]
    warned = [each["data"] for each in found if each["type"] == "experiment.warning"]
    assert any(
        each["experiment"] == "twins" and "two different environments" in each["warning"] for each in warned
    )


def test_the_log_says_why_a_delivery_failed(begin, receiver, monkeypatch):
    logged = []
    monkeypatch.setattr(webhook_sender.LOG, "warning", lambda text, extra: logged.append(extra["fields"]))
    here = begin(webhook_targets="any")
    made = here.post("/v1/webhooks", {"url": receiver.url}).json()
    used_up(here)
    receiver.answer = 500
    here.app.state.service.sender.send_pending()
    reason = "the target responded with status 500"
    assert logged == [{"webhook": made["id"], "reason": reason, "retry_in_seconds": webhook_sender.PAUSE}]


def test_threads_send_until_the_service_stops(begin, receiver, monkeypatch):
    monkeypatch.setattr(webhook_sender, "PAUSE", 0.02)
    here = begin(webhook_targets="any")
    service = here.app.state.service
    whole = service.sender.collect
    broken, logged = iter([True]), []
    monkeypatch.setattr(webhook_sender.LOG, "error", lambda text, exc_info, extra: logged.append(exc_info))

    def look():
        if next(broken, False):
            raise RuntimeError("something unexpected")  # does not end the thread
        whole()

    monkeypatch.setattr(service.sender, "collect", look)

    async def live():
        async with here.app.router.lifespan_context(here.app):
            end = time.monotonic() + 20.0
            while not receiver.got and time.monotonic() < end:
                await asyncio.sleep(0.02)

    here.post("/v1/webhooks", {"url": receiver.url})
    used_up(here)
    here.run(live())
    assert len(receiver.got) == 1
    assert [repr(error) for error in logged] == ["RuntimeError('something unexpected')"]
    assert not {"webhooks", "webhook"} & {thread.name for thread in threading.enumerate()}


def test_on_postgresql(postgres_server, receiver):
    settings = Settings(admin_key=ADMIN, log_format="off", webhook_targets="any")
    here = Here(make_app(postgres_server.database(), settings))
    made = here.post("/v1/webhooks", {"url": receiver.url}).json()
    used_up(here)
    here.post("/v1/experiments", {"name": "flag", "arms": ["A", "B"], "lease": 60, "reserve": 60})
    for _ in range(2):
        here.app.state.service.sender.send_pending()
    assert len(receiver.got) == 1
    context = {"context": {"targetingKey": "ann"}}
    first, again = (here.post("/ofrep/v1/evaluate/flags", context).json() for _ in range(2))
    assert [each["key"] for each in first["flags"]] == ["flag"]
    assert again["flags"] == first["flags"]
    assert here.request("DELETE", f"/v1/webhooks/{made['id']}").status_code == 204
    here.close()


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://10.1.2.3/", "https://169.254.169.254/",
        "https://[::ffff:10.0.0.1]/", "https://[fd00::1]/", "https://0.0.0.0/", "https://2130706433/", "https://0x7f.1/",
        "http://8.8.8.8/", "ftp://8.8.8.8/", "https://me:secret@8.8.8.8/", "https://", "nonsense", "https://[::1",
        "https://8.8.8.8:99999/", "https://" + "a" * 2000,
    ],
)  # fmt: skip
def test_nothing_is_sent_inside(here, url):
    assert here.post("/v1/webhooks", {"url": url}).status_code == 400
    with pytest.raises(InputError):
        checked_target(url, any_target=False)


# -- receivers that are slow


class Dripping:
    """A receiver that sends its response byte by byte, as long as it is open."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/hook"
        self.callers, self._closed = 0, threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        self._socket.settimeout(0.02)
        open_connections = []
        while not self._closed.wait(0.01):
            with contextlib.suppress(OSError):
                open_connections.append(self._socket.accept()[0])
                open_connections[-1].sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                self.callers += 1
            for each in open_connections:
                with contextlib.suppress(OSError):
                    each.sendall(b"x")
        for each in open_connections:
            each.close()

    def close(self):
        self._closed.set()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def dripping():
    made = Dripping()
    yield made
    made.close()


def test_the_whole_exchange_has_a_deadline(begin, dripping, monkeypatch):
    """A time limit for each read never ends, because each byte arrives in time."""
    monkeypatch.setattr(webhook_sender, "TIMEOUT", 0.3)
    logged = []
    monkeypatch.setattr(webhook_sender.LOG, "warning", lambda text, extra: logged.append(extra["fields"]))
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": dripping.url})
    used_up(here)
    thread = threading.Thread(target=here.app.state.service.sender.send_pending, daemon=True)
    thread.start()
    thread.join(20.0)
    assert not thread.is_alive()
    assert dripping.callers == 1
    assert [each["reason"] for each in logged] == ["the target did not respond within 0.3 s"]


def test_a_slow_receiver_delays_no_other(begin, dripping, receiver, monkeypatch):
    monkeypatch.setattr(webhook_sender, "PAUSE", 0.02)
    monkeypatch.setattr(webhook_sender, "TIMEOUT", 15.0)
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": dripping.url})
    here.post("/v1/webhooks", {"url": receiver.url})
    for name in ("prices", "colours"):
        used_up(here, name)
    sender = here.app.state.service.sender
    sender.start()
    end = time.monotonic() + 20.0
    while len(receiver.got) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(receiver.got) == 2
    assert dripping.callers == 1
    assert "webhook" in {thread.name for thread in threading.enumerate()}  # that of the slow one
    monkeypatch.setattr(webhook_sender, "TIMEOUT", 0.0)  # stop waits for so long
    dripping.close()
    sender.stop()


# -- several processes


def test_of_two_services_one_sends_each_message(postgres_server, receiver):
    """Before, each of them sent every message."""
    settings = Settings(admin_key=ADMIN, log_format="off", webhook_targets="any", postgres_connections=3)
    url = postgres_server.database()
    services = [Here(make_app(url, settings)) for _ in range(2)]
    names = {f"test {number}" for number in range(12)}
    services[0].post("/v1/webhooks", {"url": receiver.url})
    for name in names:
        used_up(services[0], name)
    for _ in range(3):
        in_threads(*(each.app.state.service.sender.send_pending for each in services))
    assert sorted(json.loads(body)["data"]["experiment"] for _, body in receiver.got) == sorted(names)
    for each in services:
        each.close()


def test_a_process_that_dies_after_sending_repeats_the_same_message(begin, receiver, monkeypatch):
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": receiver.url})
    used_up(here)
    service = here.app.state.service

    def killed(id, now):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(service.webhooks.queue, "mark_sent", killed)
        with pytest.raises(SystemExit):
            service.sender.send_pending()
    service.sender.send_pending()  # the claim of the other process still holds
    assert len(receiver.got) == 1
    pass_time(monkeypatch, CLAIM_SECONDS)
    for _ in range(2):
        service.sender.send_pending()
    (first, body), (second, again) = receiver.got
    assert first["webhook-id"] == second["webhook-id"]
    assert body == again


# -- messages that time makes due


def test_a_used_budget_is_sent_when_the_windows_are_closed(begin, receiver, later):
    """Before, it was sent at the last ask, with a sentence that said that nothing is known yet."""
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": receiver.url})
    body = {"name": "buttons", "arms": ["A", "B"], "budget": 20, "rewards": "conversions", "lease": 3600,
            "policy": "round-robin"}  # fmt: skip
    assert here.post("/v1/experiments", body).status_code == 201
    for day in ("monday", "tuesday"):
        here.post("/v1/experiments/buttons/ask", {"n": 10, "environment": day})
    sender = here.app.state.service.sender
    sender.send_pending()
    assert kinds_of(receiver) == []
    later(3601.0)
    sender.send_pending()  # nobody has requested anything
    assert kinds_of(receiver).count("experiment.budget_used") == 1
    assert here.get("/v1/experiments/buttons").json()["recorded"] == 20


def test_a_winner_is_sent_when_the_windows_are_closed(begin, receiver, later):
    """Before, it was sent only after somebody had requested the page or another result."""
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": receiver.url})
    body = {"name": "buttons", "arms": ["A", "B"], "rewards": "conversions", "lease": 3600,
            "confidence": 0.9, "rule": "calibrated"}  # fmt: skip
    assert here.post("/v1/experiments", body).status_code == 201
    for day in range(8):
        asked = here.post("/v1/experiments/buttons/ask", {"n": 50, "environment": f"day {day}"})
        rewards = [
            {"pull": each["id"], "reward": 1.0} for each in asked.json()["pulls"] if each["arm"] == "B"
        ]
        assert here.post("/v1/experiments/buttons/tell", {"rewards": rewards[::2]}).status_code == 204
    sender = here.app.state.service.sender
    sender.send_pending()
    assert "experiment.winner" not in kinds_of(receiver)
    later(3601.0)
    sender.send_pending()
    assert kinds_of(receiver).count("experiment.winner") == 1


def test_rewards_without_a_time_limit_are_awaited_for_a_day(begin, receiver, later):
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": receiver.url})
    body = {"name": "prices", "arms": ["A", "B"], "budget": 4, "policy": "round-robin"}
    here.post("/v1/experiments", body)
    pulls = here.post("/v1/experiments/prices/ask", {"n": 4, "environment": "x"}).json()["pulls"]
    rewards = [{"pull": each["id"], "reward": number} for number, each in enumerate(pulls[:3])]
    here.post("/v1/experiments/prices/tell", {"rewards": rewards})  # the fourth is lost
    sender = here.app.state.service.sender
    sender.send_pending()
    assert kinds_of(receiver) == []
    later(QUIET_SECONDS + 1.0)
    for _ in range(2):
        sender.send_pending()
    assert kinds_of(receiver) == ["experiment.budget_used"]


# -- where messages may go


def test_what_is_public():
    assert checked_target("https://8.8.8.8:8443/a", any_target=False) == "8.8.8.8"
    assert is_public("2001:4860:4860::8888")
    for inside in ("192.168.0.1", "100.64.0.1", "224.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "fe80::1",
                   "192.0.0.192", "fec0::1", "::127.0.0.1", "::ffff:192.0.0.192", "192.0.0.9", "2001:1::1",
                   "5f00::1", "100::1", "3fff::1"):  # fmt: skip
        assert not is_public(inside), inside


def test_a_name_that_moves_inside_later_is_not_followed(begin, receiver, monkeypatch):
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": receiver.url})
    used_up(here)
    here.app.state.service.webhooks.any_target = False
    here.app.state.service.sender.send_pending()
    assert receiver.got == []


def test_an_admin_of_some_experiments_has_webhooks_of_these(begin, receiver):
    here = begin(webhook_targets="any")
    body = {"name": "ann", "role": "admin", "experiments": ["prices"]}
    ann = bearer(here.post("/v1/keys", body).json()["secret"])
    whole = here.post("/v1/webhooks", {"url": receiver.url}).json()
    assert here.post("/v1/webhooks", {"url": receiver.url}, headers=ann).status_code == 400
    made = here.post("/v1/webhooks", {"url": receiver.url, "experiments": ["prices"]}, headers=ann)
    assert made.status_code == 201
    listed = here.get("/v1/webhooks", headers=ann)
    assert [each["id"] for each in listed.json()["webhooks"]] == [made.json()["id"]]
    assert "secret" not in listed.text
    assert here.request("DELETE", f"/v1/webhooks/{whole['id']}", headers=ann).status_code == 404
    assert here.request("DELETE", f"/v1/webhooks/{made.json()['id']}", headers=ann).status_code == 204
    assert len(here.get("/v1/webhooks").json()["webhooks"]) == 1
