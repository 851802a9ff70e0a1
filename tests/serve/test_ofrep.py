"""OFREP: the arm of a visitor, sticky; errors as the protocol has them; whatever is sent, nothing breaks."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serve.service_clients import Here, app_of, bearer

FLAGS = "/ofrep/v1/evaluate/flags"
CODES = {"PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"}
REASONS = {"STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "UNKNOWN"}  # of version 0.3.0


def visitors(here, name="buttons", **options):
    body = {"name": name, "arms": ["red", "green"], "rewards": "conversions", "lease": 3600, "reserve": 600}
    found = here.post("/v1/experiments", body | options)
    assert found.status_code == 201, found.text


def evaluate(here, unit="ann", name="buttons", **attributes):
    return here.post(f"{FLAGS}/{name}", {"context": {"targetingKey": unit} | attributes})


def info(here, name="buttons"):
    return here.get(f"/v1/experiments/{name}").json()


def change(here, name="buttons", **what):
    assert here.post(f"/v1/experiments/{name}/changes", what).status_code < 300


def test_a_unit_gets_an_arm_and_keeps_it(here):
    visitors(here)
    first = evaluate(here, environment="monday", country="CA", cart={"items": [1, None]})
    assert first.status_code == 200
    said = first.json()
    assert said["key"] == "buttons"
    assert said["value"] == said["variant"]
    assert said["variant"] in ("red", "green")
    assert said["reason"] == "SPLIT"
    assert said["metadata"]["environment"] == "monday"
    assert evaluate(here, environment="tuesday").json() == said
    assert info(here)["asked"] == 1
    arms = {evaluate(here, f"unit {i}").json()["variant"] for i in range(20)}
    assert arms == {"red", "green"}  # missing one of them is one in 500,000


def test_what_is_evaluated_counts_once_it_was_seen(here):
    visitors(here)
    pull = evaluate(here).json()["metadata"]["pull"]
    outcome = {"outcomes": [{"unit": "ann", "reward": 1, "key": "order 7"}]}
    assert here.post("/v1/experiments/buttons/outcomes", outcome).status_code == 400  # nobody saw it
    assert here.post("/v1/experiments/buttons/exposures", {"exposures": [{"pull": pull}]}).status_code == 204
    assert here.post("/v1/experiments/buttons/outcomes", outcome).status_code == 204


def test_who_did_not_see_it_is_taken_back_and_gets_the_same_again(here):
    visitors(here, reserve=0.2)
    first = evaluate(here).json()
    time.sleep(0.3)
    again = evaluate(here).json()
    assert again["variant"] == first["variant"]
    assert again["metadata"]["pull"] != first["metadata"]["pull"]
    assert info(here)["asked"] == 1


def test_the_environment_is_the_date_where_the_service_is(begin):
    here = begin(time_zone="Pacific/Kiritimati")  # UTC+14: the date differs from UTC's for most of the day
    visitors(here)
    there = timezone(timedelta(hours=14))
    before = datetime.now(UTC).astimezone(there).date().isoformat()
    found = evaluate(here).json()["metadata"]["environment"]
    assert found in (before, datetime.now(UTC).astimezone(there).date().isoformat())
    assert evaluate(here, "bob", environment=7).json()["metadata"]["environment"] == 7
    visitors(here, "baker", time_zone="Etc/GMT+12")  # its own comes first
    there = timezone(timedelta(hours=-12))
    before = datetime.now(UTC).astimezone(there).date().isoformat()
    found = evaluate(here, name="baker").json()["metadata"]["environment"]
    assert found in (before, datetime.now(UTC).astimezone(there).date().isoformat())
    assert info(here, "baker")["time_zone"] == "Etc/GMT+12"


def test_after_the_test_everybody_gets_what_it_selected(here):
    visitors(here, rewards="normal")
    rewards = {"red": 1.0, "green": 2.0}
    for i in range(20):
        pull = evaluate(here, f"unit {i}", environment="monday").json()
        here.post("/v1/experiments/buttons/exposures", {"exposures": [{"unit": f"unit {i}"}]})
        outcome = {"unit": f"unit {i}", "reward": rewards[pull["variant"]] + i % 3}
        assert here.post("/v1/experiments/buttons/outcomes", {"outcomes": [outcome]}).status_code == 204
    waiting = [evaluate(here, f"late {i}", environment="monday").json() for i in range(10)]
    selected = here.get("/v1/experiments/buttons/recommendation").json()["arm"]
    assert here.post("/v1/experiments/buttons/stop", {"why": "enough", "ship": selected}).status_code == 200
    static = {"key": "buttons", "reason": "STATIC", "variant": selected, "value": selected, "metadata": {}}
    assert evaluate(here, "new").json() == static
    assert {each["reason"] for each in waiting} == {"SPLIT"}
    assert [evaluate(here, f"late {i}").json() for i in range(10)] == [static] * 10
    asked = info(here)["asked"]
    here.app.state.service.experiments.get("buttons")._clock = lambda: time.time() + 7200  # noqa: SLF001  the service offers no other clock
    everybody = [*(f"late {i}" for i in range(10)), *(f"unit {i}" for i in range(20))]
    assert [evaluate(here, unit).json() for unit in everybody] == [static] * 30
    assert info(here)["asked"] == asked - 10  # those whom nobody saw were taken back


def test_a_used_budget_gives_what_would_be_selected(here):
    visitors(here, budget=3)
    for i in range(3):
        assert evaluate(here, str(i)).json()["reason"] == "SPLIT"
    over = evaluate(here, "one more")
    assert over.status_code == 200
    assert over.json() == {"key": "buttons", "reason": "DISABLED", "variant": "", "metadata": {}}
    assert evaluate(here, "0").json()["reason"] == "SPLIT"


def test_in_a_pause_the_default_of_the_code_holds_for_who_is_new(here):
    visitors(here)
    before = evaluate(here).json()
    change(here, change="pause")
    assert evaluate(here, "bob").json() == {
        "key": "buttons", "reason": "DISABLED", "variant": "", "metadata": {},
    }  # fmt: skip
    assert evaluate(here).json() == before
    change(here, change="resume")
    assert evaluate(here, "bob").json()["reason"] == "SPLIT"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"context": {}}, "TARGETING_KEY_MISSING"),
        ({"context": {"targetingKey": ""}}, "TARGETING_KEY_MISSING"),
        ({"context": {"targetingKey": None}}, "TARGETING_KEY_MISSING"),
        ({}, "TARGETING_KEY_MISSING"),
        ({"context": None}, "INVALID_CONTEXT"),
        ({"context": {"targetingKey": 7}}, "INVALID_CONTEXT"),
        ({"context": {"targetingKey": "a" * 201}}, "INVALID_CONTEXT"),
        ({"context": {"targetingKey": "a", "environment": [1]}}, "INVALID_CONTEXT"),
        ([], "PARSE_ERROR"),
        (b"{", "PARSE_ERROR"),
        (b"\xff\xfe", "PARSE_ERROR"),
        (b"[" * 100_000, "PARSE_ERROR"),
    ],
    ids=lambda each: str(each)[:40],
)
@pytest.mark.parametrize("path", [f"{FLAGS}/buttons", FLAGS])
def test_a_wrong_request_is_told_so_with_400(service, path, body, code):
    headers = {"Content-Type": "application/json"}
    content = body if isinstance(body, bytes) else json.dumps(body)
    found = service.request("POST", path, content=content, headers=headers)
    assert found.status_code == 400, found.text
    said = found.json()
    assert said["errorCode"] == code
    assert said["errorDetails"]
    assert said.get("key") == ("buttons" if path.endswith("buttons") else None)
    assert found.headers["content-type"] == "application/json"


def test_what_is_no_flag(here):
    found = evaluate(here, name="none")
    assert found.status_code == 404
    assert found.json()["errorCode"] == "FLAG_NOT_FOUND"
    here.post("/v1/experiments", {"name": "prices", "arms": ["A", "B"]})
    found = evaluate(here, name="prices")
    assert (found.status_code, found.json()["errorCode"]) == (400, "GENERAL")
    assert "reserve" in found.json()["errorDetails"]


def bulk(here, unit="ann", **headers):
    return here.post(FLAGS, {"context": {"targetingKey": unit, "environment": "monday"}}, headers=headers)


def test_all_flags_at_once_and_nothing_new(here):
    visitors(here, "buttons")
    visitors(here, "titles")
    here.post("/v1/experiments", {"name": "prices", "arms": ["A", "B"]})
    first = bulk(here)
    assert [each["key"] for each in first.json()["flags"]] == ["buttons", "titles"]
    assert first.json()["flags"][0] == evaluate(here).json()
    tag = first.headers["etag"]
    assert tag.strip('"') != tag
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = bulk(here, **{"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert bulk(here, "bob", **{"If-None-Match": tag}).status_code == 200
    visitors(here, "third")
    changed = bulk(here, **{"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag
    assert len(changed.json()["flags"]) == 3


def test_followers_hear_of_new_pulls_only(here, monkeypatch):
    visitors(here, "buttons")
    visitors(here, "titles")
    woken = []
    monkeypatch.setattr(here.app.state.service.notifier, "notify", woken.append)
    bulk(here)
    assert woken == ["buttons", "titles"]
    bulk(here)
    evaluate(here)
    assert woken == ["buttons", "titles"]  # ann keeps her arms
    evaluate(here, "bob", "titles")
    bulk(here, "bob")
    assert woken == ["buttons", "titles", "titles", "buttons"]


def followed(here, uri, until, **headers):
    """Return what a stream sends until enough is there."""

    async def read():
        said = []

        async def send(message):
            said.append(message)
            if until("".join(each.get("body", b"").decode() for each in said)):
                await done.put(None)

        async def receive():
            await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        done = asyncio.Queue()
        path, _, query = uri.partition("?")
        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "client": ("test", 1), "server": ("test", 80), "scheme": "http", "http_version": "1.1", "root_path": "",
        }  # fmt: skip
        task = asyncio.ensure_future(here.app(scope, receive, send))
        await asyncio.wait(
            [task, asyncio.ensure_future(done.get())], timeout=20, return_when="FIRST_COMPLETED"
        )
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return "".join(each.get("body", b"").decode() for each in said)

    return here.run(read())


def test_a_browser_hears_that_flags_changed(here):
    visitors(here)
    (entry,) = bulk(here).json()["eventStreams"]
    assert entry["type"] == "sse"
    uri = entry["endpoint"]["requestUri"]
    assert uri.startswith("/ofrep/v1/stream?")
    assert "data:" not in followed(here, uri, lambda said: "connected" in said)
    evaluate(here, "bob")  # what one visitor gets is no change for the others
    time.sleep(1.1)
    assert "data:" not in followed(here, uri, lambda said: "connected" in said)
    change(here, change="pause")
    time.sleep(1.1)  # a version is a second old at most
    said = followed(here, uri, lambda said: "data:" in said)
    assert json.loads(said.split("data: ")[1])["type"] == "refetchEvaluation"
    last = said.split("id: ")[1].split()[0]
    assert "data:" not in followed(here, uri, lambda said: "connected" in said, **{"Last-Event-ID": last})
    (again,) = bulk(here).json()["eventStreams"]
    assert f"seen={last}" in again["endpoint"]["requestUri"]


def test_a_ticket_is_for_its_stream_and_its_time_only(begin):
    here = begin(flag_streams=1, session_seconds=0.5)
    visitors(here)
    made = here.post("/v1/keys", {"name": "shop", "role": "evaluator"}).json()
    uri = bulk(here, **bearer(made["secret"])).json()["eventStreams"][0]["endpoint"]["requestUri"]
    ticket = uri.split("ticket=")[1].split("&")[0]
    keys = here.app.state.service.keys
    assert made["secret"] not in uri
    later = keys.create_ticket(keys.cached_key(made["secret"]), 60)
    assert keys.find_ticket_key(later).id == made["id"]
    id, end, mac = later.split(".")
    for wrong in (
        "",
        "x",
        "..",
        f"{id}.{int(end) + 1}.{mac}",
        f"environment.{end}.{mac}",
        f"{id}.{end}.é",
        ticket[:-1],
    ):
        assert keys.find_ticket_key(wrong) is None
        assert here.get("/ofrep/v1/stream", params={"ticket": wrong}).status_code == 404
    time.sleep(1.0)
    assert keys.find_ticket_key(ticket) is None
    assert here.get(uri).status_code == 404
    assert here.get(f"{FLAGS}/buttons", headers=bearer(later)).status_code in (401, 405)
    assert here.other(later).post(FLAGS, {"context": {"targetingKey": "x"}}).status_code == 401
    with here.app.state.service.visitor_notifier.count_stream():
        assert bulk(here).json()["eventStreams"] == []
        assert here.get("/ofrep/v1/stream", params={"ticket": later}).status_code == 503
    assert here.request("DELETE", f"/v1/keys/{made['id']}").status_code == 204
    assert keys.find_ticket_key(later) is None


def test_one_flag_that_fails_is_said_beside_the_others(begin):
    here = begin(reservations=1)
    visitors(here, "buttons")
    visitors(here, "titles")
    made = here.post("/v1/keys", {"name": "shop", "role": "evaluator"}).json()["secret"]
    headers = bearer(made)
    assert (
        here.post(f"{FLAGS}/titles", {"context": {"targetingKey": "x"}}, headers=headers).status_code == 200
    )
    said = bulk(here, **headers).json()["flags"]
    assert said[0]["reason"] == "SPLIT"
    assert said[1]["errorCode"] == "GENERAL"
    assert said[1]["key"] == "titles"
    single = here.post(f"{FLAGS}/titles", {"context": {"targetingKey": "ann"}}, headers=headers)
    assert single.status_code == 429
    assert int(single.headers["retry-after"]) > 0


def test_a_key_sees_its_flags_only(begin):
    here = begin(flags_per_request=1)
    visitors(here, "buttons")
    visitors(here, "titles")
    body = {"name": "shop", "role": "evaluator", "experiments": ["titles", "none"]}
    secret = here.post("/v1/keys", body).json()["secret"]
    for headers in (bearer(secret), {"X-API-Key": secret, "Authorization": ""}):
        shop = here.other(None) if "X-API-Key" in headers else here.other(secret)
        how = {} if headers.get("Authorization") else {"headers": {"X-API-Key": secret}}
        context = {"context": {"targetingKey": "ann"}}
        assert [each["key"] for each in shop.post(FLAGS, context, **how).json()["flags"]] == ["titles"]
        assert shop.post(f"{FLAGS}/titles", context, **how).status_code == 200
        assert shop.post(f"{FLAGS}/buttons", context, **how).status_code == 403
        assert shop.post(f"{FLAGS}/unknown", context, **how).status_code == 403
        shop.close()
    assert bulk(here).json()["errorCode"] == "GENERAL"  # two flags for the admin, and one is allowed


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    here = Here(app_of(tmp_path_factory.mktemp("ofrep"), requests_per_second=1e9))
    visitors(here)
    yield here
    here.close()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
contexts = st.fixed_dictionaries(
    {}, optional={"targetingKey": anything, "environment": anything, "a": anything}
)
bodies = (
    anything.map(json.dumps)
    | st.fixed_dictionaries({"context": contexts | anything}, optional={"more": anything}).map(json.dumps)
    | st.binary(max_size=40)
)


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(body=bodies, name=st.sampled_from(["/buttons", "", "/none"]), kind=st.sampled_from(["json", "text"]))
def test_whatever_is_sent_has_an_answer_of_the_protocol(service, body, name, kind):
    headers = {"Content-Type": "application/json" if kind == "json" else "text/plain"}
    found = service.request("POST", FLAGS + name, content=body, headers=headers)
    said = found.json()
    assert found.status_code in (200, 400, 404)
    if found.status_code != 200:
        assert said["errorCode"] in CODES
        assert isinstance(said["errorDetails"], str)
        return
    for flag in [said] if name else said["flags"]:
        assert flag["reason"] in REASONS
        assert flag["value"] in ("red", "green")
