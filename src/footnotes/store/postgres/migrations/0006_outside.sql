-- A vector database may serve a leg. It follows a change log, which is written by triggers: whatever code changes what
-- searches see of a document, the change is in it. `seq` counts the transactions of a tenant that changed anything; it
-- is taken when they commit, under a lock on the tenant's row, so that a change with a lower number is never seen later.

-- Names this database to a vector database that may serve others too.
CREATE TABLE library (id text NOT NULL);
INSERT INTO library SELECT replace(gen_random_uuid()::text, '-', '');
GRANT SELECT ON library TO footnotes_tenant;

ALTER TABLE users ADD logged bigint NOT NULL DEFAULT 0;

-- One row a document and generation: the last change is the one that counts. A row without a document says that it went.
CREATE TABLE index_changes (
    user_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL REFERENCES generations (pk) ON DELETE CASCADE,
    document bigint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (generation, document)
);
CREATE INDEX index_changes_in_order ON index_changes (generation, seq);

-- The shelves of vector databases: what is on them, the last change they have seen, and, once their generation is gone,
-- that they are to be emptied. One of a generation is in use.
CREATE TABLE shelves (
    user_id text COLLATE "C" NOT NULL,
    address text NOT NULL,
    generation bigint NOT NULL,
    fingerprint text NOT NULL,
    dimensions integer NOT NULL,
    words text NOT NULL,
    in_use boolean NOT NULL DEFAULT true,
    seq bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (address, generation)
);
CREATE INDEX shelves_of_generation ON shelves (generation);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['index_changes', 'shelves'] LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO footnotes_tenant', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY one_tenant ON %I TO footnotes_tenant '
                       'USING (user_id = current_setting(''footnotes.user_id'', true)) '
                       'WITH CHECK (user_id = current_setting(''footnotes.user_id'', true))', name);
    END LOOP;
END $$;

-- The number of this transaction in its tenant's log; taken once.
CREATE FUNCTION logged_now(tenant text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    known text := current_setting('footnotes.logged', true);
    taken bigint;
BEGIN
    IF known = pg_current_xact_id()::text || ' ' || tenant THEN
        RETURN (SELECT u.logged FROM users u WHERE u.user_id = tenant);
    END IF;
    UPDATE users SET logged = logged + 1 WHERE user_id = tenant RETURNING logged INTO taken;
    PERFORM set_config('footnotes.logged', pg_current_xact_id()::text || ' ' || tenant, true);
    RETURN taken;
END $$;

CREATE FUNCTION log_document() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone CONSTANT boolean := TG_OP = 'DELETE';
    tenant CONSTANT text := CASE WHEN gone THEN OLD.user_id ELSE NEW.user_id END;
    document CONSTANT bigint := CASE WHEN gone THEN OLD.pk ELSE NEW.pk END;
BEGIN
    INSERT INTO index_changes (user_id, generation, document, seq)
    SELECT tenant, g.pk, document, logged_now(tenant) FROM generations g WHERE g.user_id = tenant ORDER BY g.pk
    ON CONFLICT ON CONSTRAINT index_changes_pkey DO UPDATE SET seq = excluded.seq;
    RETURN NULL;
END $$;

CREATE FUNCTION log_derived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO index_changes (user_id, generation, document, seq)
    SELECT NEW.user_id, g.pk, NEW.document, logged_now(NEW.user_id) FROM generations g WHERE g.pk = NEW.generation
    ON CONFLICT ON CONSTRAINT index_changes_pkey DO UPDATE SET seq = excluded.seq;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER log_removal AFTER DELETE ON documents DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.current IS NOT NULL) EXECUTE FUNCTION log_document();
-- A new text, other words about it, or vectors that it waited for.
CREATE CONSTRAINT TRIGGER log_change AFTER UPDATE ON documents DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (
        (OLD.current, OLD.collection, OLD.filename, OLD.source, OLD.title, OLD.mime, OLD.metadata)
        IS DISTINCT FROM (NEW.current, NEW.collection, NEW.filename, NEW.source, NEW.title, NEW.mime, NEW.metadata)
        OR (OLD.status IN ('embedding', 'queued')) <> (NEW.status IN ('embedding', 'queued'))
    ) EXECUTE FUNCTION log_document();
CREATE CONSTRAINT TRIGGER log_derived AFTER INSERT OR UPDATE ON derived DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION log_derived();

-- What was there before the log: a change each, so that a first shelf is filled with it.
INSERT INTO index_changes (user_id, generation, document, seq)
SELECT r.user_id, r.generation, r.document, row_number() OVER (PARTITION BY r.user_id ORDER BY r.document)
FROM derived r;
UPDATE users u SET logged = COALESCE((SELECT max(c.seq) FROM index_changes c WHERE c.user_id = u.user_id), 0);

-- Whether a generation is served by a vector database, for those who were told of one. Who was not reads the legs here,
-- and what is written here is ready for them.
CREATE FUNCTION is_served_outside(wanted bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT COALESCE(current_setting('footnotes.outside', true), '') = 'on'
           AND EXISTS (SELECT 1 FROM shelves s WHERE s.generation = wanted AND s.in_use)
$$;

-- Whether a document is to be brought to the vector database that serves its generation.
CREATE FUNCTION is_behind(document bigint, tenant text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT COALESCE(current_setting('footnotes.outside', true), '') = 'on' AND EXISTS (
        SELECT 1 FROM users u JOIN shelves s ON s.generation = u.serving AND s.in_use
        JOIN index_changes c ON c.generation = s.generation AND c.document = is_behind.document
        WHERE u.user_id = tenant AND c.seq > s.seq)
$$;
GRANT EXECUTE ON FUNCTION is_behind, is_served_outside, logged_now TO footnotes_tenant;

-- Functions that may change without a change of tables; see `functions/`.
CREATE TABLE footnotes_functions (name text PRIMARY KEY, version integer NOT NULL, digest text NOT NULL);
