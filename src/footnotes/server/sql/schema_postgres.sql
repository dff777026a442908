-- The server's own tables. Everything is made where it is missing, so that this can be run at any time, by any version,
-- beside servers that run; nothing here is the truth about a document.
CREATE SCHEMA IF NOT EXISTS footnotes_server;
SET LOCAL search_path TO footnotes_server;

CREATE TABLE IF NOT EXISTS keys (
    id text PRIMARY KEY,
    secret_hash bytea NOT NULL,
    tenant text NOT NULL,
    name text NOT NULL,
    scopes text NOT NULL,
    created_at text NOT NULL,
    expires_at text,
    revoked_at text,
    last_used_at text
);

CREATE TABLE IF NOT EXISTS answers (
    tenant text NOT NULL,
    month text NOT NULL,
    used bigint NOT NULL,
    PRIMARY KEY (tenant, month)
);

-- What each key spent on models, in millionths of a US dollar.
CREATE TABLE IF NOT EXISTS spending (
    key_id text NOT NULL,
    month text NOT NULL,
    micros bigint NOT NULL,
    PRIMARY KEY (key_id, month)
);

CREATE TABLE IF NOT EXISTS jobs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    tenant text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    request text NOT NULL,
    spool text,
    bytes bigint NOT NULL DEFAULT 0,
    state text NOT NULL,
    result text NOT NULL DEFAULT '[]',
    error text,
    attempts bigint NOT NULL DEFAULT 0,
    created_at text NOT NULL,
    updated_at text NOT NULL
);
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS stage text;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS done bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS total bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS holder integer;
-- A job is attempted so often; one that somebody tries again gets as many more.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS most_attempts bigint NOT NULL DEFAULT 5;
-- What it is about: a later job of the same source replaces what an earlier one made.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS collection text;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS source text;
-- How many jobs of its tenant waited when it came, how often it made way for others, and when it may be tried again.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS turn bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS made_way bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS not_before timestamptz;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS is_cancelled bigint NOT NULL DEFAULT 0;
-- Jobs of servers that did not write their source down. Escapes that this database may not be able to read are left alone.
UPDATE jobs SET collection = request::json ->> 'collection',
    source = coalesce(request::json ->> 'source', request::json ->> 'url')
WHERE source IS NULL AND kind <> 'reindex' AND state <> 'ready' AND request !~ '\\u(0000|[dD][89a-fA-F])';
CREATE INDEX IF NOT EXISTS jobs_waiting ON jobs (turn, number) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS jobs_of_source ON jobs (tenant, md5(source)) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS jobs_by_tenant ON jobs (tenant, state, number);

-- Models that were connected on the page. `sealed` is the key, encrypted; `key_env` names a variable in its place.
CREATE TABLE IF NOT EXISTS connections (
    id text PRIMARY KEY,
    tenant text NOT NULL,
    name text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    base_url text NOT NULL,
    path text NOT NULL,
    sealed text NOT NULL,
    key_env text NOT NULL,
    is_default bigint NOT NULL,
    created_at text NOT NULL
);
CREATE INDEX IF NOT EXISTS connections_by_tenant ON connections (tenant, created_at);

-- Sources that are followed. `options` name secrets, `sealed` holds those that were handed over, encrypted. `every` are
-- seconds between two runs, 0 for none; `trusted` ones were added by whoever runs the server. The last run: what it did.
CREATE TABLE IF NOT EXISTS followed (
    id text PRIMARY KEY,
    tenant text NOT NULL,
    address text NOT NULL,
    collection text NOT NULL,
    options text NOT NULL,
    sealed text NOT NULL,
    metadata text NOT NULL,
    every bigint NOT NULL,
    trusted bigint NOT NULL,
    created_at text NOT NULL,
    next_at text NOT NULL,
    ran_at text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT 'new',
    counts text NOT NULL DEFAULT '{}',
    error text NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS followed_by_tenant ON followed (tenant, created_at);

-- What servers and workers of one database share.
CREATE SEQUENCE IF NOT EXISTS holders AS integer CYCLE;
CREATE OR REPLACE VIEW living AS SELECT objid::integer AS holder FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 4610 AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- Rates of callers, counted for all servers together.
CREATE TABLE IF NOT EXISTS buckets (
    name text PRIMARY KEY, level double precision NOT NULL, filled_at timestamptz NOT NULL);

-- A job, unless too many wait or too many bytes do: one at a time for a tenant, whichever server is asked. What was done
-- since a moment counts with what waits: it is not yet among the documents that were counted at that moment.
CREATE OR REPLACE FUNCTION accept_job(
    new_id text, owner text, what text, label text, said text, file text, size bigint, group_name text, place text,
    moment text, most_waiting bigint, since text, room bigint) RETURNS SETOF jobs LANGUAGE plpgsql AS $$
DECLARE
    waiting bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(4612, hashtext(owner));
    SELECT count(*) INTO waiting FROM jobs j WHERE j.tenant = owner AND j.state IN ('queued', 'running');
    RETURN QUERY INSERT INTO jobs (id, tenant, kind, name, request, spool, bytes, collection, source, state, turn,
                                   created_at, updated_at)
    SELECT new_id, owner, what, label, said, file, size, group_name, place, 'queued', waiting, moment, moment
    WHERE waiting < most_waiting
    AND (room < 0 OR size + (SELECT coalesce(sum(j.bytes), 0) FROM jobs j WHERE j.tenant = owner
                             AND (j.spool IS NOT NULL OR j.updated_at >= since)) <= room)
    RETURNING *;
END $$;

-- Workers, by their heartbeat: `reason` says why one is not ready.
CREATE TABLE IF NOT EXISTS workers (
    id text PRIMARY KEY,
    version text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    ready boolean NOT NULL DEFAULT true,
    reason text NOT NULL DEFAULT '',
    running integer NOT NULL DEFAULT 0
);

-- What workers have done since the database was made, by the name of the metric and its label.
CREATE TABLE IF NOT EXISTS counters (
    name text NOT NULL,
    label text NOT NULL,
    value double precision NOT NULL,
    PRIMARY KEY (name, label)
);

-- Uploaded bytes on their way from a server to a worker, in blocks.
CREATE TABLE IF NOT EXISTS uploads (
    name text NOT NULL,
    number integer NOT NULL,
    content bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, number)
);
ALTER TABLE uploads ALTER COLUMN content SET STORAGE EXTERNAL;

-- What machines have to agree on: the mark in the folder of the originals, where they share one.
CREATE TABLE IF NOT EXISTS marks (name text PRIMARY KEY, value text NOT NULL);

-- Which versions of this script were run here.
CREATE TABLE IF NOT EXISTS applied (digest text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
