"""SQL statements that create the tables of the HTTP service, for every database backend.

`~` comes before the name of each table.
"""

SERVICE_TABLES = """
    CREATE TABLE ~api_keys (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
        experiments TEXT NOT NULL, made_at DOUBLE PRECISION NOT NULL, made_by TEXT,
        revoked_at DOUBLE PRECISION, revoked_by TEXT
    );
    CREATE TABLE ~sessions (
        hash TEXT PRIMARY KEY, key TEXT NOT NULL, ends_at DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE ~write_checks (
        id INTEGER PRIMARY KEY, at DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE ~clock_marks (
        boot TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL, steady DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE ~webhooks (
        id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, experiments TEXT NOT NULL,
        made_at DOUBLE PRECISION NOT NULL, made_by TEXT
    );
    CREATE TABLE ~webhook_cursors (
        webhook TEXT NOT NULL, experiment TEXT NOT NULL, events BIGINT NOT NULL, due_at DOUBLE PRECISION,
        PRIMARY KEY (webhook, experiment)
    );
    CREATE TABLE ~webhook_messages (
        id TEXT PRIMARY KEY, webhook TEXT NOT NULL, experiment TEXT NOT NULL,
        made_at DOUBLE PRECISION NOT NULL, body TEXT NOT NULL, attempts INTEGER NOT NULL,
        free_at DOUBLE PRECISION NOT NULL, sent_at DOUBLE PRECISION
    );
    CREATE INDEX unsent_messages ON ~webhook_messages (webhook, made_at, id) WHERE sent_at IS NULL;
    """

WEBHOOK_TABLES = ("webhook_cursors", "webhook_messages")  # with rows of experiments, by name
