"""A store that fails or is used by several services: a create happens or not, a name is given once, `/readyz` tells."""

import json

import psycopg
import pytest

from serve.service_clients import ADMIN, Here, app_of
from store.stores import in_threads
from tideproof.errors import StoreError
from tideproof.serve import readiness_check
from tideproof.serve.app import make_app
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.problem_details import Problem
from tideproof.serve.service_settings import Settings
from tideproof.store.backend import ConnectionLost

SHOP = {"name": "shop", "arms": ["A", "B"], "budget": 100}


def service_on(url, **settings):
    return Here(make_app(url, Settings(**({"admin_key": ADMIN, "log_format": "off"} | settings))))


def keyed(key):
    return {"Idempotency-Key": key}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of a new store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/shop.db"
    return request.getfixturevalue("postgres_server").database()


# -- names


def test_of_two_services_that_create_one_name_exactly_one_does(url):
    """As two processes would: each cache has locks and connections of its own."""
    caches, arms = [ExperimentCache(url, 10) for _ in range(2)], [["A", "B"], ["red", "green"]]
    caches[0].backend.list_experiments()  # creates the tables

    def create(cache, arms, name):
        def work():
            try:
                return cache.create(name, arms, {}, "me")[1]
            except Problem as problem:
                return problem.status

        return work

    for turn in range(40):
        name = f"test {turn}"
        new = in_threads(*(create(cache, each, name) for cache, each in zip(caches, arms, strict=True)))
        assert sorted(new) == [True, 409]
        assert list(caches[0].get(name).arms) == arms[new.index(True)]
    for cache in caches:
        cache.close()


def test_a_create_is_repeated_under_its_key(url):
    here = service_on(url)
    first = here.post("/v1/experiments", SHOP, headers=keyed("job 7"))
    assert first.status_code == 201
    here.post("/v1/experiments/shop/changes", {"change": "add-arm", "arm": "C"})
    again = here.post("/v1/experiments", SHOP, headers=keyed("job 7"))
    assert again.status_code == 200
    assert again.json()["arms"] == ["A", "B", "C"]
    joined = here.post("/v1/experiments", SHOP, headers=keyed("job 8"))  # as tp.connect does
    assert joined.status_code == 200
    less = here.post("/v1/experiments", {"name": "shop", "arms": ["A", "B"]}, headers=keyed("job 7"))
    assert less.status_code == 409
    assert "was already used for another call, create(" in less.json()["detail"]
    other = here.post("/v1/experiments", {**SHOP, "arms": ["X", "Y"]}, headers=keyed("job 9"))
    assert other.status_code == 409
    assert "has arms=['A', 'B', 'C'], not ['X', 'Y']" in other.json()["detail"]
    here.close()


# -- a create happened or did not


def test_what_fails_after_the_commit_does_not_fail_the_create(tmp_path, monkeypatch):
    here = Here(app_of(tmp_path))
    whole = here.app.state.service.experiments.get

    def broken(name):
        raise StoreError("too many connections")

    monkeypatch.setattr(here.app.state.service.experiments, "get", broken)
    made = here.post("/v1/experiments", SHOP)
    assert made.status_code == 201
    monkeypatch.setattr(here.app.state.service.experiments, "get", whole)
    assert here.get("/v1/experiments/shop").json() == made.json()
    here.close()


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("after", [False, True])
def test_a_create_is_done_once_wherever_the_connection_is_cut(postgres_server, monkeypatch, number, after):
    here = service_on(postgres_server.database())
    here.get("/v1/experiments")
    database = here.app.state.service.experiments.backend._database  # noqa: SLF001  its connection is cut
    left, send = [number], database.send_statements

    def cut(*args, **kwargs):
        left[0] -= 1
        if left[0] == 0 and not after:
            database.connection.close()
        found = send(*args, **kwargs)
        if left[0] == 0 and after:
            database.drop_connection()
            raise ConnectionLost("lost")
        return found

    monkeypatch.setattr(database, "send_statements", cut)
    assert here.post("/v1/experiments", SHOP).status_code == 201
    assert left[0] <= 0
    assert here.post("/v1/experiments", SHOP).status_code == 409
    assert here.get("/v1/experiments/shop").json()["events"] == 1
    here.close()


def test_a_create_of_which_nothing_is_known_says_so(postgres_server, monkeypatch):
    here = service_on(postgres_server.database())
    here.get("/v1/experiments")
    database = here.app.state.service.experiments.backend._database  # noqa: SLF001  its connection is cut

    def lost(sql, values):
        monkeypatch.setattr(database, "begin", lambda *statements: database.commit("", None))
        raise ConnectionLost("lost")

    with monkeypatch.context() as patch:
        patch.setattr(database, "commit", lost)
        made = here.post("/v1/experiments", SHOP, headers=keyed("x"))
    monkeypatch.undo()
    assert made.status_code == 503
    assert "unknown whether the experiment 'shop' was created" in made.json()["detail"]
    assert here.post("/v1/experiments", SHOP, headers=keyed("x")).status_code == 201
    here.close()


# -- readiness


def test_a_store_that_cannot_be_written_is_not_ready(tmp_path, monkeypatch):
    monkeypatch.setattr(readiness_check, "WRITE_SECONDS", 0.0)
    here = Here(app_of(tmp_path))
    assert here.get("/readyz").status_code == 200
    connection = here.app.state.service.readiness._backend._database.connection  # noqa: SLF001
    connection.execute("PRAGMA query_only = 1")
    found = here.get("/readyz")
    assert found.status_code == 503
    assert "cannot be written" in found.json()["detail"]
    assert here.get("/healthz").status_code == 200
    connection.execute("PRAGMA query_only = 0")
    assert here.get("/readyz").status_code == 200
    here.close()


def test_a_server_that_only_reads_is_not_ready(postgres_server):
    url = postgres_server.database()
    here = service_on(url)
    assert here.get("/readyz").status_code == 200
    here.app.state.service.readiness._written_at = 0.0  # noqa: SLF001  as some seconds later
    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND pid <> "
            "pg_backend_pid()",
            (name,),
        )
    found = here.get("/readyz")
    assert found.status_code == 503
    assert "cannot be written" in found.json()["detail"]
    assert found.json()["error"] == "StoreError"
    here.close()


def test_the_store_is_not_written_at_every_question(tmp_path):
    here = Here(app_of(tmp_path))

    def written():
        rows = here.app.state.service.experiments.backend.execute("SELECT at FROM ~write_checks", ())
        return json.dumps(rows)

    here.get("/readyz")
    before = written()
    for _ in range(3):
        here.get("/readyz")
    assert written() == before
    here.close()


# -- many experiments


def test_a_service_has_more_experiments_than_connections(postgres_server):
    """With a connection for each open experiment, the 97th failed, and nothing worked from then on."""
    here = service_on(postgres_server.database(), postgres_connections=3)
    for number in range(110):
        name = f"test {number}"
        assert here.post("/v1/experiments", {**SHOP, "name": name}).status_code == 201
        assert here.post(f"/v1/experiments/{name}/ask", {"environment": "monday"}).status_code == 200
    assert here.get("/readyz").status_code == 200
    listed = here.get("/v1/experiments", params={"limit": 1000}).json()["experiments"]
    assert {each["pulls"] for each in listed} == {1}
    here.close()
