-- The job table.

-- name: make_jobs(user_id, run, jobs, holder, label)
-- Each job has a kind, a source and a request. It is held by "number label"; the number is 0 outside of writing.
INSERT INTO jobs (user_id, run, kind, source, request, stage, holder)
SELECT $1::text, $2::bigint, n.job ->> 0, n.job ->> 1, n.job -> 2, 'queued', concat($4::integer, ' ', $5::text)
FROM jsonb_array_elements($3::text::jsonb) WITH ORDINALITY AS n (job, number) ORDER BY n.number RETURNING pk

-- name: set_jobs(user_id, job, stage, done, total, error, retryable, document)
UPDATE jobs j SET stage = n.stage, done = n.done, total = n.total, error = n.error::jsonb, retryable = n.retryable,
    document = COALESCE(n.document, j.document), updated_at = now()
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[], $8::text[])
     AS n (user_id, job, stage, done, total, error, retryable, document)
WHERE j.user_id = n.user_id AND j.pk = n.job

-- name: take_jobs(user_id, jobs, holder, label)
UPDATE jobs SET stage = 'queued', attempts = attempts + 1, error = NULL, updated_at = now(),
    holder = concat($3::integer, ' ', $4::text)
WHERE user_id = $1 AND pk = ANY ($2)

-- fragment: job_columns
pk, run, kind, source, request::text AS request, stage, done, total, attempts, error::text AS error, retryable,
       document, substr(holder, strpos(holder, ' ') + 1) AS holder,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"') AS created_at,
       to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"') AS updated_at

-- name: jobs(user_id)
SELECT {job_columns} FROM jobs WHERE user_id = $1 ORDER BY pk

-- name: runs(user_id)
SELECT {job_columns} FROM jobs WHERE user_id = $1 AND run IS NULL ORDER BY pk

-- name: release_jobs(user_id, holder)
-- Release those of this writer and of dead writers.
UPDATE jobs SET holder = '', stage = CASE WHEN stage IN ('ready', 'failed') THEN stage ELSE 'queued' END
WHERE user_id = $1 AND holder <> '' AND (
    split_part(holder, ' ', 1)::integer = $2 OR split_part(holder, ' ', 1)::integer NOT IN (SELECT living()))

-- name: prune_jobs(user_id, kept)
DELETE FROM jobs WHERE user_id = $1 AND stage = 'ready' AND run IS NULL AND pk < (
    SELECT max(pk) FROM jobs WHERE user_id = $1) - $2

-- name: drop_jobs_of(user_id, ids, sources)
DELETE FROM jobs WHERE user_id = $1 AND run IS NOT NULL AND (document = ANY ($2) OR source = ANY ($3))

-- name: leave_out(user_id, marks)
-- In every run that `resume` would continue.
UPDATE jobs SET request = jsonb_set(request, '{deleted}', COALESCE(request -> 'deleted', '[]') || to_jsonb($2::text[]))
WHERE user_id = $1 AND run IS NULL AND kind = 'add' AND (stage <> 'ready' OR pk IN (
    SELECT run FROM jobs WHERE user_id = $1 AND stage = 'failed' AND retryable))
