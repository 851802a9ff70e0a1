"""Keys that are taken back, sessions, other web sites, and limits."""

import time
from dataclasses import fields

import pytest

import tideproof as tp
from serve.service_clients import ADMIN, bearer
from tideproof.serve.auth import api_keys as keys_module
from tideproof.serve.middleware import CSP
from tideproof.serve.rate_limit import RateLimiter
from tideproof.serve.service_settings import RENAMED, Settings, from_environment

OWN = {"Sec-Fetch-Site": "same-origin"}


def made(here, role="viewer", **more):
    return here.post("/v1/keys", {"name": role, "role": role, **more}).json()


@pytest.fixture
def visitor(here):
    """A client without a key, that keeps cookies."""
    found = here.other(None)
    yield found
    found.close()


def log_in(visitor, secret=ADMIN, **headers):
    return visitor.post("/v1/session", {"key": secret}, headers=headers)


# -- keys


def test_a_key_that_was_taken_back_is_refused_at_once(here):
    key = made(here)
    assert here.get("/v1/session", headers=bearer(key["secret"])).json()["id"] == key["id"]
    for _ in range(2):
        assert here.request("DELETE", f"/v1/keys/{key['id']}").status_code == 204
    assert here.get("/v1/session", headers=bearer(key["secret"])).status_code == 401
    listed = here.get("/v1/keys").json()["keys"]
    assert listed[0]["revoked_by"] == "environment"
    assert listed[0]["made_by"] == "environment"
    assert here.request("DELETE", "/v1/keys/none").status_code == 404


def test_what_another_process_does_to_keys_is_seen(begin, monkeypatch):
    one, two = begin(), begin()
    key = made(one)
    assert two.get("/v1/session", headers=bearer(key["secret"])).status_code == 200
    one.request("DELETE", f"/v1/keys/{key['id']}")
    monkeypatch.setattr(keys_module, "FRESH", 0.0)  # seconds later
    assert two.get("/v1/session", headers=bearer(key["secret"])).status_code == 401


def test_a_role_that_is_none(here):
    assert here.post("/v1/keys", {"name": "x", "role": "king"}).status_code == 400
    with pytest.raises(tp.errors.UnknownName, match="king"):
        here.app.state.service.keys.create_key("x", "king", None, None)


# -- sessions


def test_a_login_is_a_cookie_that_scripts_cannot_read(visitor):
    assert visitor.get("/v1/session").status_code == 401
    found = log_in(visitor)
    assert found.status_code == 201
    cookie = found.headers["set-cookie"]
    assert cookie.startswith("tideproof=")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Secure" not in cookie
    assert visitor.get("/v1/session").json()["role"] == "admin"
    assert visitor.request("DELETE", "/v1/session", headers=OWN).status_code == 204
    assert visitor.get("/v1/session").status_code == 401


def test_a_cookie_that_was_copied_is_worth_nothing_after_the_logout(visitor):
    secret = log_in(visitor).cookies["tideproof"]
    visitor.request("DELETE", "/v1/session", headers=OWN)
    assert visitor.get("/v1/session", headers={"Cookie": f"tideproof={secret}"}).status_code == 401


def test_over_https_the_cookie_is_bound_to_it(visitor):
    cookie = visitor.post("https://test/v1/session", {"key": ADMIN}).headers["set-cookie"]
    assert cookie.startswith("__Host-tideproof=")
    assert "Secure" in cookie


def test_a_session_ends_with_its_key_and_its_time(begin, monkeypatch):
    here = begin(session_seconds=60)
    key = made(here, "editor")
    visitor = here.other(None)
    log_in(visitor, key["secret"])
    assert visitor.get("/v1/session").status_code == 200
    now = time.time()
    with monkeypatch.context() as later:
        later.setattr(keys_module.time, "time", lambda: now + 61)
        assert visitor.get("/v1/session").status_code == 401
    assert visitor.get("/v1/session").status_code == 200
    here.request("DELETE", f"/v1/keys/{key['id']}")
    assert visitor.get("/v1/session").status_code == 401
    visitor.close()


def test_a_wrong_key_gets_no_session(visitor):
    found = log_in(visitor, "tp_wrong")
    assert found.status_code == 401
    assert "set-cookie" not in found.headers


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://test"}, False),
        ({"Origin": "http://test"}, True),
        ({"Origin": "https://test"}, False),
        ({"Origin": "http://test:81"}, False),
        ({"Origin": "http://evil"}, False),
        ({"Origin": "null"}, False),
        ({}, False),
    ],
)
def test_another_site_cannot_use_a_cookie(visitor, headers, allowed):
    log_in(visitor)
    body = {"name": "shop", "arms": ["A", "B"]}
    assert visitor.post("/v1/experiments", body, headers=headers).status_code == (201 if allowed else 403)
    assert visitor.get("/v1/experiments", headers=headers).status_code == 200
    if not allowed:  # with a key in a header nobody else can have sent it
        assert visitor.post("/v1/experiments", body, headers=headers | bearer(ADMIN)).status_code == 201


def test_another_site_cannot_log_somebody_in(visitor):
    assert log_in(visitor, ADMIN, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert log_in(visitor, ADMIN, Origin="http://evil").status_code == 403
    assert log_in(visitor, ADMIN, **OWN).status_code == 201


# -- other web sites, and headers


def test_only_listed_sites_may_call_with_a_key(begin):
    here = begin(origins="https://shop.example, https://b.example/")
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for origin, allowed in {
        "https://shop.example": True,
        "https://b.example": True,
        "https://evil": False,
    }.items():
        found = here.get("/v1/experiments", headers={"Origin": origin})
        assert (found.headers.get("access-control-allow-origin") == origin) == allowed
        assert "access-control-allow-credentials" not in found.headers
        before = here.request("OPTIONS", "/v1/experiments", headers={"Origin": origin, **asked})
        assert (before.status_code == 200) == allowed


def test_without_a_list_no_site_may(here):
    found = here.get("/v1/experiments", headers={"Origin": "https://shop.example"})
    assert "access-control-allow-origin" not in found.headers


def test_every_answer_has_headers_that_protect(here):
    for path in ("/healthz", "/v1/experiments", "/nowhere"):
        headers = here.get(path).headers
        assert headers["content-security-policy"] == CSP
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert len(headers["x-request-id"]) == 16
    assert "unsafe" not in CSP


# -- limits


def test_a_body_may_not_be_too_long(begin):
    here = begin(body_bytes=1000)
    long = b'{"name": "' + b"x" * 2000 + b'"}'
    assert here.request("POST", "/v1/experiments", content=long).status_code == 413

    async def parts():
        for start in range(0, len(long), 100):
            yield long[start : start + 100]

    found = here.request(
        "POST", "/v1/experiments", content=parts(), headers={"Content-Type": "application/json"}
    )
    assert found.status_code == 413  # its length was not said


def test_a_body_may_not_be_too_deep(here):
    deep = b"[" * 200_000
    found = here.request(
        "POST", "/v1/experiments", content=deep, headers={"Content-Type": "application/json"}
    )
    assert found.status_code == 400


def test_a_key_may_not_come_too_often(begin):
    here = begin(requests_per_second=0.01)
    found = [here.get("/v1/session").status_code for _ in range(3)]
    assert found == [200, 429, 429]
    again = here.get("/v1/session")
    assert 1 <= int(again.headers["retry-after"]) <= 100


def test_who_guesses_keys_must_wait(begin):
    here = begin(failures_per_minute=5)
    found = [here.get("/v1/session", headers=bearer(f"tp_{guess}")).status_code for guess in range(8)]
    assert found == [401] * 5 + [429] * 3
    assert here.get("/v1/session").status_code == 200  # who has a key need not


def test_a_bucket_fills_again(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tideproof.serve.rate_limit.time.monotonic", lambda: now[0])
    bucket = RateLimiter(2.0)
    assert [bucket.take("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    now[0] = 0.5
    assert [bucket.take("a"), bucket.take("a"), bucket.take("b")] == [0, 0.5, 0]


def test_what_takes_too_long_is_said(begin, monkeypatch):
    here = begin(request_seconds=0.05)
    monkeypatch.setattr(here.app.state.service.experiments, "list_experiments", lambda: time.sleep(0.5))
    found = here.get("/v1/experiments")
    assert found.status_code == 503
    assert "may still be executed" in found.json()["detail"]


def test_too_many_that_wait(begin, monkeypatch):
    import asyncio

    here = begin(threads=1, waiting_requests=1)
    monkeypatch.setattr(here.app.state.service.experiments, "list_experiments", lambda: time.sleep(0.2) or [])

    async def at_once():
        client = here.client
        return await asyncio.gather(*(client.get("/v1/experiments") for _ in range(4)))

    here.get("/v1/session")  # keys are known now
    found = sorted(answer.status_code for answer in here.run(at_once()))
    assert found == [200, 200, 503, 503]


# -- settings


def test_settings_come_from_the_environment():
    found = from_environment(
        {
            "TIDEPROOF_REQUESTS_PER_SECOND": "7",
            "TIDEPROOF_BODY_BYTES": "5",
            "TIDEPROOF_LOG_FORMAT": "text",
            "PATH": "x",
        }
    )
    assert found == Settings(requests_per_second=7.0, body_bytes=5, log_format="text")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("REQUESTS_PER_SECOND", "fast", "must be a number, not 'fast'"),
        ("REQUESTS_PER_SECOND", "0", "above 0"),
        ("REQUEST_SECONDS", "inf", "above 0"),
        ("BODY_BYTES", "1.5", "must be a number"),
        ("LOG_FORMAT", "loud", "json, text or off"),
        ("ADMIN_KEY", "short", "at least 20"),
    ],
)
def test_settings_that_are_none(variable, value, message):
    with pytest.raises(tp.errors.InputError, match=message):
        from_environment({f"TIDEPROOF_{variable}": value})


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_a_former_name_of_a_variable_is_refused_with_the_new_one(old, new):
    assert new.lower() in {each.name for each in fields(Settings)}
    with pytest.raises(
        tp.errors.InputError, match=rf"TIDEPROOF_{old} is now named TIDEPROOF_{new}: "
    ) as caught:
        from_environment({f"TIDEPROOF_{old}": "1", "PATH": "x"})
    assert "\n" not in str(caught.value)
    assert (
        from_environment({f"TIDEPROOF_{old}": ""}) == Settings()
    )  # as compose files pass on what is not set


def test_variables_of_other_programs_are_ignored():
    other = ("STORE", "PORT", "KEY", "CACHE", "FAULTS", "KILLS", "SERVICE_HOST", "PORT_8080_TCP")
    assert from_environment({f"TIDEPROOF_{name}": "x" for name in other}) == Settings()
