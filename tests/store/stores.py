"""What tests of the store share: a new store, a busy experiment in it, and its state in bytes."""

import random
import threading

import psycopg

import tideproof as tp
from tideproof.experiment.snapshots import pull_columns
from tideproof.experiment.snapshots.snapshot import serialize_state
from tideproof.store.log_replay import load_state
from tideproof.store.sqlite_connection import SqliteConnection

ARMS = ["A", "B", "C"]


def url_of(place, name="shop.db"):
    """Return the URL of a store: a folder stands for a file in it."""
    return place if isinstance(place, str) else f"sqlite:///{place}/{name}"


def run_sql(place, sql):
    """Run a statement of somebody else's, and return its rows."""
    if isinstance(place, str):
        with psycopg.connect(place, options="-c search_path=tideproof") as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []
    database = SqliteConnection(f"{place}/shop.db")
    try:
        return database.run(sql)
    finally:
        database.close()


def bytes_of(state):
    """Return book and numbers of a state, byte by byte."""
    return (
        serialize_state(pull_columns.book_to_columns(state.book)),
        state.policy_state.buffers(),
        state.book.salt,
    )


def memory_of(run):
    """Return the state that a process holds in memory, to compare it with the state of the log."""
    return run.internals.state


def log_of(run):
    """Return the event log that an experiment writes to, so that a test can damage or interrupt it."""
    return shared_log_of(run).log


def shared_log_of(run):
    """Return the connection between an experiment and its log."""
    return run._shared  # noqa: SLF001  faults must be planted in the connection that the experiment uses


def database_of(run):
    """Return the database connection of an experiment."""
    return log_of(run).database


def snapshot_size(run):
    """Return the number of events of the snapshot from which an experiment is opened; 0 without one."""
    return load_state(log_of(run)).snapshot


def check_refold(run):
    """Check that the log, folded from its beginning and by a snapshot, is what this process has in memory."""
    run.pending_pulls()  # catches up
    log = log_of(run)
    folded = load_state(log, snapshots=False)
    assert folded.snapshot == 0
    assert bytes_of(folded.state) == bytes_of(load_state(log).state) == bytes_of(memory_of(run))
    assert folded.state.events[:] == run.events() == memory_of(run).events[:]


def play(run, steps, seed=0, acknowledged=None):
    """Ask and tell, and note what was acknowledged."""
    noise = random.Random(seed)
    for step in range(steps):
        pull = run.ask(environment=f"day {step // 10}")
        reward = noise.gauss(0.0, 1.0)
        if acknowledged is not None:
            acknowledged[pull.id] = None
        run.tell(pull, reward)
        if acknowledged is not None:
            acknowledged[pull.id] = reward


def in_threads(*works):
    """Run these at once, and return what they return; what one raises is raised."""
    found, failed = [None] * len(works), []

    def run(place, work):
        try:
            found[place] = work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    if failed:
        raise failed[0]
    return found


def opened(place, **options):
    return tp.Experiment.open(url_of(place), "prices", ARMS, **({"budget": 5000, "seed": 3} | options))
