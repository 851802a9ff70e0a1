
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
    CREATE TABLE tideproof.unit_hashes (
        experiment integer NOT NULL, seq bigint NOT NULL, unit text NOT NULL, PRIMARY KEY (experiment, seq)
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
    CREATE TABLE tideproof.clock_marks (
        boot TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL, steady DOUBLE PRECISION NOT NULL
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
    
INSERT INTO tideproof.store_version OVERRIDING SYSTEM VALUE VALUES (5);
INSERT INTO tideproof.experiments OVERRIDING SYSTEM VALUE VALUES (1, 'prices', '{"arms": ["A", "B", "C"], "budget": 100, "policy": "contrast", "flag": false, "stopped": false, "shipped": null, "archived_at": null}');
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 1, 1700000000.0, 0, '["Created",1700000000.0,null,["A","B","C"],100,{"name":"contrast+ols","label":"contrast","options":{}},0,"maximize",{"limits":null,"tide":"auto"},"42edaf743c"]', '\x10b7f4a30c094dc3'::bytea, '\xf463acdcc6a67b10798d9a40343b2f23'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 2, 1700000000.0, 1, '["Asked",1700000000.0,null,"monday",[1],null]', '\x5ba7553d25f0c862'::bytea, '\x82aa56dfa21fbe7d0f06d45e3d22a0cb'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 3, 1700000000.0, 1, '["Told",1700000000.0,null,[0],[0.5]]', '\x5ba7553d25f0c862'::bytea, '\xb861658c6fa7c55d7e73332022c51e0f'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 4, 1700000000.0, 2, '["Asked",1700000000.0,null,"monday",[0],null]', '\x5ba7553d25f0c862'::bytea, '\xfa0fe64d0aef78ac0fab814417864f02'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 5, 1700000000.0, 2, '["Told",1700000000.0,null,[1],[-0.25]]', '\x5ba7553d25f0c862'::bytea, '\xc98c222633f2d2cd9920e0e1774668a4'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 6, 1700000000.0, 3, '["Asked",1700000000.0,null,"monday",[2],null]', '\x5ba7553d25f0c862'::bytea, '\x8ff224b764b97f37b7b7246e01f6b9c2'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 7, 1700000000.0, 3, '["Told",1700000000.0,null,[2],[2.0]]', '\x5ba7553d25f0c862'::bytea, '\x4379a93b2b144e94c2df29d5ba725468'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 8, 1700000000.0, 4, '["Asked",1700000000.0,null,"tuesday",[1],null]', '\x5ba7553d25f0c862'::bytea, '\xdc5037e6aa36ad21f937373919512daf'::bytea);
INSERT INTO tideproof.answers OVERRIDING SYSTEM VALUE VALUES (1, 'first', 8, '["ask", [], {"environment": "tuesday"}]', '3');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x10b7f4a30c094dc3'::bytea, '9659eda4ec90f3d0d97c23a95033402c77e7bd4b74586be9350a661218c1a576', '0.2.0');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x5ba7553d25f0c862'::bytea, '9659eda4ec90f3d0d97c23a95033402c77e7bd4b74586be9350a661218c1a576', '0.2.0');
SELECT setval('tideproof.experiments_id_seq', max(id)) FROM tideproof.experiments;
