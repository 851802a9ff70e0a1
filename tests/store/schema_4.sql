
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
        webhook TEXT NOT NULL, experiment TEXT NOT NULL, events BIGINT NOT NULL, said TEXT NOT NULL,
        PRIMARY KEY (webhook, experiment)
    );
    
INSERT INTO tideproof.store_version OVERRIDING SYSTEM VALUE VALUES (4);
INSERT INTO tideproof.experiments OVERRIDING SYSTEM VALUE VALUES (1, 'prices', '{"arms": ["A", "B", "C"], "budget": 100, "policy": "contrast"}');
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 1, 1700000000.0, 0, '["Created",1700000000.0,null,["A","B","C"],100,{"name":"contrast+ols","label":"contrast","options":{}},0,"maximize",{"limits":null,"tide":"auto"},"01a9f2630a"]', '\x4a84391175e64508'::bytea, '\x46592295bb9dfa099c241ad04d5ff4c2'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 2, 1700000000.0, 1, '["Asked",1700000000.0,null,"monday",[1],null]', '\x375d5aa78f5052e8'::bytea, '\x647dcd916c51a05f180da0b96e0f36bd'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 3, 1700000000.0, 1, '["Told",1700000000.0,null,[0],[0.5]]', '\x375d5aa78f5052e8'::bytea, '\x1cedf49ef455596449f47a3d6de81236'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 4, 1700000000.0, 2, '["Asked",1700000000.0,null,"monday",[0],null]', '\x375d5aa78f5052e8'::bytea, '\xc37ab0e22060af4a81493393c8379151'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 5, 1700000000.0, 2, '["Told",1700000000.0,null,[1],[-0.25]]', '\x375d5aa78f5052e8'::bytea, '\x109199b258637eff732117836f6068ff'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 6, 1700000000.0, 3, '["Asked",1700000000.0,null,"monday",[2],null]', '\x375d5aa78f5052e8'::bytea, '\xf2a56ad9c28c9e14c30e904b9468a883'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 7, 1700000000.0, 3, '["Told",1700000000.0,null,[2],[2.0]]', '\x375d5aa78f5052e8'::bytea, '\xbe270d360d8eb89d7b68d386621f1dc3'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 8, 1700000000.0, 4, '["Asked",1700000000.0,null,"tuesday",[1],null]', '\x375d5aa78f5052e8'::bytea, '\xc9b5c6d8288d4927bb2886e156c2c27d'::bytea);
INSERT INTO tideproof.answers OVERRIDING SYSTEM VALUE VALUES (1, 'first', 8, '["ask", [], {"environment": "tuesday"}]', '3');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x4a84391175e64508'::bytea, '59b86e79387604143f9ba51fc98d9d5033882318ff3931d3ae06f5e308afc3af', '0.2.0');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x375d5aa78f5052e8'::bytea, '59b86e79387604143f9ba51fc98d9d5033882318ff3931d3ae06f5e308afc3af', '0.2.0');
SELECT setval('tideproof.experiments_id_seq', max(id)) FROM tideproof.experiments;
