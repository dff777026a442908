-- The journal, what is known of sources outside, originals, and what dead writers left. $1 is the tenant.

-- name: make_job
INSERT INTO jobs (user_id, run, kind, source, request, stage, holder) VALUES ($1, $2, $3, $4, $5, 'queued', $6)
RETURNING pk

-- name: set_job
UPDATE jobs SET stage = $3, done = $4, total = $5, error = $6, retryable = $7, document = COALESCE($8, document),
    updated_at = now()
WHERE user_id = $1 AND pk = $2

-- name: take_jobs
UPDATE jobs SET stage = 'queued', attempts = attempts + 1, error = NULL, holder = $3, updated_at = now()
WHERE user_id = $1 AND pk = ANY ($2)

-- name: jobs
SELECT pk, run, kind, source, request, stage, done, total, attempts, error, retryable, document,
       substr(holder, strpos(holder, ' ') + 1), created_at, updated_at
FROM jobs WHERE user_id = $1 ORDER BY pk

-- name: let_go_jobs
-- A job is held by "number label": those of the writer itself and of writers that are no more.
UPDATE jobs SET holder = '', stage = CASE WHEN stage IN ('ready', 'failed') THEN stage ELSE 'queued' END
WHERE user_id = $1 AND holder <> '' AND (
    split_part(holder, ' ', 1)::integer = $2 OR split_part(holder, ' ', 1)::integer NOT IN (SELECT living()))

-- name: prune_jobs
DELETE FROM jobs WHERE user_id = $1 AND stage = 'ready' AND run IS NULL AND pk < (
    SELECT max(pk) FROM jobs WHERE user_id = $1) - $2

-- name: drop_jobs_of
DELETE FROM jobs WHERE user_id = $1 AND run IS NOT NULL AND (document = ANY ($2) OR source = ANY ($3))

-- name: leave_out
-- Of every run that `resume` would go on with.
UPDATE jobs SET request = jsonb_set(request, '{deleted}', COALESCE(request -> 'deleted', '[]') || to_jsonb($2::text[]))
WHERE user_id = $1 AND run IS NULL AND kind = 'add' AND (stage <> 'ready' OR pk IN (
    SELECT run FROM jobs WHERE user_id = $1 AND stage = 'failed' AND retryable))

-- name: drop_collection
DELETE FROM collections WHERE user_id = $1 AND name = $2
AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.user_id = $1 AND d.collection = $2)

-- name: drop_collection_origins
DELETE FROM origins WHERE user_id = $1 AND collection = $2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = $1 AND c.name = $2)

-- name: drop_collection_jobs
DELETE FROM jobs WHERE user_id = $1 AND request ->> 'collection' = $2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = $1 AND c.name = $2)

-- name: known_below
SELECT s.source, d.id, d.file_hash, d.mime, d.status, d.chunks, d.ingestion_version, d.bytes,
       o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.error, o.made_by
FROM sources s JOIN documents d ON d.pk = s.document
LEFT JOIN origins o ON o.user_id = s.user_id AND o.collection = s.collection AND o.source = s.source
WHERE s.user_id = $1 AND s.collection = $2 AND s.source >= $3 AND s.source < $4
UNION ALL
SELECT o.source, NULL, NULL, NULL, NULL, 0, NULL, 0, o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.error, o.made_by
FROM origins o
WHERE o.user_id = $1 AND o.collection = $2 AND o.source >= $3 AND o.source < $4 AND NOT EXISTS (
    SELECT 1 FROM sources s WHERE s.user_id = o.user_id AND s.collection = o.collection AND s.source = o.source)

-- name: put_origin
INSERT INTO origins (user_id, collection, source, size, mtime_ns, ctime_ns, read_ns, etag, modified, error, made_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (user_id, collection, source) DO UPDATE SET
    size = excluded.size, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, read_ns = excluded.read_ns,
    etag = excluded.etag, modified = excluded.modified, error = excluded.error, made_by = excluded.made_by

-- name: origin_version
SELECT etag, modified FROM origins WHERE user_id = $1 AND collection = $2 AND source = $3 AND error IS NULL

-- name: drop_origin
DELETE FROM origins WHERE user_id = $1 AND collection = $2 AND source = $3

-- name: rename_document
UPDATE documents SET source = $3, filename = $4, title = $5, updated_at = now() WHERE user_id = $1 AND pk = $2

-- name: misnamed_documents
SELECT d.id, (SELECT min(o.source) FROM sources o WHERE o.document = d.pk) FROM documents d
WHERE d.user_id = $1 AND d.collection = $2 AND NOT EXISTS (
    SELECT 1 FROM sources s WHERE s.user_id = $1 AND s.collection = $2 AND s.source = d.source AND s.document = d.pk)

-- name: is_unfinished
SELECT EXISTS (SELECT 1 FROM versions WHERE user_id = $1 AND holder IS NOT NULL AND holder NOT IN (SELECT living()))
    OR EXISTS (SELECT 1 FROM documents WHERE user_id = $1 AND status NOT IN ('ready', 'failed', 'queued')
               AND (holder IS NULL OR holder NOT IN (SELECT living()))
               AND NOT (status = 'indexing' AND holder IS NULL AND is_behind(pk, $1)))
    OR EXISTS (SELECT 1 FROM originals WHERE user_id = $1 AND document IS NULL
               AND (holder IS NULL OR holder NOT IN (SELECT living())))
    OR EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND holder <> ''
               AND split_part(holder, ' ', 1)::integer NOT IN (SELECT living()))

-- name: settle_alone
SELECT pg_advisory_xact_lock(4611, hashtext($1))

-- name: drop_left_versions
-- What is served is nobody's draft.
DELETE FROM versions v WHERE v.user_id = $1 AND v.holder IS NOT NULL
AND (v.holder = $2 OR v.holder NOT IN (SELECT living()))
AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.pk = v.document AND d.current = v.pk)

-- name: settle_left_documents
UPDATE documents SET holder = NULL, updated_at = now(),
    status = CASE WHEN current IS NULL THEN 'failed' WHEN status = 'embedding' THEN 'queued'
                  WHEN is_behind(pk, $1) THEN 'indexing' ELSE 'ready' END,
    error = CASE WHEN current IS NULL OR status = 'embedding' THEN $3::jsonb END
WHERE user_id = $1 AND status NOT IN ('ready', 'failed', 'queued')
AND (holder IS NULL OR holder = $2 OR holder NOT IN (SELECT living()))
AND NOT (status = 'indexing' AND holder IS NULL AND is_behind(pk, $1))

-- name: let_go_left_documents
UPDATE documents SET holder = NULL WHERE user_id = $1 AND status IN ('ready', 'failed', 'queued')
AND holder IS NOT NULL AND (holder = $2 OR holder NOT IN (SELECT living()))
