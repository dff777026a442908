-- What servers and workers share beside the tables of `serve/schema.sql`. Everything is made where it is missing, so that
-- it can be run at any time, by any version, beside servers that run.
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
