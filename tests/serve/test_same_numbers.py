"""One experiment has the same numbers everywhere: in Python, over HTTP, on pages, in commands and webhooks."""

import json
import random
import re

import pytest

from tideproof.report.store_listing import experiment_details, list_row
from tideproof.serve.webhooks.webhook_sender import pending_notices
from tideproof.store.read_only_view import find_listing, find_log, read_only_copy
from tideproof.store.store_urls import open_backend
from tideproof.text import format_probability

KINDS = {
    "labels": {},
    "hidden tide": {"tide": "hidden"},
    "conversions": {"rewards": "conversions"},
    "confidence": {"confidence": 0.9999},
    "a winner": {"confidence": 0.8},
    "low is good": {"direction": "minimize"},
    "an arm without pulls": {"retired": True},
    "nothing": {"steps": 0},
    "not comparable": {"steps": 1},
}


@pytest.fixture
def played(here, tmp_path):
    """Return a function that plays an experiment in the service, and a function that opens its store."""

    def play(steps=60, retired=False, **options):
        body = {"name": "shop", "arms": ["A", "B", "C"], "budget": 400, "seed": 1, **options}
        here.post("/v1/experiments", body)
        run, noise = here.app.state.service.experiments.get("shop"), random.Random(2)
        for step in range(steps):
            if run.done:
                break
            pull = run.ask(**({} if "tide" in options else {"environment": step // 6}))
            reward = (pull.arm == "B") + noise.gauss(0.0, 0.5) + step // 6 % 3
            run.tell(pull, float(noise.random() < 0.5) if "rewards" in options else reward)
        if retired:
            run.retire_arm("C")
        run.extend(max(3, len(run.history())))  # if there were three pulls, the budget is used
        return run

    return play, lambda: open_backend(f"sqlite:///{tmp_path}/shop.db", read_only=True)


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_shows_the_same_numbers(here, played, kind):
    play, store = played
    run = play(**KINDS[kind])
    found = run.recommend()
    values = json.loads(json.dumps(found.to_dict()))
    status = run.internals.status()

    told = here.get("/v1/experiments/shop/recommendation").json()
    assert {name: told[name] for name in values} == values
    assert told["sentence"] == str(found)
    assert here.get("/v1/experiments/shop").json()["state"] == status.state

    backend = store()
    try:
        row = list_row(backend, find_listing(backend, "shop"))
        shown = experiment_details(read_only_copy(find_log(backend, "shop")), "shop", 0)
    finally:
        backend.close()
    assert json.loads(json.dumps(shown["recommendation"])) == values
    assert (shown["sentence"], shown["standing"]) == (str(found), status.state)
    assert (
        (row["recorded"], row["pending"])
        == (status.recorded, status.pending)
        == (shown["recorded"], len(shown["pending"]))
    )

    notices = {each.kind: each.about for each in pending_notices(run.internals.read())}
    if status.remaining == 0:
        assert notices["experiment.budget_used"]["arm"] == found.arm
        assert notices["experiment.budget_used"]["sentence"] == str(run.internals.read().recommendation)
    assert ("experiment.winner" in notices) == found.sure

    said = here.app.state.service.views.get(run, "shop")
    [listed] = re.findall(r'row-verdict">([^<]*)<', here.get("/", headers=HTML).text)
    if found.arm is None:
        assert said["sentence"].lower().startswith(listed.lower())
        assert row["verdict"].startswith(listed)
        assert str(found).startswith(listed)
        assert (said["chance"], said["arm"]) == ("", None)
        return
    chance = "" if found.p_best is None else format_probability(found.p_best)
    assert said["chance"] == chance
    words = {column.header: column.cells for column in said["columns"]}
    if (
        chance and kind != "an arm without pulls"
    ):  # there the page compares active arms, and the table all arms
        assert words["probability of being best"][words["variant"].index(found.arm)] == chance
    assert said["sentence"].startswith(f"{found.arm} ")
    assert listed.replace("&gt;", ">").startswith(f"{found.arm} ")
    assert row["verdict"].startswith(f"{found.arm} (" if chance or found.sure else found.arm)
    if found.sure:
        confidence = f"{100 * found.confidence:g} %"
        assert confidence in said["sentence"]
        assert confidence in listed
        assert confidence in row["verdict"]
    else:
        assert chance in listed.replace("&gt;", ">")
        assert chance in row["verdict"]
        margin = re.match(
            rf"{found.arm} leads: ([-+0-9.]+).* (over|below) {found.runner_up}", said["sentence"]
        )[1]
        unit = 100.0 if "rewards" in KINDS[kind] else 1.0
        assert abs(float(margin)) == pytest.approx(unit * abs(found.margin), rel=0.1)


HTML = {"Accept": "text/html,*/*"}


def test_a_report_of_the_service_needs_labels(here, played):
    played[0](tide="hidden")
    answer = here.get("/experiments/shop/report", headers=HTML)
    assert answer.status_code == 400
    assert "A report needs environment labels" in answer.text
