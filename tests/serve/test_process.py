"""A real service: how it starts, how it stops, and that nothing acknowledged is lost."""

import json
import re
import signal
import threading
import time

import httpx
import pytest
from typer.testing import CliRunner

import tideproof as tp
from serve.service_clients import ADMIN, Served, bearer
from tideproof.cli import app as cli
from tideproof.serve import json_logs, server
from tideproof.serve.app import make_app
from tideproof.serve.service_settings import Settings
from tideproof.store.store_urls import open_backend


def test_the_first_start_shows_an_admin_key_once(tmp_path):
    with Served(tmp_path, TIDEPROOF_ADMIN_KEY="") as served:
        line = served.process.stdout.readline()
        (secret,) = re.findall(r"tp_\S+", line)
        assert "only once" in line
        assert httpx.get(f"{served.url}/v1/session", headers=bearer(secret)).json()["role"] == "admin"
        code, log = served.stop(signal.SIGINT)
    assert code == 0
    assert secret not in log
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["route"] for line in lines if line["event"] == "request"] == ["/v1/session"]
    with Served(tmp_path, TIDEPROOF_ADMIN_KEY="") as served:
        assert served.stop()[0] == 0
        assert len(served.lines) == 1
    assert secret.encode() not in (tmp_path / "shop.db").read_bytes()


def test_a_graceful_stop_loses_nothing_acknowledged(tmp_path):
    """Clients play, a stream is followed, SIGTERM comes: all that was acknowledged is in the store, once."""
    acknowledged, streamed = [], []
    with Served(tmp_path) as served:
        tp.connect(served.url, ADMIN, "shop", ["A", "B"]).close()

        def play(who):
            with httpx.Client(base_url=f"{served.url}/v1/experiments/shop", headers=bearer(ADMIN)) as client:
                while True:
                    try:
                        asked = client.post("/ask", json={"environment": who})
                        pull = asked.raise_for_status().json()["pulls"][0]["id"]
                        told = client.post("/tell", json={"rewards": [{"pull": pull, "reward": 1.5}]})
                        told.raise_for_status()
                    except httpx.HTTPError:
                        return
                    acknowledged.append(pull)

        def follow():
            with httpx.stream(
                "GET", f"{served.url}/v1/experiments/shop/stream", headers=bearer(ADMIN), timeout=60
            ) as answer:
                streamed.extend(line for line in answer.iter_lines() if line.startswith("id: "))

        threads = [threading.Thread(target=play, args=[f"day {who}"]) for who in range(4)]
        threads.append(threading.Thread(target=follow))
        for thread in threads:
            thread.start()
        while len(acknowledged) < 40:
            time.sleep(0.01)
        begun = time.monotonic()
        code, _ = served.stop()
        assert time.monotonic() - begun < 20
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert code == 0
    run = tp.Experiment.open(f"sqlite:///{tmp_path}/shop.db", "shop")
    told = [row["pull"] for row in run.history() if row["status"] == "told"]
    assert set(acknowledged) <= set(told)
    assert len(told) == len(set(told)) <= len(acknowledged) + 4
    assert [int(line[4:]) for line in streamed] == list(range(1, len(streamed) + 1))
    assert len(streamed) > 40
    run.close()


def test_it_refuses_to_be_seen_without_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("TIDEPROOF_ADMIN_KEY", "")
    monkeypatch.setenv("TIDEPROOF_LOG_FORMAT", "off")
    found = CliRunner().invoke(cli, ["serve", f"sqlite:///{tmp_path}/a.db", "--host", "0.0.0.0"])
    assert "there are no API keys" in str(found.exception)
    assert found.output == ""


@pytest.fixture
def app(tmp_path):
    found = make_app(f"sqlite:///{tmp_path}/shop.db", Settings(log_format="off"))
    yield found
    found.state.service.close()


def test_with_keys_it_may_be_seen(app):
    service = app.state.service
    with pytest.raises(tp.errors.InputError, match="no API keys"):
        server.create_first_key(service, "0.0.0.0")
    assert server.create_first_key(service, "127.0.0.1").startswith("tp_")
    assert server.create_first_key(service, "0.0.0.0") is None


@pytest.mark.parametrize(("longest", "wait"), [(30.0, 30), (1.9, 1), (0.05, 1)])
def test_a_stop_waits_as_long_as_a_request_may_take_and_at_least_a_second(app, longest, wait):
    made = server.make_server(app, Settings(log_format="off", request_seconds=longest))
    assert made.config.timeout_graceful_shutdown == wait


def test_a_port_that_is_taken():
    taken = server.open_socket("127.0.0.1", 0)
    with taken, pytest.raises(tp.errors.InputError, match="cannot listen on"):
        server.open_socket("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(tp.errors.InputError, match="cannot listen on"):
        server.open_socket("no.such.host.invalid", 0)


def test_it_serves_in_a_thread_and_stops(tmp_path, capsys):
    said = []
    servers = []
    real = server.make_server

    def recorded(app, settings):
        servers.append(real(app, settings))
        return servers[-1]

    server.make_server = recorded
    try:
        settings = Settings(log_format="text", admin_key=ADMIN)
        work = threading.Thread(
            target=server.start, args=[f"sqlite:///{tmp_path}/a.db", "127.0.0.1", 0, settings, said.append]
        )
        work.start()
        while not servers or not servers[0].started:
            time.sleep(0.01)
        (url,) = re.findall(r"http://\S+", said[0])
        assert httpx.get(f"{url}/healthz").status_code == 200
        servers[0].handle_exit(signal.SIGTERM, None)
        work.join(30)
        assert not work.is_alive()
    finally:
        server.make_server = real
        json_logs.configure_logging("off")
    assert len(said) == 1
    assert "info request method=GET route=/healthz status=200" in capsys.readouterr().err


def test_errors_have_a_traceback_in_the_log(capsys):
    for kind, mark in (("json", '"traceback": "'), ("text", "Traceback")):
        json_logs.configure_logging(kind)
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            json_logs.LOG.exception("unexpected", extra={"fields": {"path": "/x"}})
        found = capsys.readouterr().err
        assert mark in found
        assert "/x" in found
    json_logs.configure_logging("off")
    json_logs.LOG.info("nothing")
    assert capsys.readouterr().err == ""


def test_tables_beside_the_experiments(tmp_path):
    place = open_backend(f"sqlite:///{tmp_path}/a.db")
    assert place.execute("INSERT INTO ~sessions VALUES (?, ?, ?)", ("h", "k", 1.5)) == []
    assert place.execute("SELECT * FROM ~sessions WHERE key = ?", ("k",)) == [("h", "k", 1.5)]
    place.close()
