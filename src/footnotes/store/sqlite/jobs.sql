-- name: make_job
INSERT INTO jobs (user_id, run, kind, source, request, stage, total, holder, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?) RETURNING pk;

-- name: set_job
UPDATE jobs SET stage = ?, done = ?, total = ?, error = ?, retryable = ?, document = COALESCE(?, document),
    updated_at = ?
WHERE user_id = ? AND pk = ?;

-- name: take_job
UPDATE jobs SET stage = 'queued', attempts = attempts + 1, error = NULL, holder = ?, updated_at = ?
WHERE user_id = ? AND pk = ?;

-- name: jobs
SELECT pk, run, kind, source, request, stage, done, total, attempts, error, retryable, document, holder, created_at,
       updated_at
FROM jobs WHERE user_id = ? ORDER BY pk;

-- name: running_jobs
SELECT 1 FROM jobs WHERE holder <> '' LIMIT 1;

-- name: let_go_jobs
UPDATE jobs SET holder = '', stage = CASE WHEN stage IN ('ready', 'failed') THEN stage ELSE 'queued' END
WHERE holder <> '';

-- name: prune_jobs
DELETE FROM jobs WHERE user_id = ?1 AND stage = 'ready' AND run IS NULL AND pk < (
    SELECT MAX(pk) FROM jobs WHERE user_id = ?1) - ?2;

-- name: drop_jobs_of
DELETE FROM jobs WHERE user_id = ? AND (document = ? OR source = ?) AND run IS NOT NULL;

-- name: leave_out
-- Of every run that `resume` would go on with.
UPDATE jobs SET request = json_set(request, '$.deleted',
    json(json_insert(COALESCE(json_extract(request, '$.deleted'), '[]'), '$[#]', ?2)))
WHERE user_id = ?1 AND run IS NULL AND kind = 'add' AND (stage <> 'ready' OR pk IN (
    SELECT run FROM jobs WHERE user_id = ?1 AND stage = 'failed' AND retryable));
