"""Make the stored databases of the present schemas: PYTHONPATH=tests python tests/store/make_schema.py."""

from pathlib import Path

import psycopg

import tideproof as tp
from store.servers import Server
from store.stores import check_refold
from tideproof.store import postgres_schema, sqlite_schema

FOLDER = Path(__file__).parent


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
    assert (run.remaining, len(run.pulls_out())) == (96, 1)
    assert run.once("first", run.ask, environment="tuesday") == run.pulls_out()[0]
    run.tell(run.pulls_out()[0], 1.0)
    check_refold(run)
    tp.Experiment.open(url, "another", ["A", "B"]).close()


def dump(url):
    """Return a PostgreSQL store as SQL."""
    with psycopg.connect(url) as connection:
        cursor = psycopg.ClientCursor(connection)
        lines = [*postgres_schema.STEPS, "DELETE FROM tideproof.store_version;"]
        for table in ("store_version", "experiments", "events", "answers", "salts", "writers", "snapshots"):
            rows = cursor.execute(f"SELECT * FROM tideproof.{table} ORDER BY 1, 2" if table == "events"
                                  else f"SELECT * FROM tideproof.{table}").fetchall()  # fmt: skip
            for row in rows:
                values = cursor.mogrify(", ".join(["%s"] * len(row)), row)
                lines.append(f"INSERT INTO tideproof.{table} OVERRIDING SYSTEM VALUE VALUES ({values});")
        lines.append("SELECT setval('tideproof.experiments_id_seq', max(id)) FROM tideproof.experiments;")
    return "\n".join(lines) + "\n"


def restore(path, url):
    with psycopg.connect(url) as connection:
        connection.execute(path.read_text().encode())


def main():
    file = FOLDER / f"schema_{len(sqlite_schema.STEPS)}.db"
    if not file.exists():  # a schema that was released is not made again
        fill(f"sqlite:///{file}")
    text = FOLDER / f"schema_{len(postgres_schema.STEPS)}.sql"
    if not text.exists():
        server = Server()
        url = server.database()
        fill(url)
        text.write_text(dump(url))
        server.stop()


if __name__ == "__main__":
    main()
