"""Clients that send slowly, or nothing, or too much: others are served, and the slow ones are closed."""

import os
import socket
import time
from contextlib import ExitStack

import httpx
import pytest

from serve.service_clients import ADMIN, Served, bearer
from tideproof.serve.rate_limit import address_group

SLOW_SOCKETS = int(os.environ.get("TIDEPROOF_SLOW_SOCKETS", "1200"))
HEAD = b"GET /readyz HTTP/1.1\r\nHost: x\r\n"
BODY = (
    b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    settings = {
        "TIDEPROOF_HEADER_SECONDS": "1",
        "TIDEPROOF_IDLE_SECONDS": "1",
        "TIDEPROOF_REQUEST_SECONDS": "2",
        "TIDEPROOF_ADDRESS_REQUESTS_PER_SECOND": "40",
        "TIDEPROOF_TRUSTED_PROXIES": "127.0.0.2",
    }
    with Served(tmp_path_factory.mktemp("slow"), **settings) as made:
        yield made


def connect(served, sent=b"", source="127.0.0.1"):
    made = socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), 5.0, (source, 0))
    made.sendall(sent)
    return made


def seconds_until_closed(connection, byte):
    """Send a byte every 0.1 seconds, and return after how many seconds the service closed the connection."""
    begun = time.monotonic()
    connection.settimeout(0.1)
    while time.monotonic() < begun + 10.0:
        try:
            if byte:
                connection.sendall(byte)
            if not connection.recv(10_000):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun


@pytest.mark.parametrize(
    ("sent", "byte", "least", "most"),
    [
        (b"", b"", 0.8, 3.0),
        (HEAD, b"X", 0.8, 3.0),
        (BODY, b"1", 1.8, 5.0),
        (HEAD + b"\r\n", b"", 0.8, 4.0),
        (HEAD + b"\r\n" + HEAD, b"X", 1.5, 5.0),
    ],
    ids=["silent", "slow headers", "slow body", "idle", "slow headers of a second request"],
)
def test_a_slow_connection_is_closed(served, sent, byte, least, most):
    with connect(served, sent) as connection:
        assert least < seconds_until_closed(connection, byte) < most


@pytest.mark.parametrize("sent", [b"", HEAD, BODY], ids=["silent", "headers", "body"])
def test_many_slow_connections_keep_nobody_out(served, sent):
    """Half-open connections of several addresses, more than may be open, and of the caller's own address."""
    own, worst = "127.0.0.9", 0.0
    transport = httpx.HTTPTransport(local_address=own, limits=httpx.Limits(max_keepalive_connections=0))
    with ExitStack() as stack, httpx.Client(transport=transport) as client:
        for number in range(SLOW_SOCKETS):
            source = own if number % 2 and sent != BODY else f"127.0.1.{number % 8}"  # bodies use up its rate
            stack.enter_context(connect(served, sent, source))
            if number % 200 == 199:
                begun = time.monotonic()
                assert client.get(f"{served.url}/readyz", timeout=10.0).status_code == 200
                worst = max(worst, time.monotonic() - begun)
    assert worst < 4.0  # 2 s on an idle machine; before, there was no answer at all


def test_requests_are_limited_by_the_address_that_a_trusted_proxy_names(served):
    """127.0.0.2 is a trusted proxy. One of its callers sends too much; others, and direct callers, do not."""

    def statuses(source, forwarded, count):
        found = []
        transport = httpx.HTTPTransport(local_address=source)
        with httpx.Client(transport=transport, headers=bearer(ADMIN)) as client:
            for _ in range(count):
                headers = {"X-Forwarded-For": forwarded}
                found.append(client.get(f"{served.url}/healthz", headers=headers).status_code)
        return found

    many = statuses("127.0.0.2", "198.51.100.7", 300)
    assert many[0] == 200
    assert 429 in many
    assert statuses("127.0.0.2", "198.51.100.8", 3) == [200] * 3
    assert statuses("127.0.0.3", "198.51.100.7", 3) == [200] * 3  # from elsewhere, the header says nothing


def test_callers_of_one_ipv6_network_are_one():
    assert address_group("2001:db8:1:2::3") == address_group("2001:db8:1:2:ffff::4")
    assert address_group("2001:db8:1:3::3") != address_group("2001:db8:1:2::3")
    assert address_group("::ffff:192.0.2.1") == address_group("192.0.2.1")
