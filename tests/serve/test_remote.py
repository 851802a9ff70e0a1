"""`tp.connect`: the same script in memory, in a file and over HTTP; lost connections; errors."""

import datetime
import pickle
import threading

import httpx
import numpy as np
import pytest

import tideproof as tp
from serve.service_clients import ADMIN, Served, bearer
from tideproof.remote import http_calls
from tideproof.remote.http_calls import ServiceClient, checked_url
from tideproof.remote.remote_experiment import RemoteExperiment

ARMS = ["A", "B", "C"]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def remote(served, request):
    """What begins an experiment of the service, named for the test."""
    begun = []

    def begin(name=None, arms=None, key=ADMIN, **options):
        name = name or request.node.name
        begun.append(tp.connect(served.url, key, name, arms, **options))
        return begun[-1]

    yield begin
    for each in begun:
        each.close()


def script(run):
    """Everything that experiments have in common; returns what they say."""
    said = []
    for step in range(40):
        pull = run.ask(environment=f"day {step // 10}")
        said.append(pull.arm)
        run.tell(pull, step % 7 / 7 + ord(pull.arm))
        run.tell(pull.id, step % 7 / 7 + ord(pull.arm))
    said.append(run.ask().environment)
    one, two, three = run.ask(n=3, environment=datetime.date(2026, 11, 16))
    run.tell_many([one, two], np.array([66.5, 65.25]))
    run.correct(one, 66.25)
    run.cancel(three)
    for refused in (
        lambda: run.tell(two, 1.0),
        lambda: run.tell("no-1", 1.0),
        lambda: run.tell(7, 1.0),
        lambda: run.tell(two, float("nan")),
        lambda: run.cancel(one),
        lambda: run.ask(n=0),
        lambda: run.ask(n=5_000),
        lambda: run.ask(environment=1.5),
        lambda: run.retire_arm("Z"),
        lambda: run.tell_summary(arm="A", environment="x", n=5, mean=1.0),
        lambda: run.tell_many([one], []),
        lambda: run.extend(1),
    ):
        with pytest.raises(tp.errors.TideproofError) as error:
            refused()
        said.append(error.type)
    run.tell_summary(arm="A", environment="day 9", n=np.int64(5), mean=65.0, variance=0.5, key="k", by="job")
    run.add_arm("D")
    run.retire_arm("B", by="ann")
    run.extend(None)
    run.extend(500)
    run.pause("night")
    with pytest.raises(tp.errors.Finished, match="paused"):
        run.ask()
    run.resume()
    run.note("a sale")
    unit = run.ask(unit="visitor 1", environment="day 10")
    said += [unit == run.ask(unit="visitor 1"), unit.environment]
    run.expose(unit)
    run.tell(unit, 60.0, key="order 7")
    run.tell(unit, 60.0, key="order 7")
    run.forget_units()
    said.append(run.shares(environment="day 11", n=20))
    said.append(run.shares(environment=11, n=20))
    found = run.recommend(prior="flat")
    said += [
        found.to_dict(),
        str(found),
        run.arms,
        run.budget,
        run.remaining,
        run.done,
        run.direction,
        run.scale,
    ]
    said += [run.seed, len(run.pending_pulls()), run.history()["reward"], run.fit(confidence=0.9).groups]
    said.append(str(run.diagnostics()).splitlines()[1])
    run.stop("enough")
    said.append(run.done)
    said.append([type(event).__name__ for event in run.events()])
    return said


def test_one_script_in_memory_in_a_file_and_over_http(remote, tmp_path):
    options = {"budget": 400, "seed": 3}
    memory = tp.Experiment(ARMS, **options)
    stored = tp.Experiment.open(f"sqlite:///{tmp_path}/a.db", "x", ARMS, **options)
    run = remote("one script", ARMS, **options)
    assert isinstance(run, RemoteExperiment)
    meant = script(memory)
    assert script(stored) == meant
    assert script(run) == meant
    stored.close()
    run.save(tmp_path / "run.json")
    assert tp.Experiment.load(tmp_path / "run.json").history()["reward"] == meant[-5]
    run.report(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size > 1000


def test_every_method_is_there_or_left_out_on_purpose():
    ours = {name for name in dir(RemoteExperiment) if not name.startswith("_")}
    theirs = {name for name in dir(tp.Experiment) if not name.startswith("_")}
    assert theirs - ours == {
        "load",
        "open",
        "warm_start",
        "policy",
        "pull_of",
        "reservations",
        "from_state",
        "internals",
    }
    assert ours - theirs == {"copy"}


def test_joining_and_beginning(remote, served):
    run = remote("joined", ARMS, budget=50, policy=tp.policy("linlucb", n0=3))
    assert remote("joined").arms == run.arms == tuple(ARMS)
    assert remote("joined", ARMS, budget=50).budget == 50
    with pytest.raises(tp.errors.InputError, match="has budget=50, not 60"):
        remote("joined", ARMS, budget=60)
    with pytest.raises(tp.errors.UnknownName, match="no experiment named 'nobody'"):
        remote("nobody")
    with pytest.raises(tp.errors.InputError, match="options such as budget can be set only"):
        remote("nobody", budget=5)
    with pytest.raises(tp.errors.InputError, match="uses its own clock"):
        remote("nobody", ARMS, clock=lambda: 0.0)
    with pytest.raises(tp.errors.InputError, match="valid API key"):
        remote("joined", key="tp_wrong")
    with pytest.raises(tp.errors.InputError, match="give the name of the experiment either"):
        tp.connect(served.url, ADMIN)
    itself = tp.connect(f"{served.url}/v1/experiments/joined", ADMIN)
    assert itself.budget == 50
    assert "joined" in repr(itself)
    itself.close()


@pytest.mark.parametrize("options", [{"noise": "by-arm", "interaction": "auto"}, {"robust": "cells"}])
def test_a_policy_that_allows_for_more(remote, options):
    policy = tp.policy("contrast", **options)
    here, there = tp.Experiment(ARMS, budget=90, policy=policy), remote(None, ARMS, budget=90, policy=policy)
    random = np.random.default_rng(2)
    for step in range(24):
        own, pull = (run.ask(environment=step // 6) for run in (here, there))
        assert own.arm == pull.arm
        reward = ord(pull.arm) + random.standard_normal() + 40.0 * (own.arm == "A" and step // 6 == 2)
        here.tell(own, reward)
        there.tell(pull, reward)
    assert there.recommend().to_dict() == here.recommend().to_dict()
    assert there.fit().variance == here.fit().variance
    assert (there.fit().left_out is None) == ("robust" not in options)
    assert remote(there.name, ARMS, budget=90, policy=policy).ask(environment="x").arm == (
        here.ask(environment="x").arm
    )


@pytest.mark.parametrize(
    "policy",
    ["both:contrast", "sure:contrast", tp.policy("contrast", confidence=0.9, label="mine")],
    ids=["tide", "rule", "chosen"],
)
def test_a_policy_may_bring_a_tide_or_a_rule(remote, policy):
    name = f"brought {policy if isinstance(policy, str) else policy.name}"
    run, here = remote(name, ARMS, budget=90, policy=policy), tp.Experiment(ARMS, budget=90, policy=policy)
    assert run.ask(environment=1).arm == here.ask(environment=1).arm
    assert run.tide == here.tide
    assert remote(name, ARMS, budget=90, policy=policy).budget == 90
    assert remote(name, ARMS, policy=tp.policy(policy) if isinstance(policy, str) else policy).budget == 90


def test_a_key_from_the_environment(remote, served, monkeypatch):
    remote("keyed", ARMS)
    with pytest.raises(tp.errors.InputError, match="TIDEPROOF_KEY"):
        tp.connect(served.url, name="keyed")
    monkeypatch.setenv("TIDEPROOF_KEY", ADMIN)
    run = tp.connect(served.url, name="keyed")
    copy = pickle.loads(pickle.dumps(run))
    assert copy.arms == run.arms
    run.close(), copy.close()


def test_once(remote):
    run = remote("once", ARMS)
    first = run.once("job 7", run.ask, environment="monday")
    assert run.once("job 7", run.ask, environment="monday") == first
    assert run.ask(environment="monday") != first
    with pytest.raises(tp.errors.InputError, match="was already used for"):
        run.once("job 7", run.ask, environment="tuesday")
    with pytest.raises(tp.errors.InputError, match="a method of this experiment"):
        run.once("job 8", print)
    with pytest.raises(tp.errors.InputError, match="must be a non-empty string, not 8"):
        run.once(8, run.ask)


def test_threads_have_places_of_their_own(remote):
    run = remote("threads", ARMS)
    run.ask(environment="here")
    there = threading.Thread(target=lambda: run.ask(environment="there"))
    there.start()
    there.join()
    assert run.ask().environment == "here"


@pytest.mark.parametrize("url", [8080, "localhost:8080", "ftp://x", "sqlite:///shop.db"])
def test_a_url_that_is_none(url):
    with pytest.raises(tp.errors.InputError, match="the URL of a service"):
        tp.connect(url, "key", "x")
    assert checked_url("https://a/b/") == ("https://a/b", None)


# -- lost connections


class Lossy(httpx.BaseTransport):
    """Loses every second request before it is sent, or its answer."""

    def __init__(self):
        self.inner, self.count = httpx.HTTPTransport(), 0

    def handle_request(self, request):
        self.count += 1
        if self.count % 4 == 1:
            raise httpx.ConnectError("lost on the way there")
        answer = self.inner.handle_request(request)
        if self.count % 4 == 3:
            answer.read()
            answer.close()
            raise httpx.ReadError("lost on the way back")
        return answer

    def close(self):
        self.inner.close()


def test_what_is_lost_is_repeated_and_done_once(remote, served):
    whole = remote("lossy", ARMS, budget=1000)
    transport = Lossy()
    run = RemoteExperiment(ServiceClient(served.url, ADMIN, transport), "lossy")
    pulls = [run.ask(environment="monday") for _ in range(10)]
    for pull in pulls:
        run.tell(pull, 1.0)
    visitor = run.ask(unit="ann")
    for _ in range(4):
        run.tell(visitor, 1.0)  # a unit's rewards are added up: done twice it would show
    assert transport.count > 30
    assert whole.history()["reward"] == [1.0] * 10 + [4.0]
    run.close()


def test_a_service_that_is_away(monkeypatch):
    monkeypatch.setattr(http_calls, "PATIENCE", 0.2)
    with pytest.raises(tp.errors.StoreError, match="cannot be reached"):
        tp.connect("http://127.0.0.1:9", "key", "x")


def answering(*answers):
    """Return calls of a service that answers like this."""
    left = list(answers)
    return ServiceClient("http://x", "key", httpx.MockTransport(lambda request: left.pop(0)))


def test_a_service_that_is_busy_is_asked_again(monkeypatch):
    slept = []
    monkeypatch.setattr(http_calls.time, "sleep", slept.append)
    busy = httpx.Response(503, headers={"Retry-After": "1"})
    found = answering(busy, httpx.Response(429), httpx.Response(200, json={"a": 1}))
    assert found.get("/") == {"a": 1}
    assert slept[0] >= 1.0
    assert len(slept) == 2


def test_something_else_than_a_service():
    with pytest.raises(tp.errors.StoreError, match="status 404"):
        answering(httpx.Response(404, text="<html>")).get("/")
    with pytest.raises(tp.errors.InputError, match="what"):
        answering(httpx.Response(400, json={"detail": "what", "error": "SystemExit"})).get("/")


def test_the_service_and_another_process_share_a_store(remote, served):
    """By turns: each knows what the other was told before it chooses."""
    here, there = tp.Experiment(ARMS, seed=2), remote("shared", ARMS, seed=2)
    beside = tp.Experiment.open(served.store, "shared")
    for step in range(40):
        run = (there, beside)[step % 2]
        pull, meant = run.ask(environment=step // 10), here.ask(environment=step // 10)
        assert pull.arm == meant.arm
        run.tell(pull, step % 7 + ord(pull.arm) / 50)
        here.tell(meant, step % 7 + ord(pull.arm) / 50)
    assert there.recommend().margin == beside.recommend().margin == here.recommend().margin
    beside.close()


def test_roles_over_http(remote, served):
    run = remote("roles", ARMS)
    key = httpx.post(
        f"{served.url}/v1/keys", json={"name": "shop", "role": "reporter"}, headers=bearer(ADMIN)
    ).json()["secret"]
    reporter = remote("roles", key=key)
    reporter.tell(reporter.ask(environment="monday"), 1.0, by="ann")
    with pytest.raises(tp.errors.InputError, match="the role 'reporter'"):
        reporter.stop()
    assert run.events()[-1].by.endswith(" shop: ann")


def test_pauses_between_attempts_double_up_to_half_a_second(monkeypatch):
    slept, drawn = [], []
    monkeypatch.setattr(http_calls.time, "sleep", slept.append)
    monkeypatch.setattr(http_calls.random, "uniform", lambda *ends: drawn.append(ends) or ends[1])
    answering(*[httpx.Response(429)] * 6, httpx.Response(200)).get("/")
    assert slept == [0.05, 0.1, 0.2, 0.4, 0.5, 0.5]
    assert set(drawn) == {(0.5, 1.0)}


@pytest.mark.parametrize(
    ("header", "wait"), [("0", 0.05), ("1", 1.0), ("2", 2.0), ("9", 2.0), ("soon", 0.05)]
)
def test_a_service_may_ask_for_two_seconds_at_most(monkeypatch, header, wait):
    slept = []
    monkeypatch.setattr(http_calls.time, "sleep", slept.append)
    monkeypatch.setattr(http_calls.random, "uniform", lambda _, most: most)
    answering(httpx.Response(503, headers={"Retry-After": header}), httpx.Response(200)).get("/")
    assert slept == [wait]


def test_attempts_end_with_the_patience(monkeypatch):
    moments = iter([0.0, 0.0, 10.0, 29.96])
    monkeypatch.setattr(http_calls.time, "monotonic", lambda: next(moments))
    monkeypatch.setattr(http_calls.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(http_calls.random, "uniform", lambda _, most: most)
    problem = {"detail": "too busy", "error": "StoreError"}
    with pytest.raises(tp.errors.StoreError, match="too busy"):
        answering(*[httpx.Response(503, json=problem)] * 3).get("/")


@pytest.mark.parametrize("status", [429, 502, 503, 504, 500, 400])
def test_statuses_that_pass_are_tried_again(monkeypatch, status):
    monkeypatch.setattr(http_calls.time, "sleep", lambda seconds: None)
    calls = answering(
        httpx.Response(status, json={"detail": "x", "error": "InputError"}), httpx.Response(200)
    )
    if status in (429, 502, 503, 504):
        assert calls.get("/") is None
    else:
        with pytest.raises(tp.errors.InputError):
            calls.get("/")


def test_a_request_says_what_it_is_told():
    seen = []

    def answer(request):
        seen.append((request.method, str(request.url), request.headers["Authorization"], request.content))
        return httpx.Response(200, text="all" if request.method == "GET" else "")

    calls = ServiceClient("http://x", "key", httpx.MockTransport(answer))
    assert calls.text("/a") == "all"
    calls.post("/b", {"one": 1, "none": None, "null": http_calls.NOTHING}, once="k")
    assert seen == [
        ("GET", "http://x/a", "Bearer key", b""),
        ("POST", "http://x/b", "Bearer key", b'{"one":1,"null":null}'),
    ]


@pytest.mark.parametrize("key", ["", "kéy", 5])
def test_a_key_must_be_ascii_text(key):
    with pytest.raises(tp.errors.InputError, match="API key"):
        ServiceClient("http://x", key)
