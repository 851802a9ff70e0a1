"""Fixtures for tests of several packages."""

import signal

import hypothesis
import pytest

# The same examples in every run, and no deadline: the machine may be busy.
hypothesis.settings.register_profile("tideproof", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile("tideproof")


@pytest.fixture(autouse=True)
def own_ctrl_c():
    """Use Python's own handler of SIGINT: Spark in another test, or the shell that began the tests, replaces it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def postgres_server():
    """Start a PostgreSQL server on which tests create their own databases."""
    from store.servers import Server

    server = Server()
    yield server
    server.stop()
