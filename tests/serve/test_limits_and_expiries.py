"""Boundaries of the service: expiries, rate limits, page sizes, cache sizes, back-off and status codes."""

import asyncio
import gc
import json
import threading
import time
import tracemalloc

import httpx
import pytest

import tideproof as tp
from serve.service_clients import ADMIN, Here, app_of, bearer
from tideproof.serve import rate_limit
from tideproof.serve.auth import api_keys
from tideproof.serve.auth.api_keys import Key, KeyStore
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.idempotent_calls import author_of
from tideproof.serve.pages import experiment_view
from tideproof.serve.problem_details import Problem, problem_of, response
from tideproof.serve.rate_limit import RateLimiter, retry_after_header
from tideproof.serve.schemas import field_types
from tideproof.serve.service_settings import Settings
from tideproof.serve.stream_notifier import Notifier
from tideproof.serve.webhooks import webhook_sender, webhook_store
from tideproof.serve.webhooks.webhook_targets import checked_target
from tideproof.store.idempotency_keys import UsedKey
from tideproof.store.store_urls import open_backend


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests move by hand; it replaces both clocks of the time module for keys and sessions."""

    class Clock:
        now = 1_000_000.0

    monkeypatch.setattr(api_keys.time, "time", lambda: Clock.now)
    monkeypatch.setattr(api_keys.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.fixture
def backend(tmp_path):
    made = open_backend(f"sqlite:///{tmp_path}/keys.db")
    yield made
    made.close()


def stored_sessions(backend):
    return [row[0] for row in backend.execute("SELECT hash FROM ~sessions", ())]


# -- sessions and tickets


def test_a_login_deletes_sessions_that_have_ended_and_no_others(backend, clock):
    keys = KeyStore(backend)
    _, key = keys.create_key("ann", "viewer", None, None)
    short, long = keys.begin_session(key, 10.0), keys.begin_session(key, 100.0)
    assert len(stored_sessions(backend)) == 2
    clock.now += 50.0
    third = keys.begin_session(key, 100.0)
    assert sorted(stored_sessions(backend)) == sorted(map(api_keys.hash_secret, (long, third)))
    keys.refresh()  # empties the cache, so that the store decides
    assert keys.find_session_key(short) is None
    assert keys.find_session_key(long) == keys.find_session_key(third) == key


def test_a_login_leaves_other_people_logged_in(begin):
    one, two = begin(), begin()  # two processes of one service
    cookies = [
        {"Cookie": f"tideproof={one.post('/v1/session', {'key': ADMIN}).cookies['tideproof']}"}
        for _ in range(2)
    ]
    visitor = two.other(None)
    assert [visitor.get("/v1/session", headers=cookie).status_code for cookie in cookies] == [200, 200]
    visitor.close()


def test_a_session_lasts_until_its_last_second(backend, clock):
    keys = KeyStore(backend)
    _, key = keys.create_key("ann", "viewer", None, None)
    session = keys.begin_session(key, 60.0)
    clock.now += 60.0
    assert keys.find_session_key(session) == key
    clock.now += 0.001
    assert keys.find_session_key(session) is None


def test_a_session_that_ended_elsewhere_is_noticed_after_two_seconds(backend, clock):
    one, two = KeyStore(backend), KeyStore(backend)
    _, key = one.create_key("ann", "viewer", None, None)
    session = one.begin_session(key, 60.0)
    two.refresh()
    assert two.find_session_key(session) == key
    one.end_session(session)
    assert one.find_session_key(session) is None
    clock.now += 2.0
    assert two.find_session_key(session) == key  # cached
    clock.now += 0.001
    assert two.find_session_key(session) is None


def test_cached_keys_are_fresh_for_two_seconds(backend, clock):
    keys = KeyStore(backend)
    assert not KeyStore(backend).is_fresh
    keys.refresh()
    clock.now += 1.999
    assert keys.is_fresh
    clock.now += 0.001
    assert not keys.is_fresh


def test_a_ticket_is_valid_before_its_end_only(backend, clock):
    keys = KeyStore(backend)
    _, key = keys.create_key("ann", "viewer", None, None)
    _, other = keys.create_key("bob", "viewer", None, None)
    ticket = keys.create_ticket(key, 60.0)
    assert keys.find_ticket_key(ticket) == key
    assert keys.find_ticket_key(ticket.replace(key.id, other.id)) is None
    assert keys.find_ticket_key(ticket.replace("1000060", "1000061")) is None
    clock.now += 59.9
    assert keys.find_ticket_key(ticket) == key
    clock.now += 0.1
    assert keys.find_ticket_key(ticket) is None


def test_revoking_a_key_leaves_others_and_their_sessions(backend, clock):
    keys = KeyStore(backend, "an admin key for this test")
    admin = keys.cached_key("an admin key for this test")
    secrets_and_keys = []
    for name in ("ann", "bob"):
        clock.now += 1.0
        secrets_and_keys.append(keys.create_key(name, "viewer", None, admin))
    sessions = [keys.begin_session(key, 60.0) for _, key in secrets_and_keys]
    clock.now += 1.0
    keys.revoke(secrets_and_keys[0][1].id, admin)
    for _ in range(2):
        assert [keys.cached_key(secret) is None for secret, _ in secrets_and_keys] == [True, False]
        assert [keys.find_session_key(session) is None for session in sessions] == [True, False]
        assert not keys.is_valid(secrets_and_keys[0][1].id)
        assert keys.is_valid(secrets_and_keys[1][1].id)
        keys.refresh()
    revoked, kept = keys.list_keys()
    assert (revoked.name, revoked.made_at, revoked.revoked_at, revoked.revoked_by) == (
        "ann", 1_000_001.0, 1_000_003.0, "environment",
    )  # fmt: skip
    assert (kept.revoked_at, kept.made_by) == (None, "environment")
    clock.now += 1.0
    keys.revoke(revoked.id, admin)
    assert keys.list_keys()[0].revoked_at == 1_000_003.0  # the first time counts
    assert keys.exists("viewer")
    assert not keys.exists("editor")
    assert keys.exists("admin")


def test_rights_that_a_key_covers():
    def key(role, experiments):
        return Key("k", "name", role, experiments, 0.0)

    assert key("admin", None).covers("viewer", None)
    assert key("viewer", None).covers("viewer", ["a"])
    assert not key("viewer", None).covers("evaluator", None)
    assert not key("admin", ("a",)).covers("viewer", None)
    assert key("admin", ("a", "b")).covers("viewer", ["a"])
    assert not key("admin", ("a",)).covers("viewer", ["a", "b"])
    assert author_of(key("viewer", None), None) == "k name"


# -- rate limits


@pytest.fixture
def limiter_clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(rate_limit.time, "monotonic", lambda: now[0])
    return now


def test_tokens_refill_at_the_rate_up_to_the_burst(limiter_clock):
    limiter = RateLimiter(2.0, 3.0)
    assert [limiter.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    limiter_clock[0] += 0.25
    assert limiter.take("a") == pytest.approx(0.25)  # half a token is there, and a refusal costs none
    limiter_clock[0] += 0.25
    assert limiter.take("a") == 0.0
    limiter_clock[0] += 1000.0
    assert [limiter.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert limiter.take("b", 3.0) == 0.0
    assert limiter.take("b", 3.0) == 1.5


def test_a_slow_rate_allows_one_request_at_once(limiter_clock):
    limiter = RateLimiter(0.1)
    assert [limiter.take("a"), limiter.take("a")] == [0.0, pytest.approx(10.0)]
    assert [RateLimiter(5.0).take("a", 10.0), RateLimiter(5.0).take("a", 11.0)] == [0.0, pytest.approx(0.2)]


def test_the_least_recent_caller_is_forgotten(limiter_clock, monkeypatch):
    monkeypatch.setattr(rate_limit, "MAX_CALLERS", 2)
    limiter = RateLimiter(1.0, 1.0)
    assert [limiter.take(caller) for caller in "abab"] == [0.0, 0.0, 1.0, 1.0]
    assert limiter.take("c") == 0.0  # a is forgotten
    assert limiter.take("b") == 1.0
    assert limiter.take("a") == 0.0


@pytest.mark.parametrize(("wait", "text"), [(0.2, "1"), (1.0, "1"), (1.01, "2"), (59.5, "60")])
def test_retry_after_is_rounded_up(wait, text):
    assert retry_after_header(wait) == {"Retry-After": text}


# -- sizes


@pytest.mark.parametrize(("excess", "status"), [(0, 400), (1, 413)])
def test_a_body_may_have_exactly_the_limit(begin, excess, status):
    here = begin(body_bytes=1000)
    content = b" " * (1000 + excess)  # not JSON, which is noticed after its size

    async def parts():
        yield content[:600]
        yield content[600:]

    headers = {"Content-Type": "application/json"}
    for each in (content, parts()):
        assert here.request("POST", "/v1/experiments", content=each, headers=headers).status_code == status


def test_an_upload_may_have_the_limit_and_64_kib_of_form(begin):
    here = begin(upload_bytes=1000, body_bytes=10)
    for length, status in ((1000 + 2**16, 400), (1001 + 2**16, 413)):
        found = here.request("POST", "/analyze", content=b" " * length, headers={"Sec-Fetch-Site": "none"})
        assert (found.status_code == 413) == (status == 413)


def test_an_uploaded_file_may_have_exactly_the_limit(begin):
    log = b"arm,day,reward\nA,1,1.0\nB,1,2.0\nA,2,1.5\nB,2,2.6\nA,3,1.1\nB,3,2.2\n"
    for limit, status in ((len(log), 200), (len(log) - 1, 413)):
        here = begin(upload_bytes=limit)
        found = here.request("POST", "/analyze", files={"file": ("log.csv", log)}, data={"do": "page"})
        assert found.status_code == status, found.text


def test_a_page_of_a_list_has_a_next_one_only_if_there_is_more(here):
    for name in ("a", "b", "c"):
        here.post("/v1/experiments", {"name": name, "arms": ["A", "B"]})
    for limit, following in ((1, "a"), (2, "b"), (3, None), (4, None)):
        found = here.get(f"/v1/experiments?limit={limit}").json()
        assert ([each["name"] for each in found["experiments"]], found["next"]) == (
            ["a", "b", "c"][:limit],
            following,
        )
    assert [each["name"] for each in here.get("/v1/experiments?after=a").json()["experiments"]] == ["b", "c"]
    pulls = here.post("/v1/experiments/a/ask", {"n": 3}).json()["pulls"]
    for limit, following in ((2, pulls[1]["id"]), (3, None)):
        found = here.get(f"/v1/experiments/a/pulls?limit={limit}").json()
        assert (found["pulls"], found["next"]) == (pulls[:limit], following)
    found = here.get(f"/v1/experiments/a/pulls?after={pulls[0]['id']}").json()
    assert found == {"pulls": pulls[1:], "next": None}
    for path in ("/v1/experiments?limit=0", "/v1/experiments?limit=1001", "/v1/experiments/a/pulls?limit=10001",
                 "/v1/experiments/a/events?limit=1001", "/v1/experiments/a/shares?n=100001"):  # fmt: skip
        assert here.get(path).status_code == 400, path
    for path in ("/v1/experiments?limit=1000", "/v1/experiments/a/pulls?limit=10000",
                 "/v1/experiments/a/events?limit=1000"):  # fmt: skip
        assert here.get(path).status_code == 200, path


def test_the_overview_shows_thirty_experiments(here):
    run_url = here.app.state.service.experiments.url
    for number in range(31):
        tp.Experiment.open(run_url, f"e{number:02d}", ["A", "B"]).close()
    html = {"Accept": "text/html", "Sec-Fetch-Site": "none"}
    page = here.get("/", headers=html).text
    assert page.count('class="row"') == 30
    assert "/?after=e29" in page
    last = here.get("/?after=e29", headers=html).text
    assert last.count('class="row"') == 1
    assert 'rel="next"' not in last
    assert 'rel="next"' not in here.get("/?after=e00", headers=html).text


def test_limits_of_request_fields():
    assert (field_types.MANY, field_types.ARMS, field_types.WHOLE) == (10_000, 200, 2**53)


def test_the_least_recently_used_experiment_is_closed(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    for name in "abc":
        tp.Experiment.open(url, name, ["A", "B"]).close()
    cache = ExperimentCache(url, 2)
    a, b = cache.get("a"), cache.get("b")
    assert cache.get("a") is a
    assert len(cache) == 2
    cache.get("c")
    assert len(cache) == 2
    assert cache.get("a") is a
    assert cache.get("b") is not b
    assert [each.seq for each in cache.read_entries("a", 0, 5)] == [1]
    assert cache.read_entries("a", 1, 5) == []
    b.note("still usable")
    assert [each.seq for each in cache.read_entries("b", 0, 1)] == [1]
    cache.close()


def test_unknown_names_leave_nothing_in_the_cache(tmp_path):
    """Each unknown name used to leave a lock behind, so that requests for random names filled the memory."""
    url = f"sqlite:///{tmp_path}/shop.db"
    tp.Experiment.open(url, "a", ["A", "B"]).close()
    cache = ExperimentCache(url, 2)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(2000):
        with pytest.raises(tp.errors.UnknownName):
            cache.get(f"unknown {number}")
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    cache.close()
    assert grown < 100_000  # bytes; 2,000 locks with their names take more than 300,000


def test_views_are_cached_until_there_are_new_events(here, monkeypatch):
    monkeypatch.setattr(experiment_view, "MAX_VIEWS", 1)
    for name in "ab":
        here.post("/v1/experiments", {"name": name, "arms": ["A", "B"]})
    service = here.app.state.service
    a, b = (service.experiments.get(name) for name in "ab")
    first = service.views.get(a, "a")
    assert service.views.get(a, "a") is first
    service.views.get(b, "b")
    again = service.views.get(a, "a")
    assert again is not first
    a.note("news")
    assert service.views.get(a, "a") is not again


def test_event_streams_are_limited():
    notifier = Notifier(1)
    notifier.check()
    with notifier.count_stream():
        assert notifier.is_full
        with pytest.raises(Problem, match="at most 1") as caught:
            notifier.check()
        assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "10"})
    assert not notifier.is_full


def test_a_stream_wakes_for_its_experiment_only():
    async def wait():
        notifier, started = Notifier(5), time.monotonic()
        waiting = [
            asyncio.ensure_future(notifier.wait(name, seconds)) for name, seconds in (("a", 20.0), ("b", 0.3))
        ]
        await asyncio.sleep(0.01)
        notifier.notify("a")
        await waiting[0]
        assert not waiting[1].done()
        await waiting[1]
        return time.monotonic() - started

    assert 0.25 < asyncio.run(wait()) < 10.0


# -- webhooks


def test_the_wait_of_a_webhook_that_fails_doubles_up_to_an_hour(here, monkeypatch):
    service, now, attempts, successes = here.app.state.service, [time.time()], [], []
    begun = now[0]
    monkeypatch.setattr(webhook_store, "checked_target", lambda url, any_target: "8.8.8.8")
    failing, other = (
        here.post("/v1/webhooks", {"url": f"https://{name}.example/"}).json()["id"]
        for name in ("failing", "other")
    )

    def use_up(budget):
        here.post("/v1/experiments/shop/changes", {"change": "budget", "budget": budget})
        asked = here.post("/v1/experiments/shop/ask", {"environment": "monday", "n": 4}).json()
        rewards = [{"pull": each["id"], "reward": 1.0} for each in asked["pulls"]]
        assert here.post("/v1/experiments/shop/tell", {"rewards": rewards}).status_code == 204

    here.post("/v1/experiments", {"name": "shop", "arms": ["A", "B"], "policy": "round-robin"})
    use_up(4)
    is_down = [True]

    def send(webhook, message, any_target):
        if webhook.id == failing and is_down:
            attempts.append(now[0])
            raise httpx.ConnectError("unreachable")
        successes.append(webhook.id)

    monkeypatch.setattr(webhook_sender, "send", send)
    monkeypatch.setattr(webhook_sender.time, "time", lambda: now[0])
    service.sender.send_pending()
    assert (attempts, set(successes)) == ([begun], {other})  # one that fails does not stop the others
    for wait in [*(5.0 * 2**power for power in range(10)), 3600.0, 3600.0]:
        now[0] += wait - 0.5
        service.sender.send_pending()
        assert attempts[-1] == now[0] - wait + 0.5
        now[0] += 0.5
        service.sender.send_pending()
        assert attempts[-1] == now[0]
    is_down.clear()
    now[0] += 3600.0
    service.sender.send_pending()
    assert successes[-1] == failing
    is_down.append(True)
    use_up(8)
    service.sender.send_pending()
    assert attempts[-1] == now[0]  # at once
    now[0] += 5.0  # after a success, the first wait is short again
    service.sender.send_pending()
    assert attempts[-1] == now[0]


def test_a_store_may_have_so_many_webhooks_only(here, monkeypatch):
    assert webhook_store.MAX_WEBHOOKS == 100
    monkeypatch.setattr(webhook_store, "MAX_WEBHOOKS", 2)
    monkeypatch.setattr(webhook_store, "checked_target", lambda url, any_target: "8.8.8.8")
    found = [here.post("/v1/webhooks", {"url": "https://example.com/"}) for _ in range(3)]
    assert [each.status_code for each in found] == [201, 201, 400]
    assert "2 webhooks" in found[-1].json()["detail"]
    assert found[0].json()["secret"] != found[1].json()["secret"]


@pytest.mark.parametrize(("length", "allowed"), [(2000, True), (2001, False)])
def test_a_url_of_a_webhook_may_have_so_many_characters_only(length, allowed):
    url = "https://8.8.8.8/".ljust(length, "a")
    if allowed:
        assert checked_target(url, False) == "8.8.8.8"
    else:
        with pytest.raises(tp.errors.InputError, match=r"2,000"):
            checked_target(url, False)


def test_any_target_allows_http_and_private_networks():
    assert checked_target("http://127.0.0.1/", True) == "127.0.0.1"
    with pytest.raises(tp.errors.InputError, match="must begin with https://, not 'http://8"):
        checked_target("http://8.8.8.8/", False)
    with pytest.raises(tp.errors.InputError, match="TIDEPROOF_WEBHOOK_TARGETS=any"):
        checked_target("https://127.0.0.1/", False)
    with pytest.raises(tp.errors.InputError, match=r"not 'https://me@8\.8\.8\.8/'"):
        checked_target("https://me@8.8.8.8/", True)


def test_the_signature_is_that_of_standard_webhooks():
    """The values are those of the specification's example."""
    headers = webhook_sender.signature_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        '{"test": 2432232314}',
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


# -- status codes


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (tp.errors.UnknownName("x"), 404, "UnknownName"),
        (tp.errors.ConflictingReward("x"), 409, "ConflictingReward"),
        (UsedKey("x"), 409, "InputError"),
        (tp.errors.InputError("x"), 400, "InputError"),
        (tp.errors.Finished("x"), 409, "Finished"),
        (tp.errors.StoreError("x"), 503, "StoreError"),
        (tp.errors.TideproofError("x"), 400, "TideproofError"),
    ],
)
def test_every_error_has_a_status(error, status, name):
    problem = problem_of(error)
    assert (problem.status, problem.error, problem.detail) == (status, name, "x")


@pytest.mark.parametrize("status", [400, 404, 409, 429, 503])
def test_a_refusal_that_passes_says_when_to_retry(status):
    found = response(Problem(status, "wait\x1b[31m"))
    assert found.headers.get("Retry-After") == ("1" if status in (429, 503) else None)
    body = json.loads(found.body)
    assert (body["status"], body["type"], body["error"]) == (status, "urn:tideproof:InputError", "InputError")
    assert "\x1b" not in body["detail"]
    assert response(Problem(429, "x", headers={"Retry-After": "7"})).headers["Retry-After"] == "7"


def test_default_settings():
    """The values that docs/serve.md and docs/operations.md promise."""
    found = Settings()
    assert (found.threads, found.waiting_requests, found.body_bytes, found.upload_bytes) == (
        32,
        1000,
        2**20,
        2**25,
    )
    assert (
        found.request_seconds,
        found.requests_per_second,
        found.failures_per_minute,
        found.session_seconds,
    ) == (30.0, 5000.0, 60.0, 43_200.0)
    assert (found.event_streams, found.flag_streams, found.reservations) == (100, 1000, 100_000)
    assert (found.open_experiments, found.flags_per_request, found.retention_days) == (200, 1000, 0.0)
    assert found.postgres_connections == 20
    assert (
        found.time_zone,
        found.origins,
        found.trusted_proxies,
        found.webhook_targets,
        found.log_format,
    ) == (
        "UTC",
        "",
        "",
        "public",
        "json",
    )


@pytest.mark.parametrize(("length", "allowed"), [(19, False), (20, True)])
def test_an_admin_key_must_be_long_enough(length, allowed):
    if allowed:
        assert Settings(admin_key="k" * length).admin_key
    else:
        with pytest.raises(tp.errors.InputError, match="at least 20"):
            Settings(admin_key="k" * length)


def test_a_service_without_a_free_thread_refuses_more_than_may_wait(tmp_path):
    here = Here(app_of(tmp_path, threads=1, waiting_requests=2))
    service, gate, running = here.app.state.service, threading.Event(), []

    async def call_often():
        calls = [asyncio.ensure_future(service.call(lambda: running.append(gate.wait(20)))) for _ in range(4)]
        await asyncio.sleep(0.05)
        refused = [each for each in calls if each.done()]
        assert len(refused) == 1
        with pytest.raises(Problem, match="retry later") as caught:
            await refused[0]
        assert caught.value.status == 503
        gate.set()
        await asyncio.gather(*(each for each in calls if each not in refused))
        await service.call(lambda: None)  # there is room again

    here.run(call_often())
    assert len(running) == 3
    here.close()


def test_the_log_and_the_metrics_count_requests(here):
    here.get("/healthz")
    here.get("/v1/experiments/secret-name")
    text = here.get("/metrics").text
    assert 'tideproof_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text
    assert 'route="/v1/experiments/{name}",status="404"} 1.0' in text
    assert "secret-name" not in text
    assert here.get("/healthz", headers=bearer("wrong")).status_code == 200
