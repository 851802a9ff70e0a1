"""The whole API by its description: schemathesis sends what is allowed and what is not, with a key and without.

A short run here; TIDEPROOF_FUZZ=1000 makes a long one.
"""

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from serve.service_clients import ADMIN, Here, app_of, bearer
from tideproof.serve.app import ROUTERS
from tideproof.serve.auth.access_control import routes_and_rights

EXAMPLES = int(os.environ.get("TIDEPROOF_FUZZ", "3"))


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    here = Here(app_of(tmp_path_factory.mktemp("fuzz"), requests_per_second=1e9, failures_per_minute=1e9))
    here.post("/v1/experiments", {"name": "shop", "arms": ["A", "B"], "lease": 60, "reserve": 60})
    here.post("/v1/experiments/shop/ask", {"n": 5, "environment": "monday"})
    yield here.app
    here.close()


@pytest.fixture(scope="module")
def api(app):
    return schemathesis.openapi.from_asgi("/v1/openapi.json", app)


OPERATIONS = [
    (path, method)
    for router in ROUTERS
    for method, path, _ in routes_and_rights(router)
    if not path.endswith("/stream")
]


def _check(case, headers):
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    if "name" in case.path_parameters and len(str(case.path_parameters["name"])) % 2:
        case.path_parameters["name"] = "shop"  # one that is there
    case.call_and_validate(
        headers=headers,
        checks=[
            not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
        ],
    )


how = settings(
    max_examples=EXAMPLES,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@how
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each[1]} {each[0]}")
@pytest.mark.parametrize("headers", [bearer(ADMIN), {}], ids=["with a key", "without"])
@given(data=st.data())
def test_there_is_no_error_and_no_surprise(api, operation, headers, data):
    path, method = operation
    kind = data.draw(st.sampled_from(list(GenerationMode)))
    strategy = api[path][method].as_strategy(generation_mode=kind)
    _check(data.draw(strategy), headers)


def test_the_description_says_who_and_how(app):
    said = app.openapi()
    for path, methods in said["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], path
            assert "422" not in operation["responses"]
            assert "400" in operation["responses"]
            assert ("security" in operation) == (operation["x-right"] != "open")
            if method == "post":
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                for name in _names(schema):
                    assert said["components"]["schemas"][name]["examples"], name


def test_each_part_of_a_path_is_described(app):
    described = {
        (path, each["name"]): each["description"]
        for path, methods in app.openapi()["paths"].items()
        for operation in methods.values()
        for each in operation.get("parameters", ())
        if each["in"] == "path"
    }
    assert described.pop(("/v1/keys/{id}", "id")) == "ID of the API key."
    webhooks = {description for (_, name), description in described.items() if name == "id"}
    assert webhooks == {"ID of the webhook."}
    experiments = {description for (_, name), description in described.items() if name != "id"}
    assert experiments == {"Name of the experiment, percent-encoded."}


def _names(schema):
    parts = schema.get("oneOf", [schema])
    return [part["$ref"].rpartition("/")[2] for part in parts]
