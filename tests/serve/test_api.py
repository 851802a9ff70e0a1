"""The API: what each route does, and what it says of what it cannot do."""

import asyncio
import json
from types import SimpleNamespace

import pytest

import tideproof as tp
from serve.service_clients import ADMIN, bearer
from tideproof.experiment.events import event_records as e

SHOP = {"name": "shop", "arms": ["A", "B", "C"], "budget": 100, "seed": 3}


@pytest.fixture
def shop(here):
    assert here.post("/v1/experiments", SHOP).status_code == 201
    return here


def at(what=""):
    return f"/v1/experiments/shop{what}"


def ask(shop, n=1, day="monday", **more):
    found = shop.post(at("/ask"), {"environment": day, "n": n, **more})
    assert found.status_code == 200, found.text
    return found.json()["pulls"]


def refused(found, status, error="InputError"):
    """Check that an answer is a problem of that kind, and return what it says."""
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    said = found.json()
    assert (said["status"], said["error"], said["type"]) == (status, error, f"urn:tideproof:{error}")
    return said["detail"]


# -- experiments


def test_an_experiment_begins_and_is_listed(here):
    found = here.post("/v1/experiments", {**SHOP, "confidence": 0.95})
    assert found.status_code == 201
    assert found.headers["location"] == at()
    said = here.get(at()).json()
    assert said == found.json()
    assert (said["state"], said["remaining"], said["confidence"]) == ("running", 100, 0.95)
    assert said["created_by"] == "environment admin"
    listed = here.get("/v1/experiments").json()
    assert [each["name"] for each in listed["experiments"]] == ["shop"]
    assert listed["next"] is None


def test_a_name_twice(shop):
    assert "already" in refused(shop.post("/v1/experiments", SHOP), 409)
    again = shop.post("/v1/experiments", SHOP, headers={"Idempotency-Key": "x"})
    assert again.status_code == 200
    other = shop.post("/v1/experiments", {**SHOP, "budget": 7}, headers={"Idempotency-Key": "x"})
    assert "budget=100" in refused(other, 409)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"name": "a/b"}, 400, "name"),
        ({"name": ".."}, 400, "URL"),
        ({"arms": ["A"]}, 400, "arms"),
        ({"arms": ["A", "A"]}, 400, "different names"),
        ({"policy": "no-such"}, 400, "unknown policy"),
        ({"policy_options": {"interaction": 1}}, 400, "interaction must be True, False or 'auto', not 1"),
        ({"policy": "auto:contrast", "confidence": 0.95}, 400, "is not possible with auto:contrast"),
        ({"budget": 1.5}, 400, "budget"),
        ({"budget": True}, 400, "budget"),
        ({"reserve": 5}, 400, "requires lease"),
        ({"colour": "red"}, 400, "colour"),
        ({"policy_options": {"no": 1}}, 400, "no"),
        ({"policy_options": {"tide": []}}, 400, "unknown tide []"),
        ({"policy_options": {"tide": {}}}, 400, "unknown tide {}"),
        ({"policy_options": {"rule": []}}, 400, "unknown rule []"),
        ({"policy_options": {"robust": {}}}, 400, "robust must be None or 'cells', not {}"),
        ({"policy_options": {"name": "x"}}, 400, "must not contain 'name'"),
        ({"policy_options": {"label": 5}}, 400, "label must be text, not 5"),
        ({"policy_options": {"selection": []}}, 400, "selection must be text, not []"),
        ({"policy": "reduce:auto:contrast"}, 400, "auto:contrast or reduce:contrast"),
        ({"policy": "reduce:hidden:contrast"}, 400, "write hidden:reduce:contrast"),
    ],
)
def test_an_experiment_that_cannot_be(here, body, status, message):
    found = here.post("/v1/experiments", SHOP | body)
    error = "UnknownName" if "unknown" in message else found.json()["error"]
    assert message in refused(found, status, error)
    assert here.get("/v1/experiments").json()["experiments"] == []


@pytest.mark.parametrize("name", ["Preise für Čapek", "50 % \N{ROCKET}", "a?b#c", "%2e%2e", "é" * 200])
def test_names_of_all_kinds(here, name):
    found = here.post("/v1/experiments", {"name": name, "arms": ["A", "B"]})
    assert found.status_code == 201
    assert here.get(found.headers["location"]).json()["name"] == name
    saved = here.get(found.headers["location"] + "/export")
    assert saved.status_code == 200


def test_lists_have_pages(here):
    for name in "abc":
        here.post("/v1/experiments", {"name": name, "arms": ["A", "B"]})
    first = here.get("/v1/experiments?limit=2").json()
    assert ([each["name"] for each in first["experiments"]], first["next"]) == (["a", "b"], "b")
    second = here.get("/v1/experiments?limit=2&after=b").json()
    assert ([each["name"] for each in second["experiments"]], second["next"]) == (["c"], None)
    refused(here.get("/v1/experiments?limit=0"), 400)


def test_changes_are_events_and_say_who(shop):
    changes = [
        {"change": "add-arm", "arm": "D"},
        {"change": "retire-arm", "arm": "A"},
        {"change": "budget", "budget": 200},
        {"change": "pause", "why": "night"},
        {"change": "resume"},
        {"change": "note", "text": "a sale", "by": "ann"},
        {"change": "forget-units"},
    ]
    for change in changes:
        assert shop.post(at("/changes"), change).status_code == 200
    stopped = shop.post(at("/stop"), {"why": "enough"}).json()
    assert (stopped["state"], stopped["budget"], stopped["retired"]) == ("stopped", 200, ["A"])
    found = shop.get(at("/events")).json()["events"]
    assert [each["kind"] for each in found] == [
        "Created", "ArmAdded", "ArmRetired", "Extended", "Paused", "Resumed", "Noted", "Stopped",
    ]  # fmt: skip
    assert found[6]["by"] == "environment admin: ann"
    assert {each["by"] for each in found[:6]} == {"environment admin"}
    assert "stopped" in refused(shop.post(at("/ask")), 409, "Finished")
    refused(shop.post(at("/changes"), {"change": "explode"}), 400)


def test_a_paused_one_says_so(shop):
    assert shop.post(at("/changes"), {"change": "pause"}).json()["state"] == "paused"


# -- pulls


def test_a_tell_changes_the_next_ask_at_once(shop):
    """The service chooses the arms that an experiment here chooses, told the same."""
    alone = tp.Experiment(SHOP["arms"], budget=100, seed=3)
    for step in range(60):
        (pull,) = ask(shop, day=step // 10)
        mine = alone.ask(environment=step // 10)
        assert pull["arm"] == mine.arm
        reward = step % 7 / 7 + ord(pull["arm"])
        assert (
            shop.post(at("/tell"), {"rewards": [{"pull": pull["id"], "reward": reward}]}).status_code == 204
        )
        alone.tell(mine, reward)
    said, meant = shop.get(at("/recommendation")).json(), alone.recommend()
    assert (said["arm"], said["margin"], said["p_best"]) == (meant.arm, meant.margin, meant.p_best)
    assert said["sentence"] == str(meant)
    assert shop.get(at("/shares?n=10&environment=x")).json()["shares"] == alone.shares(environment="x", n=10)
    assert shop.get(at("/shares?n=10&number=5")).json()["shares"] == alone.shares(environment=5, n=10)


def test_without_a_label_it_is_where_the_last_pull_was(shop):
    ask(shop, day="tuesday")
    assert shop.post(at("/ask")).json()["pulls"][0]["environment"] == "tuesday"


def test_rewards_are_all_told_or_none(shop):
    one, two = ask(shop, 2)
    rewards = [{"pull": one["id"], "reward": 1.0}, {"pull": "no-9", "reward": 1.0}]
    assert "unknown pull" in refused(shop.post(at("/tell"), {"rewards": rewards}), 404, "UnknownName")
    assert shop.get(at()).json()["recorded"] == 0
    shop.post(at("/tell"), {"rewards": [{"pull": one["id"], "reward": 1.0}]})
    refused(
        shop.post(at("/tell"), {"rewards": [{"pull": one["id"], "reward": 2.0}]}), 409, "ConflictingReward"
    )
    assert shop.post(at("/correct"), {"pull": one["id"], "reward": 2.0}).status_code == 204
    assert shop.post(at("/cancel"), {"pulls": [two["id"]]}).status_code == 204
    assert "is not pending: its reward is recorded" in refused(
        shop.post(at("/cancel"), {"pulls": [one["id"]]}), 400
    )
    assert shop.get(at()).json()["remaining"] == 99


def test_numbers_that_json_should_not_have(shop):
    (pull,) = ask(shop)
    text = '{"rewards": [{"pull": "%s", "reward": %s}]}'
    for reward in ("NaN", "Infinity", "1e400", "true", '"1"', "[1]"):
        body = (text % (pull["id"], reward)).encode()
        refused(
            shop.request("POST", at("/tell"), content=body, headers={"Content-Type": "application/json"}), 400
        )
    for body in (b"", b"{", b"[]", b"null", b'{"rewards": "\xff"}'):
        refused(
            shop.request("POST", at("/tell"), content=body, headers={"Content-Type": "application/json"}), 400
        )
    assert shop.get(at()).json()["recorded"] == 0


def test_a_summary_settles_pulls(shop):
    pulls = ask(shop, 12)
    counts = {arm: sum(pull["arm"] == arm for pull in pulls) for arm in "ABC"}
    body = {"arm": "A", "environment": "monday", "n": counts["A"], "mean": 1.5, "variance": 0.5, "key": "k"}
    for _ in range(2):
        assert shop.post(at("/tell-summary"), body).status_code == 204
    assert shop.get(at()).json()["pending"] == 12 - counts["A"]
    refused(shop.post(at("/tell-summary"), body | {"mean": 2}), 409, "ConflictingReward")
    refused(shop.post(at("/tell-summary"), body | {"arm": "Z", "key": "l"}), 404, "UnknownName")


def test_pending_pulls_have_pages(shop):
    ids = [pull["id"] for pull in ask(shop, 5)]
    first = shop.get(at("/pulls?limit=2")).json()
    assert ([pull["id"] for pull in first["pulls"]], first["next"]) == (ids[:2], ids[1])
    rest = shop.get(at(f"/pulls?limit=9&after={ids[1]}")).json()
    assert ([pull["id"] for pull in rest["pulls"]], rest["next"]) == (ids[2:], None)
    refused(shop.get(at("/pulls?after=soon")), 400)


def test_the_same_key_again_does_nothing(shop):
    once = {"Idempotency-Key": "job 7"}
    body = {"environment": "monday", "n": 2}
    first = shop.post(at("/ask"), body, headers=once)
    assert shop.post(at("/ask"), body, headers=once).json() == first.json()
    assert shop.get(at()).json()["asked"] == 2
    assert "was already used for" in refused(shop.post(at("/ask"), {"environment": "x"}, headers=once), 409)
    assert len(ask(shop, 1)) == 1


# -- units


def test_from_evaluation_to_outcome(here, tmp_path):
    made = {
        "name": "shop",
        "arms": ["A", "B"],
        "rewards": "money",
        "lease": 3600,
        "default": 0,
        "reserve": 600,
    }
    here.post("/v1/experiments", made)
    first, again = (here.post(at("/evaluations"), {"unit": "ann", "environment": "monday"}) for _ in range(2))
    assert first.status_code == 200
    assert first.json() == again.json()
    body = {"outcomes": [{"unit": "ann", "reward": 20, "key": "order 7"}]}
    assert "reserved" in refused(here.post(at("/outcomes"), body), 400)
    for _ in range(2):
        assert here.post(at("/exposures"), {"exposures": [{"unit": "ann"}]}).status_code == 204
        assert here.post(at("/outcomes"), body).status_code == 204
    body = {"outcomes": [{"pull": first.json()["id"], "reward": 5, "key": "order 8"}]}
    assert here.post(at("/outcomes"), body).status_code == 204
    saved = here.get(at("/export"))
    assert saved.headers["content-disposition"].startswith("attachment")
    path = tmp_path / "shop.json"
    path.write_text(saved.text)
    assert tp.Experiment.load(path).history()["reward"] == [25.0]
    events = here.get(at("/events")).json()["events"]
    assert [each["kind"] for each in events].count("Exposed") == 1
    refused(here.post(at("/exposures"), {"exposures": [{"unit": "bob"}]}), 404, "UnknownName")
    refused(here.post(at("/exposures"), {"exposures": [{}]}), 400)
    refused(here.post(at("/exposures"), {"exposures": [{"unit": "a", "pull": "b"}]}), 400)


def test_salts_leave_the_service_nowhere(shop):
    shop.post(at("/evaluations"), {"unit": "ann"})
    run = shop.app.state.service.experiments.get("shop")
    (salt,) = (event.salt for event in run.events() if isinstance(event, e.Salted))
    assert len(salt) == 32
    for what in ("", "/events", "/export", "/pulls", "/recommendation"):
        assert salt not in shop.get(at(what)).text


def test_public_clients_cannot_reserve_without_end(begin):
    here = begin(reservations=3)
    here.post("/v1/experiments", {"name": "shop", "arms": ["A", "B"], "lease": 60, "reserve": 60})
    secret = here.post("/v1/keys", {"name": "front", "role": "evaluator"}).json()["secret"]
    statuses = [
        here.post(at("/evaluations"), {"unit": unit}, headers=bearer(secret)).status_code
        for unit in (1, 2, 3, 4, 1)
    ]
    assert statuses == [200, 200, 200, 429, 200]
    assert here.post(at("/evaluations"), {"unit": 4}).status_code == 200  # who may report may do more


# -- reading


def test_events_come_behind_a_cursor(shop):
    ask(shop, 3)
    first = shop.get(at("/events?limit=1")).json()
    assert ([each["kind"] for each in first["events"]], first["next"]) == (["Created"], 1)
    second = shop.get(at("/events?after=1")).json()
    assert (second["events"][0]["kind"], second["next"]) == ("Asked", 2)
    assert shop.get(at("/events?after=2")).json() == {"events": [], "next": 2}
    refused(shop.get(at("/events?after=-1")), 400)


def test_a_stream_goes_on_where_it_was(begin):
    """What is told while somebody follows arrives; it ends when the service stops."""
    here = begin()
    app, service = here.app, here.app.state.service
    here.post("/v1/experiments", SHOP)
    ask(here, 1)

    async def follow():
        from tideproof.serve.api.read_routes import stream

        request, key = SimpleNamespace(app=app), SimpleNamespace(id="environment")
        with pytest.raises(tp.errors.UnknownName):
            await stream("none", request, key)
        answer = await stream("shop", request, key, 0, "1")
        parts = answer.body_iterator
        found = [await anext(parts) for _ in range(2)]
        waiting = asyncio.ensure_future(anext(parts))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert service.notifier.open_streams == 1
        run = service.experiments.get("shop")
        run.note("news")
        service.notifier.notify("shop")
        found.append(await waiting)
        run.note("of another process")  # nobody says so: it is found by looking
        found.append(await asyncio.wait_for(anext(parts), 20))
        _, other = service.keys.create_key("other", "viewer", None, None)
        others = (await stream("shop", request, other, 3)).body_iterator
        assert [await anext(others), await anext(others)][1].startswith("id: 4")
        service.keys.revoke(other.id, service.keys.cached_key(ADMIN))
        assert [part async for part in others] == []
        assert service.notifier.open_streams == 1
        service.stop()
        assert [part async for part in parts] == []
        return found

    opening, *rest = here.run(follow())
    assert opening.startswith(":")
    kinds = [part.split("\n")[1] for part in rest]
    assert kinds == ["event: Asked", "event: Noted", "event: Noted"]
    assert rest[0].startswith("id: 2\n")
    assert json.loads(rest[1].split("data: ")[1])["about"] == {"text": "news"}
    assert service.notifier.open_streams == 0
    refused(here.get("/readyz"), 503, "StoreError")


def test_a_stream_ends_when_its_experiment_is_deleted(begin):
    here = begin()
    app, service = here.app, here.app.state.service
    here.post("/v1/experiments", SHOP)

    async def follow():
        from tideproof.serve.api.read_routes import stream

        request, key = SimpleNamespace(app=app), SimpleNamespace(id="environment")
        parts = (await stream("shop", request, key)).body_iterator
        found = [await anext(parts) for _ in range(2)]
        await service.call(service.experiments.delete, "shop")
        service.notifier.notify("shop")
        return found + [part async for part in parts]

    assert [part.split("\n")[1:2] for part in here.run(follow())][1:] == [["event: Created"]]


def test_too_many_followers(begin):
    here = begin(event_streams=1)
    here.post("/v1/experiments", SHOP)
    with here.app.state.service.notifier.count_stream():
        assert "at most 1" in refused(here.get(at("/stream")), 503, "StoreError")


def test_whoever_looks_after_it(here):
    assert here.get("/healthz").json()["status"] == "alive"
    assert here.get("/readyz").json()["status"] == "ready"
    here.get("/v1/experiments/secret-name")
    said = here.get("/metrics").text
    assert 'tideproof_requests_total{method="GET",route="/v1/experiments/{name}",status="404"} 1.0' in said
    assert "tideproof_open_experiments 0.0" in said
    assert "secret-name" not in said


def test_what_is_not_there(here):
    assert "no experiment named 'x'" in refused(here.get("/v1/experiments/x"), 404, "UnknownName")
    refused(here.get("/nowhere"), 404, "UnknownName")
    refused(here.request("PUT", "/v1/experiments"), 405)


def test_something_unexpected_is_a_problem_too(shop, monkeypatch):
    monkeypatch.setattr(shop.app.state.service.experiments, "list_experiments", lambda: 1 / 0)
    assert "unexpected" in refused(shop.get("/v1/experiments"), 500, "TideproofError")


def test_a_store_that_fails_can_be_asked_again(shop, monkeypatch):
    def fail():
        raise tp.errors.StoreError("the disk is full")

    monkeypatch.setattr(shop.app.state.service.experiments, "list_experiments", fail)
    found = shop.get("/v1/experiments")
    assert "full" in refused(found, 503, "StoreError")
    assert found.headers["retry-after"] == "1"
