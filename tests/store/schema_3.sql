
    CREATE SCHEMA IF NOT EXISTS tideproof;
    CREATE TABLE tideproof.store_version (version integer NOT NULL);
    INSERT INTO tideproof.store_version VALUES (0);
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
    

    CREATE TABLE tideproof.webhooks (
        id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, experiments TEXT NOT NULL,
        made_at DOUBLE PRECISION NOT NULL, made_by TEXT
    );
    CREATE TABLE tideproof.webhook_cursors (
        webhook TEXT NOT NULL, experiment TEXT NOT NULL, events BIGINT NOT NULL, said TEXT NOT NULL,
        PRIMARY KEY (webhook, experiment)
    );
    
DELETE FROM tideproof.store_version;
INSERT INTO tideproof.store_version OVERRIDING SYSTEM VALUE VALUES (3);
INSERT INTO tideproof.experiments OVERRIDING SYSTEM VALUE VALUES (1, 'prices', '{"arms": ["A", "B", "C"], "budget": 100, "policy": "contrast"}');
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 1, 1700000000.0, 0, '["Created",1700000000.0,null,["A","B","C"],100,{"name":"contrast+ols","label":"contrast","options":{}},0,"maximize",{"limits":null},"ae63924fa9"]', '\x21ba59695bd81965'::bytea, '\x9c6ce2b74aae0cb57fd7a658094c9816'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 2, 1700000000.0, 1, '["Asked",1700000000.0,null,"monday",[1],null]', '\xf60826ceeadf3c63'::bytea, '\x140b1105bc058e07366ed4efa99a31bb'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 3, 1700000000.0, 1, '["Told",1700000000.0,null,[0],[0.5]]', '\xf60826ceeadf3c63'::bytea, '\xea16d4be695dbf72a94ba9869ba3809e'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 4, 1700000000.0, 2, '["Asked",1700000000.0,null,"monday",[0],null]', '\xf60826ceeadf3c63'::bytea, '\x6f7544e5660cef5cde732f3fa8b5b4d9'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 5, 1700000000.0, 2, '["Told",1700000000.0,null,[1],[-0.25]]', '\xf60826ceeadf3c63'::bytea, '\x28ab4c3c3864c4c76ea84d7d1cdfe844'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 6, 1700000000.0, 3, '["Asked",1700000000.0,null,"monday",[2],null]', '\xf60826ceeadf3c63'::bytea, '\x19d11879efae47ca7aa62b914a347996'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 7, 1700000000.0, 3, '["Told",1700000000.0,null,[2],[2.0]]', '\xf60826ceeadf3c63'::bytea, '\x88086fe6baff99987924e24082584eb7'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 8, 1700000000.0, 4, '["Asked",1700000000.0,null,"tuesday",[1],null]', '\xf60826ceeadf3c63'::bytea, '\x9704ddfaf9aa1eb37df5d9946af88f9c'::bytea);
INSERT INTO tideproof.answers OVERRIDING SYSTEM VALUE VALUES (1, 'first', 8, '["ask", [], {"environment": "tuesday"}]', '3');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x21ba59695bd81965'::bytea, 'e4b4b1c00f27e9267e2cdff71530c1f61bd593203eca286b6ec138974fcb6367', '0.1.0');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\xf60826ceeadf3c63'::bytea, 'e4b4b1c00f27e9267e2cdff71530c1f61bd593203eca286b6ec138974fcb6367', '0.1.0');
SELECT setval('tideproof.experiments_id_seq', max(id)) FROM tideproof.experiments;
