"""Clients of OFREP that nobody here wrote: OpenFeature's own, in Python, and in JavaScript for servers and browsers."""

import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from serve.service_clients import ADMIN, MODULES, Served, bearer
from tideproof.errors import InputError
from tideproof.remote.openfeature_provider import TideproofProvider

SCRIPTS = Path(__file__).parent / "clients"
ARMS = {"red", "green"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A service with three flags, one of them paused, and a key for browsers."""
    with Served(tmp_path_factory.mktemp("shop")) as served, httpx.Client(base_url=served.url) as admin:
        admin.headers.update(bearer(ADMIN))
        for name in ("buttons", "titles", "paused"):
            body = {"name": name, "arms": ["red", "green"], "lease": 3600, "reserve": 600}
            admin.post("/v1/experiments", json=body).raise_for_status()
        admin.post("/v1/experiments/paused/changes", json={"change": "pause"}).raise_for_status()
        made = admin.post("/v1/keys", json={"name": "browsers", "role": "evaluator"})
        served.browsers, served.admin = made.json()["secret"], admin
        yield served


@pytest.fixture
def client(shop):
    api.set_provider(OFREPProvider(shop.url, headers_factory=lambda: bearer(shop.browsers)))
    yield api.get_client()
    api.clear_providers()


def ann(environment="monday", unit="ann"):
    return EvaluationContext(unit, {"environment": environment, "country": "CA"})


def test_python(client):
    first = client.get_string_details("buttons", "fallback", ann())
    assert first.value == first.variant
    assert first.value in ARMS
    assert (first.reason, first.error_code) == ("SPLIT", None)
    assert first.flag_metadata["environment"] == "monday"
    assert (
        client.get_string_details("buttons", "fallback", ann("tuesday")).flag_metadata == first.flag_metadata
    )
    assert {client.get_string_value("buttons", "fallback", ann(unit=f"p{i}")) for i in range(20)} == ARMS


def test_python_has_the_default_where_there_is_no_arm(client):
    paused = client.get_string_details("paused", "fallback", ann())
    assert (paused.value, paused.reason, paused.error_code) == ("fallback", "DISABLED", None)
    unknown = client.get_string_details("none", "fallback", ann())
    assert (unknown.value, unknown.error_code) == ("fallback", "FLAG_NOT_FOUND")
    nobody = client.get_string_details("buttons", "fallback", EvaluationContext())
    assert (nobody.value, nobody.error_code) == ("fallback", "TARGETING_KEY_MISSING")
    wrong = client.get_string_details("buttons", "fallback", ann(["monday"]))
    assert (wrong.value, wrong.error_code) == ("fallback", "INVALID_CONTEXT")
    number = client.get_integer_details("buttons", 7, ann())
    assert (number.value, number.error_code) == (7, "TYPE_MISMATCH")


def test_a_wrong_key_is_an_error_and_the_default(shop):
    api.set_provider(OFREPProvider(shop.url, headers_factory=lambda: bearer("tp_wrong")))
    found = api.get_client().get_string_details("buttons", "fallback", ann())
    api.clear_providers()
    assert (found.value, found.error_code, found.error_message) == ("fallback", "GENERAL", "unauthorized")


def test_track_says_who_saw_it_and_what_they_brought(shop):
    api.set_provider(TideproofProvider(shop.url, ADMIN))
    client = api.get_client()
    carl = ann(unit="carl")
    assert client.get_string_value("titles", "fallback", carl) in ARMS
    client.track("titles", carl)
    for _ in range(2):  # the same order: once
        client.track("titles", carl, TrackingEventDetails(20.0, {"key": "order 7"}))
    with pytest.raises(InputError, match="needs an evaluation context with a targeting key"):
        client.track("titles")
    assert client.provider.get_metadata().name == "tideproof"
    api.clear_providers()
    events = shop.admin.get("/v1/experiments/titles/events").json()["events"]
    kinds = [each["kind"] for each in events]
    assert kinds.count("Exposed") == 1
    assert kinds[-1] != "Exposed"
    assert kinds[kinds.index("Exposed") + 1 :] == kinds[-1:]


def run(script, *arguments):
    if not MODULES.exists():
        pytest.skip("OpenFeature's JavaScript clients are not here: node, npm and `make clients` bring them")
    found = subprocess.run(
        ["node", SCRIPTS / script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"NODE_PATH": str(MODULES)},
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_javascript_on_a_server(shop):
    found = run("server.cjs", shop.url, shop.browsers)
    first, again = found["first"], found["again"]
    assert first["value"] == first["variant"]
    assert first["value"] in ARMS
    assert first["reason"] == "SPLIT"
    assert again["flagMetadata"] == first["flagMetadata"]
    assert set(found["others"]) == ARMS
    assert found["paused"]["value"] == "fallback"  # with an error: it knows no flags without a value yet
    codes = {name: found[name]["errorCode"] for name in ("unknown", "nobody", "wrong", "number")}
    assert codes == {
        "unknown": "FLAG_NOT_FOUND",
        "nobody": "TARGETING_KEY_MISSING",
        "wrong": "INVALID_CONTEXT",
        "number": "TYPE_MISMATCH",
    }
    assert found["number"]["value"] == 7


def in_a_browser(shop, how):
    found = run("web.cjs", shop.url, shop.browsers, ADMIN, how, f"new {how}")
    assert found["first"]["value"] in ARMS
    assert found["first"]["reason"] == "SPLIT"
    assert found["other"]["value"] in ARMS
    assert found["paused"]["value"] == "fallback"
    assert found["unknown"]["errorCode"] == "FLAG_NOT_FOUND"
    assert found["answers"][0] == 200
    assert found["still"] == found["first"]
    assert found["changed"] == [f"new {how}"]
    assert found["new"]["value"] in ("A", "B")
    assert found["bob"]["value"] in ARMS
    assert found["bob"]["flagMetadata"]["pull"] != found["first"]["flagMetadata"]["pull"]
    return found["answers"][1:]


def test_javascript_in_a_browser_that_polls(shop):
    assert set(in_a_browser(shop, "polling")) == {304}  # nothing has changed since that ETag


def test_javascript_in_a_browser_that_listens(shop):
    assert in_a_browser(shop, "sse") == []  # it hears that there is something new
