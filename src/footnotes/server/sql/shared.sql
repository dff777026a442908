-- The server's queries for both dialects. `$1`, `$2`, … are the names in a header, in order.

-- name: any_key()
SELECT 1 AS one FROM keys LIMIT 1

-- name: add_key(id, secret_hash, tenant, name, scopes, created_at, expires_at)
INSERT INTO keys (id, secret_hash, tenant, name, scopes, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: find_key(id, tenant)
SELECT * FROM keys WHERE id = $1 AND tenant = coalesce($2, tenant)

-- name: keys_of(tenant)
SELECT * FROM keys WHERE tenant = coalesce($1, tenant) ORDER BY created_at, id

-- name: revoke_key(id, moment)
UPDATE keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1

-- name: all_keys()
SELECT * FROM keys

-- name: copy_key(id, secret_hash, tenant, name, scopes, created_at, expires_at, revoked_at, last_used_at)
INSERT INTO keys (id, secret_hash, tenant, name, scopes, created_at, expires_at, revoked_at, last_used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING

-- Answers of a month, and the spending of keys on models.

-- name: count_answer(tenant, month, limit)
INSERT INTO answers (tenant, month, used) VALUES ($1, $2, 1) ON CONFLICT (tenant, month) DO UPDATE
SET used = answers.used + 1 WHERE answers.used < $3 RETURNING used

-- name: uncount_answer(tenant, month)
UPDATE answers SET used = used - 1 WHERE tenant = $1 AND month = $2 AND used > 0

-- name: answers_of(tenant, month)
SELECT used FROM answers WHERE tenant = $1 AND month = $2

-- name: all_answers()
SELECT * FROM answers

-- name: copy_answers(tenant, month, used)
INSERT INTO answers (tenant, month, used) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: spend(key_id, month, micros)
INSERT INTO spending (key_id, month, micros) VALUES ($1, $2, $3) ON CONFLICT (key_id, month) DO UPDATE
SET micros = spending.micros + excluded.micros

-- name: spent(key_id, month)
SELECT micros FROM spending WHERE key_id = $1 AND month = $2

-- Connected models.

-- name: connections_of(tenant)
SELECT * FROM connections WHERE tenant = $1 ORDER BY created_at, id

-- name: find_connection(tenant, id)
SELECT * FROM connections WHERE tenant = $1 AND id = $2

-- name: add_connection(id, tenant, name, provider, model, base_url, path, sealed, key_env, created_at)
INSERT INTO connections (id, tenant, name, provider, model, base_url, path, sealed, key_env, created_at, is_default)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)

-- name: choose_connection(tenant, id)
UPDATE connections SET is_default = CASE WHEN id = $2 THEN 1 ELSE 0 END WHERE tenant = $1

-- name: remove_connection(tenant, id)
DELETE FROM connections WHERE tenant = $1 AND id = $2

-- Followed sources.

-- name: followed_by(tenant)
SELECT * FROM followed WHERE tenant = $1 ORDER BY created_at, id

-- name: find_followed(tenant, id)
SELECT * FROM followed WHERE tenant = $1 AND id = $2

-- name: follow(id, tenant, address, collection, options, sealed, metadata, every, trusted, created_at, next_at)
INSERT INTO followed (id, tenant, address, collection, options, sealed, metadata, every, trusted, created_at, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: unfollow(tenant, id)
DELETE FROM followed WHERE tenant = $1 AND id = $2

-- name: due(moment)
SELECT id, every, next_at FROM followed WHERE next_at <> '' AND next_at <= $1 ORDER BY next_at LIMIT 50

-- name: take_turn(id, next_at, now_at)
-- Only one server finds it unchanged.
UPDATE followed SET next_at = $2, state = 'queued' WHERE id = $1 AND next_at = $3 RETURNING *

-- name: note_queued(id)
UPDATE followed SET state = 'queued' WHERE id = $1

-- name: note_run(id, state, moment, error, counts)
UPDATE followed SET state = $2, ran_at = $3, error = $4, counts = CASE WHEN $5 = '' THEN counts ELSE $5 END WHERE id = $1

-- Jobs.

-- name: waiting_bytes(tenant)
SELECT coalesce(sum(bytes), 0) AS n FROM jobs WHERE tenant = $1 AND spool IS NOT NULL

-- name: waiting(tenant)
SELECT count(*) AS n FROM jobs WHERE tenant = coalesce($1, tenant) AND state IN ('queued', 'running')

-- name: count_states()
SELECT state, count(*) AS jobs FROM jobs GROUP BY state

-- name: count_states_by_tenant()
SELECT tenant, state, count(*) AS jobs FROM jobs GROUP BY tenant, state

-- name: find_job(tenant, id)
SELECT * FROM jobs WHERE tenant = $1 AND id = $2

-- name: job(id)
SELECT * FROM jobs WHERE id = $1

-- name: jobs_of(tenant, state, limit, offset)
SELECT * FROM jobs WHERE tenant = $1 AND state = coalesce($2, state) ORDER BY number DESC LIMIT $3 OFFSET $4

-- name: recent_jobs()
SELECT id FROM jobs ORDER BY updated_at DESC LIMIT 200

-- name: ended_jobs(tenant)
SELECT * FROM jobs WHERE tenant = $1 AND state IN ('ready', 'failed')

-- name: failed_jobs(tenant, collection)
SELECT * FROM jobs WHERE tenant = $1 AND state = 'failed' AND collection = $2

-- name: unfinished_jobs(tenant)
SELECT * FROM jobs WHERE tenant = $1 AND state IN ('queued', 'running') AND source IS NOT NULL

-- name: undone_uploads(tenant)
SELECT * FROM jobs WHERE tenant = $1 AND state <> 'ready' AND kind = 'upload'

-- name: later_job(tenant, number, collection, source)
SELECT 1 AS one FROM jobs WHERE tenant = $1 AND number > $2 AND state <> 'failed'
AND collection IS NOT DISTINCT FROM $3 AND source = $4 LIMIT 1

-- name: set_request(id, request)
UPDATE jobs SET request = $2 WHERE id = $1

-- name: set_progress(id, stage, done, total, updated_at)
UPDATE jobs SET stage = $2, done = $3, total = $4, updated_at = $5 WHERE id = $1 AND state = 'running'

-- name: allow_attempts(id, more)
UPDATE jobs SET most_attempts = attempts + $2 WHERE id = $1

-- name: cancel_job(id)
UPDATE jobs SET is_cancelled = 1 WHERE id = $1

-- name: remove_job(id)
DELETE FROM jobs WHERE id = $1

-- name: requeue_running(updated_at)
UPDATE jobs SET state = 'queued', stage = NULL, updated_at = $1 WHERE state = 'running'

-- name: forget_ready(kept)
DELETE FROM jobs WHERE state = 'ready' AND number <= (SELECT coalesce(max(number), 0) FROM jobs) - $1

-- name: spools()
SELECT spool FROM jobs WHERE spool IS NOT NULL
