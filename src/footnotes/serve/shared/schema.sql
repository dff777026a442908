-- What servers and workers share beside the tables of `serve/schema.sql`. Everything is made where it is missing, so that
-- it can be run at any time, by any version, beside servers that run.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS stage text;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS done bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS total bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS token bigint;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS holder integer;
-- A job is attempted so often; one that somebody tries again gets as many more.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS most_attempts bigint NOT NULL DEFAULT 5;
CREATE SEQUENCE IF NOT EXISTS holders AS integer CYCLE;
CREATE OR REPLACE VIEW living AS SELECT objid::integer AS holder FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 4610 AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
CREATE INDEX IF NOT EXISTS jobs_unfinished ON jobs (updated_at) WHERE state IN ('queued', 'running');

-- Rates of callers, counted for all servers together.
CREATE TABLE IF NOT EXISTS buckets (
    name text PRIMARY KEY, level double precision NOT NULL, filled_at timestamptz NOT NULL);

-- A job, unless too many wait or too many bytes do: one at a time for a tenant, whichever server is asked.
CREATE OR REPLACE FUNCTION accept_job(
    new_id text, owner text, what text, label text, said text, file text, size bigint, moment text,
    most_waiting bigint, since text, room bigint) RETURNS SETOF jobs LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(4612, hashtext(owner));
    RETURN QUERY INSERT INTO jobs (id, tenant, kind, name, request, spool, bytes, state, created_at, updated_at)
    SELECT new_id, owner, what, label, said, file, size, 'queued', moment, moment
    WHERE (SELECT count(*) FROM jobs j WHERE j.tenant = owner AND j.state IN ('queued', 'running')) < most_waiting
    AND (room < 0 OR size + (SELECT coalesce(sum(j.bytes), 0) FROM jobs j WHERE j.tenant = owner
                             AND (j.spool IS NOT NULL OR j.updated_at >= since)) <= room)
    RETURNING *;
END $$;
-- What a job is about, as it is written in its request: one that is not valid JSON must not keep others from theirs.
CREATE OR REPLACE VIEW job_places AS SELECT id, number, tenant, kind, state,
    substring(request FROM '"collection": (null|"(?:[^"\\]|\\.)*")') AS collection,
    substring(request FROM '"(?:source|url)": ("(?:[^"\\]|\\.)*")') AS source FROM jobs;
-- Jobs that no earlier one of the same source holds back.
CREATE OR REPLACE VIEW jobs_in_turn AS SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY tenant, collection, source ORDER BY number) AS turn
    FROM job_places WHERE state IN ('queued', 'running')) unfinished WHERE turn = 1 OR source IS NULL;

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
