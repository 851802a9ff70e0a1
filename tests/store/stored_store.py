"""The stored databases `schema_N`, from which a test notices that tables changed without a new version.

PYTHONPATH=tests python tests/store/stored_store.py makes those of a new version; delete the old ones.
"""

from pathlib import Path

import psycopg

import tideproof as tp
from store.servers import Server
from store.stores import check_refold
from tideproof.store.backend import SCHEMA_VERSION
from tideproof.store.postgres import postgres_schema

SQLITE_FILE = Path(__file__).parent / f"schema_{SCHEMA_VERSION}.db"
POSTGRES_SQL = Path(__file__).parent / f"schema_{SCHEMA_VERSION}.sql"


def fill(url):
    run = tp.Experiment.open(url, "prices", ["A", "B", "C"], budget=100, clock=lambda: 1.7e9)
    for reward in (0.5, -0.25, 2.0):
        run.tell(run.ask(environment="monday"), reward)
    run.once("first", run.ask, environment="tuesday")
    run.close()


def check(url):
    """Check that a store is what `fill` made, and goes on."""
    run = tp.Experiment.open(url, "prices", ["A", "B", "C"], budget=100)
    assert tp.experiments(url)["name"] == ["prices"]
    assert run.history()["reward"][:3] == [0.5, -0.25, 2.0]
    assert (run.remaining, len(run.pending_pulls())) == (96, 1)
    assert run.once("first", run.ask, environment="tuesday") == run.pending_pulls()[0]
    run.tell(run.pending_pulls()[0], 1.0)
    check_refold(run)
    tp.Experiment.open(url, "another", ["A", "B"]).close()


def dump(url):
    """Return a PostgreSQL store as SQL."""
    with psycopg.connect(url) as connection:
        cursor = psycopg.ClientCursor(connection)
        lines = [postgres_schema.TABLES]
        for table in (
            "store_version",
            "experiments",
            "events",
            "answers",
            "salts",
            "unit_hashes",
            "writers",
            "snapshots",
        ):
            rows = cursor.execute(f"SELECT * FROM tideproof.{table} ORDER BY 1, 2" if table == "events"
                                  else f"SELECT * FROM tideproof.{table}").fetchall()  # fmt: skip
            for row in rows:
                values = cursor.mogrify(", ".join(["%s"] * len(row)), row)
                lines.append(f"INSERT INTO tideproof.{table} OVERRIDING SYSTEM VALUE VALUES ({values});")
        lines.append("SELECT setval('tideproof.experiments_id_seq', max(id)) FROM tideproof.experiments;")
    return "\n".join(lines) + "\n"


def restore(url):
    with psycopg.connect(url) as connection:
        connection.execute(POSTGRES_SQL.read_text().encode())


def main():
    SQLITE_FILE.unlink(missing_ok=True)
    fill(f"sqlite:///{SQLITE_FILE}")
    server = Server()
    url = server.database()
    fill(url)
    POSTGRES_SQL.write_text(dump(url))
    server.stop()


if __name__ == "__main__":
    main()
