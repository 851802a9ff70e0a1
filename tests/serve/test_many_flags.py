"""All flags at once, with thousands of experiments: stopped ones that ship nothing and archived ones do not count."""

import json
import shutil
import time

import pytest

import tideproof as tp
from serve.service_clients import bearer
from tideproof.serve import feature_flags
from tideproof.store.sqlite_backend import SqliteBackend

FLAGS = "/ofrep/v1/evaluate/flags"
OPTIONS = {"rewards": "conversions", "lease": 3600.0, "reserve": 600.0, "policy": "contrast"}


def create(here, name, **options):
    body = {"name": name, "arms": ["old", "new"]} | OPTIONS | options
    assert here.post("/v1/experiments", body).status_code == 201


def bulk(here, unit="ann", **headers):
    context = {"context": {"targetingKey": unit, "environment": "monday"}}
    found = here.post(FLAGS, context, headers=headers)
    assert found.status_code == 200, found.text
    return {each["key"]: each for each in found.json()["flags"]}


def change(here, name, **what):
    assert here.post(f"/v1/experiments/{name}/changes", what).status_code == 200


def stop(here, name, **what):
    assert here.post(f"/v1/experiments/{name}/stop", what).status_code == 200


def test_stopped_ones_that_ship_nothing_and_archived_ones_do_not_count(begin):
    here = begin(flags_per_request=2)
    for i in range(5):
        create(here, f"over {i}")
        stop(here, f"over {i}")
    for name in ("shipped", "archived", "deleted", "running 1", "running 2"):
        if name == "running 1":
            stop(here, "deleted", ship="new")
        create(here, name)
        if name == "shipped":
            stop(here, name, ship="new")
        if name == "archived":
            stop(here, name, ship="old")
            change(here, name, change="archive")
    found = bulk(here)
    assert list(found) == ["deleted", "running 1", "running 2", "shipped"]
    assert {found[name]["reason"] for name in ("running 1", "running 2")} == {"SPLIT"}
    assert (found["shipped"]["reason"], found["shipped"]["value"]) == ("STATIC", "new")
    assert here.request("DELETE", "/v1/experiments/deleted").status_code == 204
    assert list(bulk(here)) == ["running 1", "running 2", "shipped"]
    archived = here.post(f"{FLAGS}/archived", {"context": {"targetingKey": "ann"}}).json()
    assert (archived["reason"], "value" in archived) == ("DISABLED", False)
    change(here, "archived", change="restore")
    assert bulk(here)["archived"]["value"] == "old"
    create(here, "running 3")
    refused = here.post(FLAGS, {"context": {"targetingKey": "ann"}})
    assert refused.status_code == 400
    assert "at most 2 feature flags of running experiments" in refused.json()["errorDetails"]
    stop(here, "running 3")
    assert len(bulk(here)) == 4


def test_a_decision_changes_the_arms_at_once(here):
    create(here, "buttons")
    mine = bulk(here)["buttons"]
    assert mine["reason"] == "SPLIT"
    stop(here, "buttons", ship="old")
    assert bulk(here)["buttons"]["value"] == "old"
    stop(here, "buttons", ship="new")
    assert bulk(here)["buttons"]["value"] == "new"


def test_what_another_process_does_is_seen_after_a_second(begin):
    one, two = begin(), begin()
    create(one, "buttons")
    assert list(bulk(two)) == ["buttons"]
    create(one, "titles")
    stop(one, "buttons", ship="old")
    time.sleep(feature_flags.FRESH)
    found = bulk(two)
    assert (found["buttons"]["reason"], found["titles"]["reason"]) == ("STATIC", "SPLIT")
    one.request("DELETE", "/v1/experiments/titles")
    time.sleep(feature_flags.FRESH)
    assert list(bulk(two)) == ["buttons"]
    gone = two.post(f"{FLAGS}/titles", {"context": {"targetingKey": "ann"}})
    assert gone.status_code == 404
    create(one, "titles", control="old")
    found = two.post(f"{FLAGS}/titles", {"context": {"targetingKey": "ann"}})
    assert found.json()["reason"] == "SPLIT"
    assert two.get("/v1/experiments/titles").json()["control"] == "old"


def test_a_name_that_is_used_again_has_the_new_experiment_on_its_page(here):
    create(here, "buttons")
    browser = {"Accept": "text/html"}
    assert "titles red" not in here.get("/experiments/buttons", headers=browser).text
    here.request("DELETE", "/v1/experiments/buttons")
    create(here, "buttons", arms=["titles red", "titles blue"])
    assert "titles red" in here.get("/experiments/buttons", headers=browser).text


def test_thousands_of_experiments(begin, tmp_path):
    """Two running among 3,000: only these are opened, and stopped ones of older versions are recognized once."""
    here = begin()
    create(here, "shipped")
    stop(here, "shipped", ship="new")
    create(here, "stopped")
    stop(here, "stopped")
    for name in ("running 1", "running 2"):
        create(here, name)
    multiply(tmp_path, "stopped", 2000, old=0)
    multiply(tmp_path, "shipped", 1000, old=0)
    multiply(tmp_path, "stopped", 20, old=1)
    here.app.state.service.flags.forget_list()
    found = bulk(here)
    assert len(found) == 1003
    assert sum(each["reason"] == "SPLIT" for each in found.values()) == 2
    assert sum(each["reason"] == "STATIC" for each in found.values()) == 1001
    assert len(here.app.state.service.experiments) <= 4 + 20
    secret = here.post(
        "/v1/keys", {"name": "front", "role": "evaluator", "experiments": ["running 2"]}
    ).json()
    assert list(bulk(here, **bearer(secret["secret"]))) == ["running 2"]


def multiply(folder, name, count, old):
    """Store copies of an experiment; with `old`, their summaries are those of older versions."""
    backend = SqliteBackend(f"{folder}/shop.db")
    run = backend._database.run  # noqa: SLF001  a thousand exports and imports would take minutes
    ((id, about),) = run("SELECT id, about FROM experiments WHERE name = ?", (name,))
    if old:
        about = json.dumps({key: json.loads(about)[key] for key in ("arms", "budget", "policy")})
    ((first,),) = run("SELECT max(id) + 1 FROM experiments")
    run("BEGIN")
    for i in range(count):
        run("INSERT INTO experiments VALUES (?, ?, ?)", (first + i, f"{name} {old} {i}", about))
        run(
            "INSERT INTO events SELECT ?, seq, at, pulls, record, writer, hash FROM events WHERE experiment = ?",
            (first + i, id),
        )
    run("COMMIT")
    backend.close()


@pytest.mark.parametrize("days", [0.0, 30.0])
def test_archived_experiments_are_deleted_after_the_retention_time(begin, days):
    here = begin(retention_days=days)
    for name in ("archived", "stopped", "restored"):
        create(here, name)
        stop(here, name)
        if name != "stopped":
            change(here, name, change="archive")
    change(here, "restored", change="restore")
    sweeper = here.app.state.service.sweeper
    now = here.get("/v1/experiments/archived").json()["archived_at"]
    assert sweeper.delete_due(now + 29.9 * 86_400) == []
    assert sweeper.delete_due(now + 30.1 * 86_400) == (["archived"] if days else [])
    assert here.get("/v1/experiments/archived").status_code == (404 if days else 200)
    assert here.get("/v1/experiments/stopped").status_code == 200


def test_the_retention_time_is_checked(begin):
    for days in (-1.0, float("nan"), float("inf")):
        with pytest.raises(
            tp.errors.InputError, match="TIDEPROOF_RETENTION_DAYS must be a number above 0, or 0"
        ):
            begin(retention_days=days)


def test_lists_omit_archived_experiments(here):
    for name in ("archived", "running"):
        create(here, name)
    change_refused = here.post("/v1/experiments/archived/changes", {"change": "archive"})
    assert change_refused.status_code == 400
    assert "not stopped" in change_refused.json()["detail"]
    stop(here, "archived")
    change(here, "archived", change="archive", why="over")
    listed = here.get("/v1/experiments").json()["experiments"]
    assert [each["name"] for each in listed] == ["running"]
    listed = here.get("/v1/experiments?archived=true").json()["experiments"]
    assert [(each["name"], each["archived_at"] > 0) for each in listed] == [("archived", True)]
    page = here.get("/", headers={"Accept": "text/html"}).text
    assert ">archived</span>" not in page
    assert "Archived experiments (1)" in page
    page = here.get("/?archived=yes", headers={"Accept": "text/html"}).text
    assert ">archived</span>" in page
    assert ">running</span>" not in page


def test_a_client_archives_and_deletes(here, tmp_path):
    create(here, "buttons")
    shutil.copy(tmp_path / "shop.db", tmp_path / "copy.db")
    editor = here.post("/v1/keys", {"name": "ann", "role": "editor"}).json()["secret"]
    assert here.request("DELETE", "/v1/experiments/buttons", headers=bearer(editor)).status_code == 403
    assert here.request("DELETE", "/v1/experiments/none").status_code == 404
    assert here.request("DELETE", "/v1/experiments/buttons").status_code == 204
    assert here.get("/v1/experiments/buttons").status_code == 404
    assert here.get("/v1/experiments").json()["experiments"] == []


def test_a_flag_that_another_process_has_just_deleted_is_omitted(begin):
    one, two = begin(), begin()
    create(one, "buttons")
    create(one, "titles")
    assert len(bulk(two)) == 2
    one.request("DELETE", "/v1/experiments/titles")
    two.app.state.service.flags._versions.clear()  # noqa: SLF001  a second later
    assert list(bulk(two)) == ["buttons"]


def test_the_sender_of_webhooks_opens_no_experiment_that_was_only_created(begin):
    here = begin(webhook_targets="any")
    here.post("/v1/webhooks", {"url": "http://127.0.0.1:9/"})
    for name in ("buttons", "titles", "prices"):
        create(here, name)
    service = here.app.state.service
    here.request("POST", "/v1/experiments/titles/changes", json={"change": "note", "text": "a sale"})
    before = len(service.experiments)
    service.sender.collect()
    assert len(service.experiments) == before == 1
