
    CREATE SCHEMA IF NOT EXISTS tideproof;
    CREATE TABLE tideproof.store_version (version integer NOT NULL);
    CREATE TABLE tideproof.experiments (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, about text NOT NULL
    );
    CREATE TABLE tideproof.events (
        experiment integer NOT NULL, seq bigint NOT NULL, at double precision NOT NULL,
        pulls bigint NOT NULL, record text NOT NULL, writer bytea NOT NULL, hash bytea NOT NULL,
        PRIMARY KEY (experiment, seq)
    );
    CREATE FUNCTION tideproof.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'an event cannot be changed or deleted'; END $$;
    CREATE FUNCTION tideproof.follow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM tideproof.events
                       WHERE experiment = NEW.experiment) THEN
            RAISE EXCEPTION 'an event must follow the last one';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE ON tideproof.events
        FOR EACH ROW EXECUTE FUNCTION tideproof.refuse();
    CREATE TRIGGER events_are_kept BEFORE TRUNCATE ON tideproof.events
        FOR EACH STATEMENT EXECUTE FUNCTION tideproof.refuse();
    CREATE TRIGGER events_follow BEFORE INSERT ON tideproof.events
        FOR EACH ROW EXECUTE FUNCTION tideproof.follow();
    CREATE TABLE tideproof.answers (
        experiment integer NOT NULL, key text NOT NULL, seq bigint NOT NULL, command text NOT NULL,
        answer text NOT NULL, PRIMARY KEY (experiment, key)
    );
    CREATE TABLE tideproof.salts (
        experiment integer NOT NULL, seq bigint NOT NULL, salt text NOT NULL, PRIMARY KEY (experiment, seq)
    );
    CREATE TABLE tideproof.writers (
        experiment integer NOT NULL, writer bytea NOT NULL, mark text NOT NULL, version text NOT NULL,
        PRIMARY KEY (experiment, writer)
    );
    CREATE TABLE tideproof.snapshots (
        experiment integer NOT NULL, mark text NOT NULL, seq bigint NOT NULL, hash bytea NOT NULL,
        digest bytea NOT NULL, contents bytea NOT NULL, PRIMARY KEY (experiment, mark, seq)
    );
    ALTER TABLE tideproof.snapshots ALTER COLUMN contents SET STORAGE EXTERNAL;
    
    CREATE TABLE tideproof.api_keys (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
        experiments TEXT NOT NULL, made_at DOUBLE PRECISION NOT NULL, made_by TEXT,
        revoked_at DOUBLE PRECISION, revoked_by TEXT
    );
    CREATE TABLE tideproof.sessions (
        hash TEXT PRIMARY KEY, key TEXT NOT NULL, ends_at DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE tideproof.write_checks (
        id INTEGER PRIMARY KEY, at DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE tideproof.webhooks (
        id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, experiments TEXT NOT NULL,
        made_at DOUBLE PRECISION NOT NULL, made_by TEXT
    );
    CREATE TABLE tideproof.webhook_cursors (
        webhook TEXT NOT NULL, experiment TEXT NOT NULL, events BIGINT NOT NULL, due_at DOUBLE PRECISION,
        PRIMARY KEY (webhook, experiment)
    );
    CREATE TABLE tideproof.webhook_messages (
        id TEXT PRIMARY KEY, webhook TEXT NOT NULL, experiment TEXT NOT NULL,
        made_at DOUBLE PRECISION NOT NULL, body TEXT NOT NULL, attempts INTEGER NOT NULL,
        free_at DOUBLE PRECISION NOT NULL, sent_at DOUBLE PRECISION
    );
    CREATE INDEX unsent_messages ON tideproof.webhook_messages (webhook, made_at, id) WHERE sent_at IS NULL;
    
INSERT INTO tideproof.store_version OVERRIDING SYSTEM VALUE VALUES (4);
INSERT INTO tideproof.experiments OVERRIDING SYSTEM VALUE VALUES (1, 'prices', '{"arms": ["A", "B", "C"], "budget": 100, "policy": "contrast"}');
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 1, 1700000000.0, 0, '["Created",1700000000.0,null,["A","B","C"],100,{"name":"contrast+ols","label":"contrast","options":{}},0,"maximize",{"limits":null,"tide":"auto"},"d142c39f47"]', '\x6b870e82ae8c5b3e'::bytea, '\xc5d14a634d62e385320abdae842f2b05'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 2, 1700000000.0, 1, '["Asked",1700000000.0,null,"monday",[1],null]', '\xa2aa31f566b98823'::bytea, '\x515e30de5177891fcf4cf42a697b5512'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 3, 1700000000.0, 1, '["Told",1700000000.0,null,[0],[0.5]]', '\xa2aa31f566b98823'::bytea, '\xfc3f1292737bce1a3fe0cc91038dd483'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 4, 1700000000.0, 2, '["Asked",1700000000.0,null,"monday",[0],null]', '\xa2aa31f566b98823'::bytea, '\xffb335a4e62b5cf2cdb08ee9d0b75db2'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 5, 1700000000.0, 2, '["Told",1700000000.0,null,[1],[-0.25]]', '\xa2aa31f566b98823'::bytea, '\x384c6efd893db1e52a617a44941e99cb'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 6, 1700000000.0, 3, '["Asked",1700000000.0,null,"monday",[2],null]', '\xa2aa31f566b98823'::bytea, '\x459d35f2807a1e02d369f4caab4d2a96'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 7, 1700000000.0, 3, '["Told",1700000000.0,null,[2],[2.0]]', '\xa2aa31f566b98823'::bytea, '\xfc7afcdd582e4095415ec07d2bc69b9a'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 8, 1700000000.0, 4, '["Asked",1700000000.0,null,"tuesday",[1],null]', '\xa2aa31f566b98823'::bytea, '\x8d8a9998faf6b90581fbdc3eb1353cdd'::bytea);
INSERT INTO tideproof.answers OVERRIDING SYSTEM VALUE VALUES (1, 'first', 8, '["ask", [], {"environment": "tuesday"}]', '3');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x6b870e82ae8c5b3e'::bytea, '59b86e79387604143f9ba51fc98d9d5033882318ff3931d3ae06f5e308afc3af', '0.2.0');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\xa2aa31f566b98823'::bytea, '59b86e79387604143f9ba51fc98d9d5033882318ff3931d3ae06f5e308afc3af', '0.2.0');
SELECT setval('tideproof.experiments_id_seq', max(id)) FROM tideproof.experiments;
