"""Webhooks: signed so that a receiver nobody here wrote takes them, repeated until taken, and never sent inside."""

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from serve.service_clients import ADMIN, Here, bearer
from tideproof.errors import InputError
from tideproof.serve.app import make_app
from tideproof.serve.service_settings import Settings
from tideproof.serve.webhooks import webhook_sender
from tideproof.serve.webhooks.webhook_targets import checked_target, is_public


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
    again.send_pending()
    receiver.answer = 204
    now = time.monotonic() + webhook_sender.PAUSE
    monkeypatch.setattr(webhook_sender.time, "monotonic", lambda: now)
    again.send_pending()
    webhook_sender.WebhookSender(service.experiments, service.webhooks).send_pending()
    assert len(receiver.got) == 3
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert {json.loads(body)["data"]["experiment"] for _, body in receiver.got} == {"prices"}


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


def test_a_thread_sends_until_the_service_stops(begin, receiver, monkeypatch):
    monkeypatch.setattr(webhook_sender, "PAUSE", 0.02)
    here = begin(webhook_targets="any")
    service = here.app.state.service
    whole = service.sender.send_pending
    broken, logged = iter([True]), []
    monkeypatch.setattr(webhook_sender.LOG, "error", lambda text, exc_info, extra: logged.append(exc_info))

    def look():
        if next(broken, False):
            raise RuntimeError("something unexpected")  # does not end the thread
        whole()

    monkeypatch.setattr(service.sender, "send_pending", look)

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
    assert "webhooks" not in {thread.name for thread in threading.enumerate()}


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


def test_what_is_public():
    assert checked_target("https://8.8.8.8:8443/a", any_target=False) == "8.8.8.8"
    assert is_public("2001:4860:4860::8888")
    for inside in ("192.168.0.1", "100.64.0.1", "224.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "fe80::1"):
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
