"""Planned looks over HTTP: the plan of an experiment, the route of a look, the remote client, flags and pages."""

import numpy as np
import pytest

import tideproof as tp
from serve.service_clients import ADMIN, Served

FLAGS = "/ofrep/v1/evaluate/flags"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served")) as found:
        yield found


def tell(run, day, lead=0.0):
    random = np.random.default_rng(day)
    for arm in ("A", "B"):
        mean = day + lead * (arm == "B") + 0.1 * float(random.standard_normal())
        run.tell_summary(arm=arm, environment=day, n=30, mean=mean, variance=1.0)


def test_remote_looks_are_those_of_a_local_experiment(served):
    plan = tp.Looks(4, spending="obrien-fleming")
    options = {"looks": plan, "policy": "round-robin", "confidence": 0.9, "budget": 400}
    local = tp.Experiment(["A", "B"], **options)
    remote = tp.connect(served.url, ADMIN, "looks", ["A", "B"], **options)
    assert remote.recommend() == local.recommend()
    for day in range(2):
        for run in (local, remote):
            tell(run, day, lead=0.2)
        between = remote.recommend()
        assert between == local.recommend()
        assert (between.low, between.looks.is_current) == (None, False)
        found = remote.look(by="ann")
        assert found == local.look()
        assert found.low is not None
    found, before = remote.recommend(), len(remote.events())
    assert remote.once("again", remote.look, 2) == remote.once("again", remote.look, 2) == found
    assert len(remote.events()) == before
    assert remote.events()[-1].by.endswith(": ann")
    with pytest.raises(tp.errors.InputError, match="out of order"):
        remote.look(1)
    for run in (local, remote):
        tell(run, 2, lead=4.0)
    assert remote.look().sure
    assert (remote.done, remote.shipped, local.look().sure) == (True, "B", True)
    remote.close()


def test_a_look_decides_what_flags_and_pages_show(here):
    body = {"name": "buttons", "arms": ["A", "B"], "policy": "round-robin", "looks": 2, "visitors": True}
    assert here.post("/v1/experiments", body).json()["looks"] == [2, "pocock"]
    at = "/v1/experiments/buttons"

    def flag():
        context = {"context": {"targetingKey": "zoe", "environment": "monday"}}
        return here.post(f"{FLAGS}/buttons", context).json()

    def summaries(day, lead):
        for arm, mean in (("A", day), ("B", day + lead)):
            summary = {"arm": arm, "environment": day, "n": 40, "mean": mean, "variance": 1.0}
            assert here.post(f"{at}/tell-summary", summary).status_code == 204

    summaries(1, 0.1)
    assert here.post(f"{at}/looks", {}).json()["sure"] is False
    summaries(2, 9.0)
    assert here.get(at).json()["shipped"] is None
    page = here.get("/experiments/buttons").text
    assert "2 planned looks (pocock)" in page
    assert "look 1 of 2 was made, and look 2 is next" in page
    found = here.post(f"{at}/looks", {"by": "ann"}).json()
    assert (found["sure"], found["arm"], found["rule"], found["looks"]["made"]) == (
        True,
        "B",
        "looks",
        [1, 2],
    )
    assert (flag()["reason"], flag()["value"]) == ("STATIC", "B")
    page = here.get("/experiments/buttons").text
    assert "B is best on average over these environments (95 % confidence)" in page
    again = here.post(f"{at}/looks", {"look": 7})
    assert again.status_code == 400
    assert "beyond the plan" in again.json()["detail"]


@pytest.mark.parametrize("control", [None, "A"])
def test_a_plan_that_ended_without_a_winner_ships_nothing(here, control):
    body = {
        "name": "ended",
        "arms": ["A", "B"],
        "policy": "round-robin",
        "looks": [1, "pocock"],
        "control": control,
    }
    assert here.post("/v1/experiments", body | {"visitors": True}).status_code == 201
    for arm in ("A", "B"):
        summary = {"arm": arm, "environment": 1, "n": 40, "mean": 0.0, "variance": 1.0}
        here.post("/v1/experiments/ended/tell-summary", summary)
    assert here.post("/v1/experiments/ended/looks", {}).json()["sure"] is False
    assert here.get("/v1/experiments/ended").json()["state"] == "done"
    context = {"context": {"targetingKey": "zoe", "environment": "monday"}}
    found = here.post(f"{FLAGS}/ended", context).json()
    assert (found["reason"], found.get("value")) == (
        ("DISABLED", None) if control is None else ("STATIC", "A")
    )


@pytest.mark.parametrize("looks", [0, 101, 2.5, [14, "all"], [14], "14", True])
def test_invalid_plans_are_refused(here, looks):
    body = {"name": "wrong", "arms": ["A", "B"], "policy": "round-robin", "looks": looks}
    assert here.post("/v1/experiments", body).status_code in (400, 422)


def test_a_plan_needs_traffic_that_does_not_follow_rewards(here):
    found = here.post("/v1/experiments", {"name": "wrong", "arms": ["A", "B"], "looks": 5})
    assert found.status_code == 400
    assert "needs traffic that does not follow rewards" in found.json()["detail"]
