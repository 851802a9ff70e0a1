"""Where tests of the store run: in a SQLite file and in a real PostgreSQL."""

from itertools import count

import psycopg
import pytest

_numbers = count()


@pytest.fixture(scope="session")
def database(postgres_server):
    return postgres_server.database()


@pytest.fixture
def postgres(database):
    """The URL of a database without a store: emptied, which takes less time than to make another.

    Each test has another URL, because a process shares its connections to one URL.
    """
    with psycopg.connect(database, options="-c lock_timeout=10s") as connection:
        connection.execute("SET client_min_messages = error")
        connection.execute("DROP SCHEMA IF EXISTS tideproof CASCADE")
    return f"{database}&application_name=test_{next(_numbers)}"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A folder for a file, or the URL of a database: see `stores.url_of`."""
    return tmp_path if request.param == "sqlite" else request.getfixturevalue("postgres")
