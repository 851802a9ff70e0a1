"""What tests of several rooms share."""

import signal

import hypothesis
import pytest

# The same examples in every run, and no deadline: the machine may be busy.
hypothesis.settings.register_profile("tideproof", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile("tideproof")


@pytest.fixture
def own_ctrl_c():
    """Ctrl-C as Python has it: another test's Spark, in the same process, may have taken it over."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def postgres_server():
    """A real PostgreSQL, for databases that a test makes for itself; who kills it starts it again."""
    from store.servers import Server

    server = Server()
    yield server
    server.stop()
