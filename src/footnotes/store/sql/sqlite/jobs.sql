-- The job table.

-- name: make_jobs(user_id, run, jobs, label)
-- Each job has a kind, a source and a request.
INSERT INTO jobs (user_id, run, kind, source, request, stage, holder, created_at, updated_at)
SELECT ?1, ?2, value ->> 0, value ->> 1, value -> 2, 'queued', ?4, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'),
       strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')
FROM json_each(?3) RETURNING pk;

-- name: set_jobs(user_id, rows)
-- A finished job has no holder.
UPDATE jobs SET stage = n.value ->> 'stage', done = n.value ->> 'done', total = n.value ->> 'total',
    error = NULLIF(n.value -> 'error', 'null'), retryable = n.value ->> 'retryable',
    document = COALESCE(n.value ->> 'document', document), updated_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'),
    holder = CASE WHEN n.value ->> 'stage' IN ('ready', 'failed') THEN '' ELSE holder END
FROM json_each(?2) n WHERE jobs.pk = n.value ->> 'job' AND +jobs.user_id = ?1;

-- name: take_jobs(user_id, jobs, label)
UPDATE jobs SET stage = 'queued', attempts = attempts + 1, error = NULL, holder = ?3,
    updated_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')
WHERE user_id = ?1 AND pk IN (SELECT value FROM carray(?2));

-- fragment: job_columns
pk, run, kind, source, request, stage, done, total, attempts, error, retryable, document, holder, created_at,
       updated_at

-- name: jobs(user_id)
SELECT {job_columns} FROM jobs WHERE user_id = ?1 ORDER BY pk;

-- name: runs(user_id)
SELECT {job_columns} FROM jobs WHERE user_id = ?1 AND run IS NULL ORDER BY pk;

-- name: release_jobs()
-- There is one writer at a time, for all tenants: release its jobs and those of dead writers.
UPDATE jobs SET holder = '', stage = CASE WHEN stage IN ('ready', 'failed') THEN stage ELSE 'queued' END
WHERE holder <> '';

-- name: prune_jobs(user_id, kept)
DELETE FROM jobs WHERE user_id = ?1 AND stage = 'ready' AND run IS NULL AND pk < (
    SELECT MAX(pk) FROM jobs WHERE user_id = ?1) - ?2;

-- name: drop_jobs_of(user_id, ids, sources)
DELETE FROM jobs WHERE user_id = ?1 AND run IS NOT NULL AND (
    document IN (SELECT value FROM json_each(?2)) OR source IN (SELECT value FROM json_each(?3)));

-- name: leave_out(user_id, marks)
-- In every run that `resume` would continue.
UPDATE jobs SET request = json_set(request, '$.deleted', json((
    SELECT json_group_array(value) FROM (
        SELECT value FROM json_each(COALESCE(json_extract(request, '$.deleted'), '[]'))
        UNION ALL SELECT value FROM json_each(?2)))))
WHERE user_id = ?1 AND run IS NULL AND kind = 'add' AND (stage <> 'ready' OR pk IN (
    SELECT run FROM jobs WHERE user_id = ?1 AND stage = 'failed' AND retryable));
