"""Keys that anybody can read in a web page: their environment is today's date, and they bring few new visitors."""

import html
from datetime import UTC, datetime

import pytest

FLAG = "/ofrep/v1/evaluate/flags"


@pytest.fixture
def shop(begin):
    def make(**settings):
        here = begin(**settings)
        body = {"name": "shop", "arms": ["A", "B"], "visitors": True, "budget": 1000}
        assert here.post("/v1/experiments", body).status_code == 201
        keys = {
            role: here.post("/v1/keys", {"name": role, "role": role}).json()["secret"]
            for role in ("public", "evaluator")
        }
        return here, here.other(keys["public"]), here.other(keys["evaluator"])

    return make


def evaluate(client, unit, environment, path=f"{FLAG}/shop", **how):
    context = {"targetingKey": unit, "environment": environment}
    body = {"context": context} if path.startswith(FLAG) else {"unit": unit, "environment": environment}
    return client.post(path, body, **how)


def environments(here):
    return set(here.app.state.service.experiments.get("shop").history()["environment"])


def test_the_environment_of_a_public_key_is_the_date(shop):
    here, public, evaluator = shop()
    today = datetime.now(UTC).date().isoformat()
    for number, path in enumerate((f"{FLAG}/shop", FLAG, "/v1/experiments/shop/evaluations")):
        assert evaluate(public, f"visitor {number}", "invented", path).status_code == 200
    assert environments(here) <= {today, datetime.now(UTC).date().isoformat()}
    evaluate(evaluator, "visitor 9", "of the caller")
    assert "of the caller" in environments(here)
    public.close(), evaluator.close()


def test_a_public_key_brings_few_new_visitors(shop):
    """1,000 invented visitors in one go: 5 are admitted; known visitors and secret keys are served as before."""
    here, public, evaluator = shop(new_visitors_per_minute=5, address_new_visitors_per_minute=100)
    found = [evaluate(public, f"invented {number}", f"day {number}").status_code for number in range(100)]
    assert (found.count(200), found.count(429)) == (5, 95)
    assert evaluate(public, "invented 0", "monday").status_code == 200
    assert evaluate(evaluator, "real", "monday").status_code == 200
    (flag,) = evaluate(public, "another", "monday", FLAG).json()["flags"]
    assert flag["errorCode"] == "GENERAL"
    page = html.unescape(here.get("/experiments/shop").text)
    assert "96 new visitors of public keys were not admitted" in page
    public.close(), evaluator.close()


def test_one_address_cannot_use_up_the_new_visitors_of_all(shop):
    here, public, evaluator = shop(new_visitors_per_minute=100, address_new_visitors_per_minute=3)
    found = [evaluate(public, f"invented {number}", "monday").status_code for number in range(20)]
    assert (found.count(200), found.count(429)) == (3, 17)
    limiter, key = here.app.state.service.visitor_limiter, type("Public", (), {"is_public": True})
    limiter.check("shop", key, "192.0.2.1")  # another address
    public.close(), evaluator.close()


def test_the_page_warns_of_nothing_without_refusals(shop):
    here, public, evaluator = shop()
    evaluate(public, "visitor", "monday")
    assert "not admitted" not in here.get("/experiments/shop").text
    public.close(), evaluator.close()


def test_a_public_key_makes_no_other_key(shop):
    here, public, evaluator = shop()
    keys = here.app.state.service.keys
    by_role = {key.role: key for key in keys.list_keys()}
    assert not by_role["public"].covers("evaluator", None)
    assert by_role["evaluator"].covers("public", None)
    public.close(), evaluator.close()
