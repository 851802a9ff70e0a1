"""Every role against every route, generated from the routes; keys that are restricted; keys that make keys."""

import re
from pathlib import Path

import pytest

from serve.service_clients import ADMIN, Here, app_of, bearer
from tideproof.serve.auth.access_control import routes_and_rights
from tideproof.serve.auth.roles import ROLES, Right
from tideproof.serve.rate_limit import RateLimiter
from tideproof.store.store_urls import sqlite_path

# What a role may do, said once more by hand: whoever changes the rights must say so here, too
ALLOWED = {
    "viewer": {"open", "any", "read"},
    "public": {"open", "any", "evaluate"},
    "evaluator": {"open", "any", "evaluate"},
    "reporter": {"open", "any", "read", "evaluate", "report"},
    "editor": {"open", "any", "read", "evaluate", "report", "edit"},
    "admin": {"open", "any", "read", "evaluate", "report", "edit", "admin"},
}
WRITES = {"ask", "tell", "tell-summary", "correct", "cancel", "outcomes"}


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    """A service with a key of every role, for all experiments and for one of them."""
    here = Here(app_of(tmp_path_factory.mktemp("team")))
    for name in ("mine", "other"):
        here.post("/v1/experiments", {"name": name, "arms": ["A", "B"]})
    keys = {
        (role, only): here.post(
            "/v1/keys", {"name": role, "role": role, "experiments": ["mine"] if only else None}
        )
        for role in ROLES
        for only in (False, True)
    }
    here.keys = {which: made.json()["secret"] for which, made in keys.items()}
    yield here
    here.close()


def routes(app=None):
    from tideproof.serve.app import ROUTERS

    return [each for router in ROUTERS for each in routes_and_rights(router)]


def test_every_route_says_what_it_needs(team):
    found = routes_and_rights(team.app)
    assert len(found) > 25
    assert [route for route in found if route[2] is None] == []
    assert {route[:2] for route in routes()} <= {route[:2] for route in found}


def test_what_is_open_is_what_was_meant():
    found = {(method, path) for method, path, right in routes() if right is Right.OPEN}
    assert found == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("POST", "/v1/session"),
        ("GET", "/ofrep/v1/stream"),  # a ticket lets in
    }


def test_what_changes_rewards_needs_the_right_to():
    for method, path, right in routes():
        if path.rpartition("/")[2] in WRITES:
            assert right is Right.REPORT, path
        elif method != "GET" and right not in (Right.OPEN, Right.ANY, Right.EVALUATE):
            assert right in (Right.EDIT, Right.ADMIN), path


def call(team, method, path, secret, name="mine"):
    path = re.sub(r"\{name\}", name, path).replace("{id}", "k0")
    headers = bearer(secret) if secret else {"Authorization": "none"}
    if path.endswith("/stream"):  # has no end: none may be followed here
        team.app.state.service.notifier.max_streams = 0
    return team.request(method, path, json={} if method == "POST" else None, headers=headers)


@pytest.mark.parametrize("route", routes(), ids=lambda route: f"{route[0]} {route[1]}")
def test_nobody_gets_in_where_they_do_not_belong(team, route):
    """Whoever lacks the right gets 403 whatever else is wrong; whoever has it, anything but 401 and 403."""
    method, path, right = route
    for role, allowed in ALLOWED.items():
        for only in (False, True):
            status = call(team, method, path, team.keys[role, only]).status_code
            if path == "/v1/session" and method == "POST":
                assert status == 400  # no key in the body
            else:
                assert (status not in (401, 403)) == (right in allowed), (role, only, status)
    for secret in ("", "tp_wrong", ADMIN[:-1]):
        team.app.state.service.failure_limiter = RateLimiter(1.0, 60.0)
        status = call(team, method, path, secret).status_code
        assert (status == 401) == (right is not Right.OPEN), status
    team.app.state.service.failure_limiter = RateLimiter(1.0, 60.0)
    if method == "DELETE" and path == "/v1/experiments/{name}":
        assert team.post("/v1/experiments", {"name": "mine", "arms": ["A", "B"]}).status_code == 201


@pytest.mark.parametrize(
    "route", [each for each in routes() if "{name}" in each[1]], ids=lambda route: route[1]
)
@pytest.mark.parametrize("name", ["other", "none"])
def test_a_restricted_key_reaches_its_experiments_only(team, route, name):
    for role in ROLES:
        assert call(team, route[0], route[1], team.keys[role, True], name).status_code == 403


def test_a_restricted_key_sees_its_experiments_only(team):
    for role in ("viewer", "admin"):
        found = team.get("/v1/experiments", headers=bearer(team.keys[role, True])).json()
        assert [each["name"] for each in found["experiments"]] == ["mine"]
    body = {"name": "third", "arms": ["A", "B"]}
    assert team.post("/v1/experiments", body, headers=bearer(team.keys["editor", True])).status_code == 403


def test_a_key_makes_none_above_itself(team):
    made = {}
    for only in (None, ["mine"], ["mine", "other"], []):
        body = {"name": "new", "role": "admin", "experiments": only}
        made[str(only)] = team.post("/v1/keys", body, headers=bearer(team.keys["admin", True])).status_code
    assert made == {"None": 403, "['mine']": 201, "['mine', 'other']": 403, "[]": 201}
    body = {"name": "new", "role": "viewer"}
    refused = team.post("/v1/keys", body, headers=bearer(team.keys["admin", True])).json()["detail"]
    assert refused.endswith(
        "it has the role 'admin' for the experiment 'mine', and the new key would have the role 'viewer' for "
        "all experiments"
    )
    listed = team.get("/v1/keys", headers=bearer(team.keys["admin", True])).json()["keys"]
    assert listed
    assert all(set(each["experiments"]) <= {"mine"} for each in listed)


def test_a_key_takes_back_none_above_itself(team):
    whole = next(each for each in team.get("/v1/keys").json()["keys"] if each["experiments"] is None)
    found = team.request("DELETE", f"/v1/keys/{whole['id']}", headers=bearer(team.keys["admin", True]))
    assert found.status_code == 400
    assert team.get("/v1/session", headers=bearer(team.keys["viewer", False])).status_code == 200


def test_secrets_are_nowhere(team):
    said = team.get("/v1/keys").text
    file = sqlite_path(team.app.state.service.experiments.url)
    team.app.state.service.close()
    stored = Path(file).read_bytes()
    for secret in (*team.keys.values(), ADMIN):
        assert secret not in said
        assert secret.encode() not in stored
    assert team.keys["viewer", False].startswith("tp_")
    assert len(team.keys["viewer", False]) == 3 + 43
