"""SQL definitions of the tables of a SQLite file that stores experiments."""

from tideproof.store.service_tables import SERVICE_TABLES

APPLICATION = 0x54494445  # "TIDE": SQLite's application_id, which marks the file as a tideproof store

# Also used to create the trigger again after an experiment was deleted
EVENTS_ARE_KEPT = """CREATE TRIGGER events_are_kept BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'an event cannot be deleted'); END"""

TABLES = (
    """
    CREATE TABLE experiments (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, about TEXT NOT NULL
    );
    CREATE TABLE events (
        experiment INTEGER NOT NULL REFERENCES experiments, seq INTEGER NOT NULL, at REAL NOT NULL,
        pulls INTEGER NOT NULL, record TEXT NOT NULL, writer BLOB NOT NULL, hash BLOB NOT NULL,
        PRIMARY KEY (experiment, seq)
    ) WITHOUT ROWID;
    CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'an event cannot be changed'); END;
    """
    + EVENTS_ARE_KEPT
    + """;
    CREATE TRIGGER events_follow BEFORE INSERT ON events
        WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE experiment = NEW.experiment)
        BEGIN SELECT RAISE(ABORT, 'an event must follow the last one'); END;
    CREATE TABLE answers (
        experiment INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, command TEXT NOT NULL,
        answer TEXT NOT NULL, PRIMARY KEY (experiment, key)
    ) WITHOUT ROWID;
    CREATE TABLE salts (
        experiment INTEGER NOT NULL, seq INTEGER NOT NULL, salt TEXT NOT NULL, PRIMARY KEY (experiment, seq)
    ) WITHOUT ROWID;
    CREATE TABLE unit_hashes (
        experiment INTEGER NOT NULL, seq INTEGER NOT NULL, unit TEXT NOT NULL, PRIMARY KEY (experiment, seq)
    ) WITHOUT ROWID;
    CREATE TABLE writers (
        experiment INTEGER NOT NULL, writer BLOB NOT NULL, mark TEXT NOT NULL, version TEXT NOT NULL,
        PRIMARY KEY (experiment, writer)
    ) WITHOUT ROWID;
    CREATE TABLE snapshots (
        experiment INTEGER NOT NULL, mark TEXT NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL,
        digest BLOB NOT NULL, contents BLOB NOT NULL, PRIMARY KEY (experiment, mark, seq)
    );
    """
    + SERVICE_TABLES.replace("~", "")
)
