"""What a request or a form with invalid values is told: the field, its value and what is allowed."""

from typing import get_args

import pytest

from serve.service_clients import Here, app_of
from tideproof.experiment.events.event_records import KINDS
from tideproof.serve.schemas.experiment_schemas import CHANGES, EVENT_KINDS, ChangeBody

SHOP = "/v1/experiments/shop"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A service with one experiment."""
    here = Here(app_of(tmp_path_factory.mktemp("messages")))
    here.post("/v1/experiments", {"name": "shop", "arms": ["A", "B"], "lease": 9, "reserve": 5})
    yield here
    here.close()


GOOD = {"name": "x", "arms": ["A", "B"]}
CREATE = "/v1/experiments"


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (CREATE, GOOD | {"name": "a/b"}, "name must not contain slashes or control characters, not 'a/b'"),
        (CREATE, GOOD | {"name": ""}, "name must not be empty"),
        (CREATE, GOOD | {"name": "n" * 201}, "name must have at most 200 characters, not 201"),
        (CREATE, GOOD | {"name": 5}, "name must be a string, not 5"),
        (CREATE, GOOD | {"arms": ["A"]}, "arms must have at least 2 entries, not 1"),
        (CREATE, GOOD | {"arms": ["A", True]}, "arms[1] must be a string, not true"),
        (CREATE, {}, "name is missing; arms is missing"),
        (CREATE, GOOD | {"budjet": 5}, "unknown field 'budjet'; did you mean 'budget'?"),
        (CREATE, GOOD | {"colour": 5}, "unknown field 'colour'"),
        (CREATE, GOOD | {"budget": 0}, "budget must be at least 1, not 0"),
        (CREATE, GOOD | {"budget": 1.5}, "budget must be a whole number, not 1.5"),
        (CREATE, GOOD | {"confidence": "high"}, "confidence must be a number, not 'high'"),
        (CREATE, GOOD | {"direction": "up"}, "direction must be 'maximize' or 'minimize', not 'up'"),
        (CREATE, GOOD | {"minimum_shares": {"": 0.1}}, "a name in minimum_shares must not be empty"),
        (CREATE, GOOD | {"policy_options": []}, "policy_options must be a JSON object, not []"),
        (CREATE, GOOD | {"limits": [0, 1, 2]}, "limits must have at most 2 entries, not 3"),
        (CREATE, [1], "the body must be a JSON object, not [1]"),
        (CREATE, None, "the body is missing"),
        (f"{SHOP}/changes", {"change": "foo"},
         f"change must be one of {', '.join(CHANGES)}, not 'foo'"),
        (f"{SHOP}/changes", {}, f"change is missing; it must be one of {', '.join(CHANGES)}"),
        (f"{SHOP}/changes", {"change": "note"}, "text is missing"),
        (f"{SHOP}/changes", {"change": "budget", "budget": "9"}, "budget must be a whole number, not '9'"),
        (f"{SHOP}/tell", {"rewards": [{"pull": "x", "reward": "y"}]}, "rewards[0].reward must be a number, not 'y'"),
        (f"{SHOP}/tell", {"rewards": [{"pull": "x", "reward": 1, "kee": "y"}]},
         "unknown field 'rewards[0].kee'; did you mean 'key'?"),
        (f"{SHOP}/ask", {"environment": 1.5}, "environment must be a string or a whole number, not 1.5"),
        (f"{SHOP}/ask", {"environment": ""}, "environment must not be empty"),
        (f"{SHOP}/ask", {"environment": ["e" * 200]}, "environment must be a string or a whole number, not [\""
         + "e" * 98 + "…"),
        (f"{SHOP}/ask", {"n": 10**6}, "n must be at most 10,000, not 1000000"),
    ],
)  # fmt: skip
def test_an_invalid_request_is_told_what_is_allowed(shop, path, body, said):
    if body is None:
        found = shop.request("POST", path, content=b"", headers={"Content-Type": "application/json"})
    else:
        found = shop.post(path, body)
    assert (found.status_code, found.json()["detail"]) == (400, said)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b'{"name": ', "application/json", "the body is not valid JSON: expecting value at character 9"),
        (b"a=b", "text/plain", "the body must be JSON, with the header Content-Type: application/json"),
        (b'{"name":"\xff"}', "application/json", "the body of the request cannot be read: it must be JSON in UTF-8"),
        (b'{"name":"\\ud800","arms":["A","B"]}', "application/json",
         r"name must be a string of valid Unicode characters, not '\ud800'"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_is_told_so(shop, content, kind, said):
    found = shop.request("POST", CREATE, content=content, headers={"Content-Type": kind})
    assert (found.status_code, found.json()["detail"]) == (400, said)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/experiments?limit=0", "limit must be at least 1, not 0"),
        ("/v1/experiments?limit=abc", "limit must be a whole number, not 'abc'"),
        (f"{SHOP}/recommendation?prior=foo", "prior must be 'exchangeable' or 'flat', not 'foo'"),
    ],
)
def test_a_parameter_of_a_url_is_named(shop, path, said):
    found = shop.get(path)
    assert (found.status_code, found.json()["detail"]) == (400, said)


def test_a_path_that_is_unknown_is_named(shop):
    found = shop.get("/nothing")
    assert (found.status_code, found.json()["detail"]) == (404, "the path /nothing does not exist")
    found = shop.request("PUT", CREATE)
    assert (found.status_code, found.json()["detail"]) == (
        405,
        "the path /v1/experiments does not accept PUT requests",
    )


def test_a_flag_is_refused_in_the_same_words(shop):
    found = shop.post("/ofrep/v1/evaluate/flags/shop", {"context": {"targetingKey": 5}})
    assert found.json()["errorDetails"] == "context.targetingKey must be a string, not 5"


def test_all_kinds_of_events_are_described():
    assert list(EVENT_KINDS) == list(KINDS)


def test_all_kinds_of_changes_are_listed():
    union, _ = get_args(ChangeBody)
    tags = [tag for body in get_args(union) for tag in get_args(body.model_fields["change"].annotation)]
    assert tuple(tags) == CHANGES
