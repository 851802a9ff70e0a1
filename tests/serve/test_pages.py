"""Every page, as every role sees it, without a script; forms; hostile names; files of strangers."""

import html
import html.parser
import random
import re
from dataclasses import replace

import pytest

import tideproof as tp
from serve.service_clients import ADMIN, Here, app_of, bearer
from tideproof.experiment.recommendation_text import headline
from tideproof.serve.app import PAGES
from tideproof.serve.auth.access_control import routes_and_rights
from tideproof.serve.auth.roles import ROLES, Right
from tideproof.serve.pages.experiment_view import Progress
from tideproof.serve.pages.option_labels import NEW_LABELS

HTML = {"Accept": "text/html,*/*"}
NASTY = "<script>alert(1)</script>\"'&"
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", **HTML}
LOG = "variant,day,sales\n" + "".join(
    f"{arm},day {day},{day + bonus + 0.1 * (i % 5)}\n"
    for day in range(6)
    for arm, bonus in (("A", 0.0), ("B", 1.0))
    for i in range(day + 2 if arm == "B" else 8 - day)
)


class Reader(html.parser.HTMLParser):
    """Knows the elements of a page, and that each is closed in turn."""

    VOID = frozenset({"meta", "link", "input", "br"})

    def __init__(self, text):
        super().__init__()
        self.open, self.found = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def check_page(text):
    """A page that anybody can read: landmarks, one heading, labels, nothing inline that the CSP forbids."""
    page = Reader(text)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == len(page.all("h1")) == text[: text.index("</head>")].count("<title>") == 1
    labelled = {each["for"] for each in page.all("label")}
    for tag in ("input", "select", "textarea", "progress"):
        for field in page.all(tag):
            assert field.get("type") == "hidden" or "hidden" in field or field["id"] in labelled, field
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for name, attributes in page.found:
        assert not [each for each in attributes if each == "style" or each.startswith("on")], attributes
        assert name != "style"
        assert name != "script" or attributes["src"] == "/static/pages.js"
    for each in page.all("svg"):
        assert each.get("aria-label") or each.get("aria-hidden")
    for each in page.all("th"):
        assert each["scope"] in ("row", "col")
    return page


def played(here, name, arms=("A", "B"), days=4, **options):
    """Begin an experiment and play it; the best arm is the last."""
    made = here.post("/v1/experiments", {"name": name, "arms": list(arms), "budget": 400} | options)
    assert made.status_code == 201, made.text
    run, noise = here.app.state.service.experiments.get(name), random.Random(0)
    for day in range(days):
        if run.done:
            break
        pulls = run.ask(n=10, environment=f"day {day}")
        rewards = [3.0 * day + list(arms).index(pull.arm) + noise.gauss(0.0, 1.0) for pull in pulls]
        run.tell_many(pulls, rewards)
    return run


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    """A service with a key of every role, an experiment with a hostile name, one with nothing in it."""
    here = Here(app_of(tmp_path_factory.mktemp("pages"), failures_per_minute=1e9))
    nasty = NASTY.replace("/", "|")
    played(here, nasty, [NASTY, "B <b>bold</b>"]).note(NASTY)
    played(here, "shop", ["A", "B", "C"], confidence=0.95)
    here.post("/v1/experiments", {"name": "empty", "arms": ["A", "B"]})
    for role in ROLES:
        made = here.post("/v1/keys", {"name": f"{NASTY} {role}", "role": role})
        here.keys[role] = made.json()["secret"]
    here.keys["only"] = here.post(
        "/v1/keys", {"name": "only", "role": "admin", "experiments": ["shop"]}
    ).json()["secret"]
    yield here
    here.close()


def look(here, path, secret=ADMIN, **how):
    return here.get(path, headers=HTML | (bearer(secret) if secret else {"Authorization": ""}), **how)


def send(here, path, fields, secret=ADMIN, **headers):
    from urllib.parse import urlencode

    head = FORM | (bearer(secret) if secret else {"Authorization": ""}) | headers
    return here.request("POST", path, content=urlencode(fields), headers=head)


PATHS = ["/", "/experiments/shop", "/experiments/empty", "/new", "/analyze", "/keys", "/login", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
def test_every_page_can_be_read(team, path):
    answer = look(team, path)
    assert answer.status_code == (404 if path == "/nothing" else 200), answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    check_page(answer.text)


def routes():
    return [each for router in PAGES for each in routes_and_rights(router)]


def test_what_is_open_is_what_was_meant():
    found = {(method, path) for method, path, right in routes() if right is Right.OPEN}
    assert found == {("GET", "/login"), ("POST", "/login"), ("GET", "/static/{file}")}
    assert None not in {right for *_, right in routes()}


@pytest.mark.parametrize("route", routes(), ids=lambda route: f"{route[0]} {route[1]}")
def test_nobody_gets_in_where_they_do_not_belong(team, route):
    method, path, right = route
    path = path.replace("{name}", "shop").replace("{id}", "k0").replace("{file}", "pages.js")
    for role, rights in ROLES.items():
        head = HTML | bearer(team.keys[role])
        status = team.request(method, path, headers=head).status_code
        if path != "/login":
            assert (status != 403) == (right is Right.OPEN or right in rights), (role, status)
    answer = team.request(method, path, headers=HTML | bearer("tp_wrong"))
    if right is Right.OPEN:
        assert answer.status_code in (200, 400, 401)
    else:
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=")


def test_a_restricted_key_sees_its_experiments_only(team):
    said = look(team, "/", team.keys["only"]).text
    assert "shop" in said
    assert "empty" not in said
    assert look(team, "/experiments/empty", team.keys["only"]).status_code == 403
    assert send(team, "/experiments/empty", {"change": "pause"}, team.keys["only"]).status_code == 403


def test_the_menu_has_what_one_may_do(team):
    for role, links in (("viewer", set()), ("editor", {"/new"}), ("admin", {"/new", "/keys"})):
        found = {each["href"] for each in check_page(look(team, "/", team.keys[role]).text).all("a")}
        assert found & {"/new", "/keys"} == links


def test_hostile_names_are_names(team):
    from urllib.parse import quote

    nasty = NASTY.replace("/", "|")
    for path in ("/", f"/experiments/{quote(nasty, safe='')}", "/keys", "/experiments/%3Cscript%3E"):
        answer = look(team, path)
        page = check_page(answer.text)
        assert len(page.all("script")) == 1
        assert "<script>alert" not in answer.text
        assert page.all("b") == []
    said = look(team, f"/experiments/{quote(nasty, safe='')}").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in said


def test_an_experiment_says_what_matters(team):
    said = look(team, "/experiments/shop").text
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", said))
    assert re.search(r"C (leads|is best)", text)
    for part in ("stopping rule", "budget", "best raw mean", "The tide", "Shares", "The lead over time", "History",
                 "recorded 10 rewards", "Notes", "Settings", "Pending pulls", "contrast"):  # fmt: skip
        assert part in text
    page = check_page(said)
    assert len(page.all("svg")) >= 5
    assert page.all("article")[0]["data-follow"].startswith("/v1/experiments/shop/stream?after=")
    assert "Told" in page.all("article")[0]["data-kinds"].split()


def test_a_look_at_a_page_is_no_look_at_the_data(team):
    run = team.app.state.service.experiments.get("shop")
    looks = run.internals.read().looks
    for _ in range(8):
        look(team, "/experiments/shop")
        look(team, "/")
    assert run.internals.read().looks == looks


def test_all_numbers_of_a_page_are_of_one_moment(here):
    """While a client plays, what is told is what the arms have, and the sentence what `recommend` says."""
    import threading

    run, stop = played(here, "shop", budget=100_000), threading.Event()

    def play():
        while not stop.is_set():
            pulls = run.ask(n=2, environment="today")
            run.tell_many(pulls, [1.0 + (pull.arm == "B") for pull in pulls])

    client = threading.Thread(target=play)
    client.start()
    try:
        for _ in range(5):
            said = here.app.state.service.views.get(run, "shop")
            rewards = next(column for column in said["columns"] if column.header == "rewards").cells
            assert sum(int(each.replace(",", "")) for each in rewards) == said["info"]["recorded"]
    finally:
        stop.set()
        client.join()
    said, found = here.app.state.service.views.get(run, "shop"), run.recommend()
    leads = re.match(rf"{found.arm} leads: (\S+) over {found.runner_up} \(", said["sentence"])
    assert float(leads[1]) == pytest.approx(found.margin, rel=0.1)  # two digits


def test_a_lead_is_not_rounded_away_by_a_wide_interval():
    found = tp.Recommendation("B", "A", 0.412, -4.0, 9.0, 40, (("A", "B"),), adaptive=True, anytime=True)
    progress = Progress("stopping rule", 0.337, "").text()
    interval = "95 % confidence interval, valid at every inspection: -4 to +9"
    assert headline(found, progress=progress) == f"B leads: +0.41 over A ({interval}); {progress}"
    sharper = replace(found, sure=True, confidence=0.95)
    assert (
        headline(sharper, progress=progress)
        == "B is best on average over these environments (95 % confidence): +0.41 over A"
    )
    open_ended = replace(found, low=None, high=None)
    assert headline(open_ended) == "B leads: +0.412 over A"


def test_the_headline_of_the_arm_with_the_lowest_rewards_says_below(here):
    run = played(here, "costs", direction="minimize", confidence=0.9, days=40)
    assert run.recommend().sure
    page = look(here, "/experiments/costs").text
    assert re.search(
        r"<h1[^>]*>A is best on average over these environments \(90 % confidence\): [0-9.]+ below B", page
    )


def test_a_new_arm_leaves_the_headline_of_the_others(here):
    made = {"name": "shop", "arms": ["A", "B"], "confidence": 0.9999, "seed": 1}
    here.post("/v1/experiments", made)
    run, noise = here.app.state.service.experiments.get("shop"), random.Random(0)
    known, mean = 0.0, {"A": 0.0, "B": 1.0, "C": -3.0}
    for step in range(120):
        if step == 80:
            known = run.recommend().high - run.recommend().low
            run.add_arm("C")
        pull = run.ask(environment=step // 8)
        run.tell(pull, mean[pull.arm] + step // 8 % 3 + noise.gauss(0.0, 1.0))
    found = run.recommend()
    assert (found.arm, found.runner_up) == ("B", "A")
    assert found.high - found.low < 1.3 * known
    page = here.get("/experiments/shop", headers=HTML).text
    assert f"B leads: {found.margin:+.2f} over A (" in page


def test_on_a_phone_who_can_be_best_comes_before_the_interval(here):
    said = here.app.state.service.views.get(played(here, "shop"), "shop")
    heads = [column.header for column in said["columns"]]
    assert heads[:4] == ["variant", "adjusted mean", "can be best", "95 % confidence interval of the mean"]
    assert len(set(heads)) == len(heads) > 6


def test_what_happens_is_on_the_page_at_once(here):
    run = played(here, "shop", rewards="normal")
    assert "B leads" in look(here, "/experiments/shop").text
    run.note("a sale began")
    assert "a sale began" in look(here, "/experiments/shop").text


def test_an_experiment_without_labels_has_a_page(here):
    here.post("/v1/experiments", {"name": "hidden", "arms": ["A", "B"], "budget": 90})
    run, noise = here.app.state.service.experiments.get("hidden"), random.Random(0)
    for step in range(60):
        pull = run.ask()
        run.tell(pull, 5.0 * (step > 30) + 3.0 * (pull.arm == "B") + noise.gauss(0.0, 1.0))
    page = here.get("/experiments/hidden", headers=HTML)
    assert page.status_code == 200
    lead = r"B leads: \+[0-9.]+ over A \(95 % confidence interval: \+[0-9.]+ to \+[0-9.]+\)"
    assert re.search(lead, page.text)
    assert "The estimated tide" in page.text
    assert [row["class"] for row in check_page(page.text).all("polyline")] == ["tide"]


def test_an_experiment_whose_rewards_cannot_show_its_tide_has_a_page(here):
    here.post("/v1/experiments", {"name": "hidden", "arms": ["A", "B"], "budget": 90})
    run, noise = here.app.state.service.experiments.get("hidden"), random.Random(0)
    for _ in range(60):
        run.tell(run.ask(), float(noise.random() < 0.2))
    page = look(here, "/experiments/hidden").text
    assert "No variant can be selected" in page
    assert "A hidden tide cannot be estimated from single rewards" in page
    assert "leads" not in page
    assert "no variant can be selected" in look(here, "/").text


def test_an_experiment_is_changed(here):
    played(here, "shop")
    path = "/experiments/shop"
    for fields, said in (
        ({"change": "note", "text": "<i>hm</i>"}, "&lt;i&gt;hm&lt;/i&gt;"),
        ({"change": "pause", "why": "closed"}, "paused: closed"),
        ({"change": "resume", "why": ""}, "resumed"),
        ({"change": "budget", "budget": "1,500"}, "the budget is now 1,500"),
        ({"change": "stop", "why": "enough"}, "stopped: enough"),
    ):
        answer = send(here, path, fields)
        assert (answer.status_code, answer.headers.get("location")) == (303, path), answer.text
        assert said in look(here, path).text
    wrong = send(here, path, {"change": "budget", "budget": "many"})
    assert wrong.status_code == 400
    assert "must be a whole number, not &#39;many&#39;" in wrong.text
    assert send(here, path, {"change": "explode"}).status_code == 400


def test_an_experiment_is_begun(here):
    fields = {
        "name": "Ünï code",
        "arms": "A\r\nB\r\n\r\n",
        "rewards": "conversions",
        "budget": "500",
        "do": "begin",
    }
    answer = send(here, "/new", fields | {"lease": "60", "confidence": "0.9"})
    assert answer.status_code == 303, answer.text
    found = here.get("/v1/experiments/" + answer.headers["location"].rpartition("/")[2]).json()
    assert (found["name"], found["arms"], found["budget"], found["lease"], found["confidence"]) == (
        "Ünï code", ["A", "B"], 500, 60.0, 0.9)  # fmt: skip
    again = send(here, "/new", fields)
    assert again.status_code == 409
    assert "already" in again.text
    assert 'value="Ünï code"' in again.text  # nothing has to be typed twice
    for bad in ({"name": "a/b"}, {"arms": "A"}, {"budget": "x"}, {"rewards": "love"}, {"name": ""}):
        answer = send(here, "/new", fields | bad)
        assert answer.status_code == 400
        assert 'class="wrong"' in answer.text
        check_page(answer.text)


def test_an_experiment_chooses_among_the_environments_of_the_form(here):
    fields = {"name": "items", "arms": "A\nB", "environments": "q1\r\nq2\n\nq3", "confidence": "0.95"}
    assert send(here, "/new", fields | {"do": "begin"}).status_code == 303
    pulls = here.post("/v1/experiments/items/ask", {"n": 6}).json()["pulls"]
    assert {(pull["arm"], pull["environment"]) for pull in pulls} == {
        (arm, label) for arm in "AB" for label in ("q1", "q2", "q3")
    }
    for bad, said in (
        ({"environments": "q1\nq1"}, "“Environments to choose from” must"),
        ({"visitors": "yes"}, "Environments to choose from"),
    ):
        refused = send(here, "/new", fields | {"name": "more", "do": "begin"} | bad)
        assert refused.status_code == 400
        assert said in html.unescape(refused.text)
        assert ">q1" in refused.text  # nothing has to be typed twice
        check_page(refused.text)


def test_what_an_experiment_allows_for_is_chosen_and_shown(here):
    fields = {"name": "rough days", "arms": "A\nB", "budget": "80", "policy": "auto:contrast", "do": "begin"}
    refused = send(here, "/new", fields | {"confidence": "0.95"})
    assert refused.status_code == 400
    assert "“Confidence level to stop early” is not possible with the model “interactions" in html.unescape(
        refused.text
    )
    assert '<option value="auto:contrast" selected>' in refused.text
    assert send(here, "/new", fields).status_code == 303
    played(here, "played", policy="auto:contrast", days=6)
    pages = [look(here, f"/experiments/{name}").text for name in ("rough days", "played")]
    for page in pages:
        assert "<dt>model allows for</dt><dd>possible interactions of variants and environments</dd>" in page
        check_page(page)
    _, _, answers = pages[1].partition('id="answers"')
    assert "depend on the environment" in answers


def test_an_experiment_is_planned(here, monkeypatch):
    from tideproof.serve.api import form_routes

    monkeypatch.setattr(form_routes, "RUNS", 100)
    fields = {
        "arms": "A\nB",
        "gap": "1",
        "per_environment": "20",
        "error": "0.1",
        "do": "plan",
        "rewards": "normal",
    }
    answer = send(here, "/new", fields)
    assert answer.status_code == 200, answer.text
    assert "contrast selects a wrong variant in at most" in answer.text
    check_page(answer.text)
    refused = send(here, "/new", fields | {"gap": "0"})
    assert refused.status_code == 400
    assert f"“{NEW_LABELS['gap']}” must be above 0" in refused.text
    assert [label for label in NEW_LABELS.values() if f">{label}</label>" not in refused.text] == []
    assert "The field “Budget” now contains this number of pulls." in answer.text
    assert "now contains" not in send(here, "/new", fields | {"budget": "70"}).text


def test_people_log_in_and_out(begin):
    here = begin(failures_per_minute=1e9)
    viewer = here.post("/v1/keys", {"name": "ann", "role": "viewer"}).json()["secret"]
    evaluator = here.post("/v1/keys", {"name": "app", "role": "evaluator"}).json()["secret"]
    nobody = here.other("")
    try:
        assert nobody.get("/keys", headers=HTML).headers["location"] == "/login?next=%2Fkeys"
        for secret, status in (("", 401), ("tp_no", 401), (evaluator, 403)):
            answer = nobody.request("POST", "/login", content=f"key={secret}", headers=FORM)
            assert answer.status_code == status
            assert "set-cookie" not in answer.headers
            check_page(answer.text)
        other = nobody.request(
            "POST", "/login", content=f"key={viewer}", headers=FORM | {"Sec-Fetch-Site": "cross-site"}
        )
        assert other.status_code == 403
        for back, where in (
            ("/experiments/a", "/experiments/a"),
            ("//evil.example", "/"),
            ("https://e.example", "/"),
        ):
            answer = nobody.request("POST", "/login", content=f"key={viewer}&next={back}", headers=FORM)
            assert (answer.status_code, answer.headers["location"]) == (303, where)
            assert "HttpOnly" in answer.headers["set-cookie"]
        assert "ann, viewer" in nobody.get("/", headers=HTML).text
        assert nobody.get("/keys", headers=HTML).status_code == 403
        foreign = FORM | {"Sec-Fetch-Site": "cross-site"}
        assert nobody.request("POST", "/logout", headers=foreign).status_code == 403
        assert nobody.request("POST", "/logout", headers=FORM).headers["location"] == "/login"
        assert nobody.get("/", headers=HTML).status_code == 303
    finally:
        nobody.close()


def test_keys_are_made_and_taken_back(here):
    made = send(here, "/keys", {"name": "shop", "role": "viewer", "experiments": "a\r\nb"})
    (secret,) = re.findall(r"tp_[\w-]{43}", made.text)
    check_page(made.text)
    key = here.get("/v1/session", headers=bearer(secret)).json()
    assert (key["name"], key["role"], key["experiments"]) == ("shop", "viewer", ["a", "b"])
    assert secret not in look(here, "/keys").text
    assert send(here, f"/keys/{key['id']}", {}).status_code == 303
    assert here.get("/v1/session", headers=bearer(secret)).status_code == 401
    assert send(here, "/keys", {"name": "", "role": "viewer"}).status_code == 400
    assert send(here, "/keys", {"name": "x", "role": "king"}).status_code == 400


def drop(here, text, name="log.csv", **fields):
    head = {key: value for key, value in FORM.items() if key != "Content-Type"} | bearer(ADMIN)
    return here.request("POST", "/analyze", files={"file": (name, text)}, data=fields, headers=head)


def test_a_file_is_analysed(here):
    answer = drop(here, LOG)
    assert answer.status_code == 200, answer.text
    page = check_page(answer.text)
    assert "B" in answer.text[answer.text.index("<h1") :][:60]
    assert "arm = variant, environment = day, reward = sales" in answer.text
    assert len(page.all("svg")) >= 4
    low = drop(here, LOG, minimize="yes", arm="variant").text
    assert re.search(r"<h1[^>]*>A ", low)
    kept = drop(here, LOG, do="file")
    assert kept.headers["content-disposition"] == "attachment; filename*=UTF-8''log.csv.html"
    assert "<style>" in kept.text  # needs nothing else


def test_a_file_of_counted_rows_is_analysed(here):
    counted = "variant,day,orders,visits\n" + "".join(
        f"{arm},day {day},{rate * (day + 1)},{1000}\n"
        for day in range(6)
        for arm, rate in (("A", 20), ("B", 30))
    )
    page = drop(here, counted, successes="orders", n="visits", scale="ratio")
    assert page.status_code == 200, page.text
    assert "successes = orders, n = visits" in page.text
    assert re.search(r"<h1[^>]*>B is best", page.text)
    assert '<option value="ratio" selected>ratios (relative lifts)</option>' in page.text
    wrong = drop(here, counted, successes="orders", n="visits", variance="loud")
    assert wrong.status_code == 400
    assert "&#39;loud&#39;" in wrong.text


def test_a_file_that_cannot_be_read_says_why(here):
    for text, name, said in (
        ("", "a.csv", "empty"),
        ("x\n1\n", "a.csv", "which column"),
        (LOG, "a.exe", "must be CSV"),
        (LOG, "", "choose a file"),
        (LOG, "a.db", "must be CSV"),
        ("\x00\x01\x02", "a.parquet", "a.parquet"),
        (LOG.replace("sales", "<b>"), "a.csv", ""),
    ):
        answer = drop(here, text, name)
        assert answer.status_code in (200, 400), answer.text
        assert "tideproof-" not in answer.text  # where it lay
        check_page(answer.text)
        assert said in answer.text or "choose" in said


def test_a_message_names_options_by_the_labels_of_the_form(here):
    """The page names no option of the command line that its form has."""
    nothing = html.unescape(drop(here, "x\n1\n").text)
    assert "use “Column of the variants”" in nothing
    missing = html.unescape(drop(here, LOG + "A,day 1,\n").text)
    assert "“Skip rows with a missing value” skips these rows" in missing
    odd = [
        (2.0 * day if arm == "A" else 1.0 * (day % 2) * 30.0, arm, day) for day in range(8) for arm in "AB"
    ]
    shifts = "arm,day,reward\n" + "".join(
        f"{arm},d{day},{mean + 0.1 * (i % 5)}\n" for mean, arm, day in odd for i in range(20)
    )
    warned = html.unescape(drop(here, shifts).text)
    assert "“Variance model”: interactions of variants and days" in warned
    for page in (nothing, missing, warned):
        assert not re.search(r"(?<!analyze )--[a-z]", page)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"lease": "x"}, "“Time limit for a reward” must be a number, not 'x'"),
        ({"lease": "-5"}, "“Time limit for a reward” must be a number of seconds above 0"),
        ({"confidence": "2"}, "“Confidence level to stop early” must be above 0.5 and below 1"),
        ({"budget": "many"}, "“Budget” must be a whole number, not 'many'"),
        ({"arms": "arm 1\narm 1"}, "“Variants” must have different names; more than once: arm 1"),
        ({"arms": "A\n" + 201 * "n"}, "Entry 2 of “Variants” must have at most 200 characters"),
        ({"do": "plan", "gap": "x"}, "“Smallest lead worth finding” must be a number, not 'x'"),
    ],
)
def test_an_error_of_a_form_has_the_label_of_the_field(here, fields, said):
    given = {"name": "x", "arms": "A\nB", "rewards": "normal", "do": "begin"}
    answer = send(here, "/new", given | fields)
    assert (answer.status_code, said in html.unescape(answer.text)) == (400, True)


def test_pages_call_an_arm_a_variant(here):
    """Also in the texts that reports share; names of arms and notes stay as they are."""
    run = played(here, "shop", ["arm 1", "left arm"])
    run.note("an arm is a note")
    run.add_arm("arm 3")
    pages = [look(here, path).text for path in ("/", "/new", "/analyze", "/keys", "/experiments/shop")]
    pages.append(drop(here, LOG).text)
    for page in pages:
        text = html.unescape(re.sub(r"<(svg|script|title).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL))
        for kept in ("arm 1", "left arm", "arm 3", "an arm is a note", "(also called arm)",
                     "call a variant an arm", "arm = variant"):  # fmt: skip
            text = text.replace(kept, "")
        assert not re.findall(r".{30}\b[Aa]rms?\b.{10}", text)
    assert "variant arm 3 was added" in pages[4]
    assert "(arm 1, left arm) and (arm 3) have no environment in common" in pages[4]
    assert "an arm is a note" in pages[4]


def test_the_labels_cover_all_choices():
    from typing import get_args

    from tideproof.analysis.scale_choice import ScaleChoice
    from tideproof.serve.pages.option_labels import LABELS, SCALES, VARIANCES
    from tideproof.serve.pages.upload_process import UploadForm
    from tideproof.stats.variance.variance_models import Variance

    assert list(SCALES) == list(get_args(ScaleChoice))
    elsewhere = ("by-unit", "paired")  # need a column of units; evaluation logs, which are not uploaded
    assert list(VARIANCES) == [name for name in get_args(Variance) if name not in elsewhere]
    assert set(LABELS) == set(UploadForm._fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("use --environment, or --no-environment", "use “Column of the days”, or tideproof analyze --no-environment"),
        ("use --successes a --n b", "use “For aggregated rows: column of successes”: a and “For aggregated rows: "
         "column of trials”: b"),
        ("the ones (successes, --successes)", "the ones (“For aggregated rows: column of successes”)"),
        ("use environment='hour(ts)' (--environment 'hour(ts)').", "use “Column of the days”: hour(ts)."),
        ("use variance='auto' with scale='auto' (--variance auto --scale auto)",
         "use “Variance model”: automatic and “Scale on which variants are compared”: automatic"),
        ("winsorize=0.999 (--winsorize 99.9%) limits", "tideproof analyze --winsorize 99.9% limits"),
        ("a - b -- c (d=1) e", "a - b -- c (d=1) e"),
    ],
)  # fmt: skip
def test_options_have_the_labels_of_the_form(text, said):
    from tideproof.serve.pages.option_labels import name_by_labels

    assert name_by_labels(text) == said


def test_an_error_is_a_sentence_with_a_capital_letter_and_a_full_stop(here):
    """Also an error of a form, whose field is named, and not the kind of change."""
    missing = look(here, "/nothing").text
    assert "The path /nothing does not exist." in missing
    played(here, "shop")
    note = send(here, "/experiments/shop", {"change": "note", "text": ""})
    assert (note.status_code, "“Note” is missing." in html.unescape(note.text)) == (400, True)
    name = html.unescape(send(here, "/new", {"name": "a/b", "arms": "A"}).text)
    assert (
        "“Name” must not contain slashes or control characters, not 'a/b'; “Variants” must have at least 2 "
        "entries, not 1." in name
    )


def test_a_page_counts_the_pulls_that_are_used(here):
    run = played(here, "shop")
    run.cancel(run.ask(environment="day 9"))
    for path in ("/", "/experiments/shop"):
        assert "40 of 400 pulls used (1 cancelled or expired)" in look(here, path).text


def test_a_page_shows_the_share_of_the_budget_that_is_used(here):
    run = played(here, "shop")
    for budget, share, said in ((400, 0.1, "10 %"), (60, 2 / 3, "66 %"), (40, 1.0, "100 %")):
        run.extend(budget)
        (progress,) = here.app.state.service.views.get(run, "shop")["progress"]
        assert (progress.name, progress.share) == ("budget", pytest.approx(share))
        assert f">{said}</progress>" in look(here, "/experiments/shop").text
    run.extend(None)
    assert here.app.state.service.views.get(run, "shop")["progress"] == []


def test_a_file_may_be_so_large_only(begin):
    here = begin(upload_bytes=1000)
    assert drop(here, LOG[:900]).status_code in (200, 400)
    assert drop(here, LOG * 3).status_code == 413
    much = drop(here, LOG * 2000)
    assert much.status_code == 413
    assert "must have at most" in much.text
    check_page(much.text)


def test_a_guarded_reader_opens_nothing_else(tmp_path):
    from tideproof.data.sources.duckdb_files import FileGuard, open_connection

    mine, other = tmp_path / "mine.csv", tmp_path / "other.csv"
    for each in (mine, other):
        each.write_text("a,b\n1,2\n")
    with open_connection(guard=FileGuard(str(mine))) as run:
        assert run(f"SELECT * FROM '{mine}'") == [(1, 2)]
        for query in (
            f"SELECT * FROM '{other}'",
            f"COPY (SELECT 1) TO '{tmp_path}/made.csv'",
            f"ATTACH '{tmp_path}/a.db'",
            "INSTALL httpfs",
            "SET enable_external_access = true",
            "SET memory_limit = '100GB'",
            f"SELECT * FROM glob('{tmp_path}/*')",
        ):
            with pytest.raises(Exception, match=r"(?i)disabled|locked|not allowed|cannot"):
                run(query)
    assert not (tmp_path / "made.csv").exists()


def test_the_demo_falls_for_the_tide_and_tideproof_does_not(tmp_path):
    """A seed of its own, on which nothing depends but the story that is told."""
    from tideproof.serve import demo_shop

    here = Here(app_of(tmp_path), "")
    try:
        demo_shop.prepare(here.app)
        chance, service = random.Random(3), here.app.state.service
        said = []
        for day in range(demo_shop.JOIN_DAY + 6):
            demo_shop.play(service, day, chance)
            if day >= demo_shop.DAYS_BEFORE:
                said.append(service.views.get(service.experiments.get(demo_shop.NAME), demo_shop.NAME))
        assert all("also has" in each["raw"] for each in said[: demo_shop.JOIN_DAY - demo_shop.DAYS_BEFORE])
        for each in said[-4:]:
            assert each["arm"] == "Bold"
            assert each["raw"].startswith(
                "Playful has the best raw mean. After the shifts are removed, Bold leads."
            )
            assert each["raw_differs"]
    finally:
        here.close()
