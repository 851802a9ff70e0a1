
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
    
DELETE FROM tideproof.store_version;
INSERT INTO tideproof.store_version OVERRIDING SYSTEM VALUE VALUES (1);
INSERT INTO tideproof.experiments OVERRIDING SYSTEM VALUE VALUES (1, 'prices', '{"arms": ["A", "B", "C"], "budget": 100, "policy": "contrast"}');
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 1, 1700000000.0, 0, '["Created",1700000000.0,null,["A","B","C"],100,{"name":"contrast+ols","label":"contrast","options":{}},0,"maximize",{"limits":null},"d027ae961e"]', '\x065c0ac8c16c7a99'::bytea, '\xd836c509050915db0387ff33161c6520'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 2, 1700000000.0, 1, '["Asked",1700000000.0,null,"monday",[1],null]', '\x828d980e0593a177'::bytea, '\x9aa7eee0c0edbc34db084b465b92338d'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 3, 1700000000.0, 1, '["Told",1700000000.0,null,[0],[0.5]]', '\x828d980e0593a177'::bytea, '\x6a43d840dd3d7207d63aaa4a68537a3b'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 4, 1700000000.0, 2, '["Asked",1700000000.0,null,"monday",[0],null]', '\x828d980e0593a177'::bytea, '\xb2701a0c13327ab38b746a83a5ed6bff'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 5, 1700000000.0, 2, '["Told",1700000000.0,null,[1],[-0.25]]', '\x828d980e0593a177'::bytea, '\x84dc9f29d6f56d0ad5af69b2cea2c7d2'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 6, 1700000000.0, 3, '["Asked",1700000000.0,null,"monday",[2],null]', '\x828d980e0593a177'::bytea, '\x3d1c45adaff8c4d00964fed53b437258'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 7, 1700000000.0, 3, '["Told",1700000000.0,null,[2],[2.0]]', '\x828d980e0593a177'::bytea, '\xeb1f7fd6307e2b5908781b0f636d2a2e'::bytea);
INSERT INTO tideproof.events OVERRIDING SYSTEM VALUE VALUES (1, 8, 1700000000.0, 4, '["Asked",1700000000.0,null,"tuesday",[1],null]', '\x828d980e0593a177'::bytea, '\xa735ccd9839057ae6ec28f5e73a386df'::bytea);
INSERT INTO tideproof.answers OVERRIDING SYSTEM VALUE VALUES (1, 'first', 8, '["ask", [], {"environment": "tuesday"}]', '3');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x065c0ac8c16c7a99'::bytea, 'f7c144ed60633074d2f389542a373cbc54ed152a6163e660610a53eab0b17089', '0.1.0');
INSERT INTO tideproof.writers OVERRIDING SYSTEM VALUE VALUES (1, '\x828d980e0593a177'::bytea, 'f7c144ed60633074d2f389542a373cbc54ed152a6163e660610a53eab0b17089', '0.1.0');
SELECT setval('tideproof.experiments_id_seq', max(id)) FROM tideproof.experiments;
