"""The tables of a service, in words that every database knows; a `~` stands before their names."""

SERVICE = """
    CREATE TABLE ~api_keys (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
        experiments TEXT NOT NULL, made_at DOUBLE PRECISION NOT NULL, made_by TEXT,
        revoked_at DOUBLE PRECISION, revoked_by TEXT
    );
    CREATE TABLE ~sessions (
        hash TEXT PRIMARY KEY, key TEXT NOT NULL, ends_at DOUBLE PRECISION NOT NULL
    );
    """
