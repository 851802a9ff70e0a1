"""What visitors get after a decision and without one: the shipped arm, the control arm or the default of the code."""

import re
from urllib.parse import urlencode

import pytest

from serve.service_clients import ADMIN, bearer

HTML = {"Accept": "text/html"}
FORM = HTML | {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
FLAGS = "/ofrep/v1/evaluate/flags"


def create(here, name="buttons", **options):
    body = {"name": name, "arms": ["old", "new"], "rewards": "conversions", "lease": 3600, "reserve": 600}
    found = here.post("/v1/experiments", body | options)
    assert found.status_code == 201, found.text


def evaluate(here, unit="ann", name="buttons"):
    found = here.post(f"{FLAGS}/{name}", {"context": {"targetingKey": unit, "environment": "monday"}})
    assert found.status_code == 200, found.text
    return found.json()


def visit(here, units, rewards):
    """Let units see their arms and report their rewards: 1 for as many of each arm as `rewards` says."""
    left = dict(rewards)
    for unit in units:
        arm = evaluate(here, unit)["variant"]
        here.post("/v1/experiments/buttons/exposures", {"exposures": [{"unit": unit}]})
        reward = int(left[arm] > 0)
        left[arm] -= 1
        outcome = {"outcomes": [{"unit": unit, "reward": reward}]}
        assert here.post("/v1/experiments/buttons/outcomes", outcome).status_code == 204


def stop(here, **body):
    found = here.post("/v1/experiments/buttons/stop", body)
    assert found.status_code == 200, found.text
    return found.json()


def default(name="buttons"):
    return {"key": name, "reason": "DISABLED", "variant": "", "metadata": {}}


def static(arm, name="buttons"):
    return {"key": name, "reason": "STATIC", "variant": arm, "value": arm, "metadata": {}}


@pytest.mark.parametrize("options", [{}, {"control": "old"}], ids=["no control", "control"])
def test_a_stop_without_a_choice_ships_nothing_although_an_arm_leads(here, options):
    create(here, rewards="counts", **options)
    units = [f"unit {i}" for i in range(40)]
    visit(here, units, {"old": 1, "new": 3})
    waiting = "one who waits"
    evaluate(here, waiting)
    assert here.get("/v1/experiments/buttons/recommendation").json()["arm"] == "new"
    said = stop(here, why="legal says no to new")
    assert (said["shipped"], said["stop"]["ship"], said["stop"]["why"]) == (
        None,
        None,
        "legal says no to new",
    )
    assert [evaluate(here, unit) for unit in ("zoe", waiting, *units)] == [default()] * 42
    found = here.post("/v1/experiments/buttons/evaluations", {"unit": "zoe", "environment": "monday"})
    assert found.status_code == 409
    assert "no arm is shipped" in found.json()["detail"]


def test_the_chosen_arm_is_for_every_visitor_at_once(here):
    create(here)
    units = [f"unit {i}" for i in range(10)]
    before = {evaluate(here, unit)["variant"] for unit in units}
    assert before == {"old", "new"}  # missing one of them is one in 500
    said = stop(here, ship="old", why="legal says no to new", by="ann")
    assert said["state"] == "stopped"
    assert said["shipped"] == "old"
    assert said["stop"]["by"].endswith(": ann")
    assert said["stop"]["at"] > said["created_at"]
    assert [evaluate(here, unit) for unit in ("zoe", *units)] == [static("old")] * 11
    assert stop(here, ship="new", why="legal agrees", by="bob")["shipped"] == "new"
    assert evaluate(here, "zoe") == static("new")
    assert stop(here)["shipped"] == "new"
    kinds = [each["kind"] for each in here.get("/v1/experiments/buttons/events?limit=1000").json()["events"]]
    assert kinds.count("Stopped") == 2


def test_an_unknown_arm_cannot_be_shipped(here):
    create(here)
    found = here.post("/v1/experiments/buttons/stop", {"ship": "red"})
    assert found.status_code == 404
    assert "'old', 'new'" in found.json()["detail"]
    assert here.get("/v1/experiments/buttons").json()["state"] == "running"


@pytest.mark.parametrize("control", [None, "old"])
def test_a_reserved_budget_is_no_decision(here, control):
    create(here, budget=4, **({} if control is None else {"control": control}))
    mine = [evaluate(here, str(i)) for i in range(4)]
    assert {each["reason"] for each in mine} == {"SPLIT"}
    assert here.get("/v1/experiments/buttons").json()["control"] == control
    expected = default() if control is None else static(control)
    assert evaluate(here, "one more") == expected
    assert [evaluate(here, str(i)) for i in range(4)] == mine


@pytest.mark.parametrize("control", [None, "old"])
def test_a_used_budget_is_no_decision(here, control):
    create(here, budget=20, rewards="counts", **({} if control is None else {"control": control}))
    units = [str(i) for i in range(20)]
    visit(here, units, {"old": 0, "new": 8})
    found = here.get("/v1/experiments/buttons").json()
    assert (found["state"], found["pending"], found["shipped"]) == ("done", 0, None)
    assert evaluate(here, "one more") == (default() if control is None else static(control))
    assert evaluate(here, "0")["reason"] == "SPLIT"  # who has an arm keeps it until a decision
    assert here.post(FLAGS, {"context": {"targetingKey": "one more"}}).json()["flags"][0]["reason"] != "SPLIT"


def test_what_the_stopping_rule_found_is_shipped(here):
    create(here, rewards="normal", confidence=0.9, policy="contrast")
    run = here.app.state.service.experiments.get("buttons")
    pulls = run.ask(environment="monday", n=40)
    run.tell_many(pulls, [{"old": 0.0, "new": 9.0}[pull.arm] + 0.1 * (i % 3) for i, pull in enumerate(pulls)])
    assert run.done
    assert evaluate(here, "zoe") == static("new")
    assert stop(here, why="enough")["shipped"] == "new"
    assert evaluate(here, "zoe") == static("new")


def test_a_client_in_python_learns_what_is_shipped(here):
    create(here)
    secret = here.post("/v1/keys", {"name": "shop", "role": "viewer"}).json()["secret"]
    assert here.get("/v1/experiments/buttons", headers=bearer(secret)).json()["shipped"] is None
    stop(here, ship="new")
    assert here.get("/v1/experiments/buttons", headers=bearer(secret)).json()["shipped"] == "new"


# -- the pages


def send(client, path, fields):
    found = client.request("POST", path, content=urlencode(fields), headers=FORM)
    assert found.status_code == 303, found.text
    return found


def test_a_decision_on_a_page_has_the_name_of_the_person_who_logged_in(here):
    create(here)
    browser = here.other("")
    try:
        send(browser, "/login", {"key": ADMIN, "person": "Zoë Müller"})
        page = browser.get("/experiments/buttons", headers=HTML).text
        assert "Zoë Müller, admin, admin" in page
        assert 'name="by"' not in page
        fields = {"change": "stop", "ship": "old", "why": "legal says no to new"}
        send(browser, "/experiments/buttons", fields)
        page = browser.get("/experiments/buttons", headers=HTML).text
        assert browser.get("/v1/session").json()["person"] == "Zoë Müller"
    finally:
        browser.close()
    stop = here.get("/v1/experiments/buttons").json()["stop"]
    assert stop["by"] == "environment admin: Zoë Müller"
    assert "Every visitor gets the variant old." in page
    assert "Stopped by environment admin: Zoë Müller" in page
    assert "Change the decision" in page


def test_a_session_without_a_name_is_asked_for_one_with_the_decision(here):
    create(here)
    page = here.get("/experiments/buttons", headers=HTML).text
    for control in (
        'name="ship"',
        'name="by"',
        'name="why" required',
        'type="checkbox" id="confirm-stop" required',
    ):
        assert control in page
    send(here, "/experiments/buttons", {"change": "stop", "ship": "", "why": "enough", "by": "ann"})
    found = here.get("/v1/experiments/buttons").json()
    assert (found["shipped"], found["stop"]["by"]) == (None, "environment admin: ann")
    assert "No variant is shipped" in here.get("/experiments/buttons", headers=HTML).text


def test_the_name_in_a_session_cannot_be_changed(here):
    browser, thief = here.other(""), here.other("")
    try:
        cookie = browser.post("/v1/session", {"key": ADMIN, "person": "ann"}).cookies["tideproof"]
        secret = cookie.partition(".")[0]
        for changed in (secret, f"{secret}.Ym9i", f"{cookie}Yg"):
            assert thief.get("/v1/session", headers={"Cookie": f"tideproof={changed}"}).status_code == 401
        assert thief.get("/v1/session", headers={"Cookie": f"tideproof={cookie}"}).json()["person"] == "ann"
    finally:
        thief.close()
        browser.close()


@pytest.mark.parametrize("tide", ["labels", "hidden", "auto"])
def test_the_report_says_what_the_page_says(here, tide):
    body = {"name": "shop", "arms": ["old", "new"], "tide": tide, "budget": 100}
    assert here.post("/v1/experiments", body).status_code == 201
    for rewards in ([], [1.0, 9.0, 1.1, 9.1, 1.2, 9.3, 1.4, 9.2, 1.5, 9.9, 1.3, 9.4]):
        run = here.app.state.service.experiments.get("shop")
        for reward in rewards:
            run.tell(run.ask(environment=None if tide == "hidden" else "monday"), reward)
        page = here.get("/experiments/shop", headers=HTML).text
        report = here.get("/experiments/shop/report", headers=HTML)
        assert report.status_code == 200
        assert report.headers["content-type"].startswith("text/html")
        on_page, in_report = (re.search(r"<h1.*?>(.*?)</h1>", text)[1] for text in (page, report.text))
        assert in_report.removesuffix(".") == on_page.partition("; budget")[0].removesuffix(".")
        assert "is best" not in in_report


def test_an_experiment_is_archived_restored_and_deleted_on_its_page(here):
    create(here)
    page = here.get("/experiments/buttons", headers=HTML).text
    assert 'value="archive"' not in page  # it runs
    stop(here)
    page = here.get("/experiments/buttons", headers=HTML).text
    assert 'id="confirm-archive" required' in page
    send(here, "/experiments/buttons", {"change": "archive", "why": "the season is over"})
    page = here.get("/experiments/buttons", headers=HTML).text
    assert ">archived</span>" in page
    send(here, "/experiments/buttons", {"change": "restore"})
    assert here.get("/v1/experiments/buttons").json()["archived_at"] is None
    for typed in ("", "button"):
        body = urlencode({"typed": typed})
        refused = here.request("POST", "/experiments/buttons/delete", content=body, headers=FORM)
        assert refused.status_code == 400
        assert "nothing was deleted" in refused.text.lower()
    found = send(here, "/experiments/buttons/delete", {"typed": "buttons"})
    assert found.headers["location"] == "/"
    assert here.get("/v1/experiments/buttons").status_code == 404


def test_only_admins_delete(here):
    create(here)
    secret = here.post("/v1/keys", {"name": "ann", "role": "editor"}).json()["secret"]
    editor = here.other(secret)
    try:
        assert "/delete" not in editor.get("/experiments/buttons", headers=HTML).text
        body = urlencode({"typed": "buttons"})
        found = editor.request("POST", "/experiments/buttons/delete", content=body, headers=FORM)
        assert found.status_code == 403
    finally:
        editor.close()


def test_one_field_makes_an_experiment_for_visitors(here):
    body = {"name": "api", "arms": ["old", "new"], "rewards": "conversions", "visitors": True}
    assert here.post("/v1/experiments", body).status_code == 201
    fields = {
        "name": "form",
        "arms": "old\nnew",
        "rewards": "conversions",
        "visitors": "yes",
        "control": "old",
    }
    assert 'name="visitors"' in here.get("/new", headers=HTML).text
    send(here, "/new", fields | {"do": "begin"})
    for name in ("api", "form"):
        found = here.get(f"/v1/experiments/{name}").json()
        assert (found["lease"], found["reserve"], found["default"]) == (86_400.0, 600.0, 0.0)
        assert found["control"] == (None if name == "api" else "old")
        assert evaluate(here, "ann", name)["reason"] == "SPLIT"
    for wrong in ("yes", 1, None):
        assert here.post("/v1/experiments", body | {"name": "x", "visitors": wrong}).status_code == 400
