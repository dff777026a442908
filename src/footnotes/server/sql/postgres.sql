-- The server's queries in PostgreSQL's syntax, and those that only servers with a shared database need.

-- fragment: is_free
-- No earlier version of the same source is unfinished.
NOT EXISTS (SELECT 1 FROM jobs e WHERE e.tenant = j.tenant AND e.collection IS NOT DISTINCT FROM j.collection
            AND md5(e.source) = md5(j.source) AND e.source = j.source AND e.number < j.number AND e.state IN ('queued', 'running'))

-- name: accept_job(id, tenant, kind, name, request, spool, bytes, collection, source, moment, most_waiting, since, room)
SELECT * FROM accept_job($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)

-- name: claim_job(holder, kinds, at, moment)
-- A queued job, or one whose worker is dead. A job of this holder that it does not run may be claimed again.
UPDATE jobs SET state = 'running', attempts = attempts + 1, holder = $1, updated_at = $4, not_before = NULL WHERE id = (
    SELECT j.id FROM jobs j WHERE j.state IN ('queued', 'running') AND j.kind = ANY ($2)
    AND CASE WHEN j.state = 'queued' THEN j.not_before IS NULL OR j.not_before <= now()
             WHEN j.holder = $1 THEN j.id <> ALL ($3)
             ELSE j.holder IS NULL OR j.holder NOT IN (SELECT holder FROM living) END
    -- Callers wait for addresses: those of one tenant run one after the other, so they never take every worker.
    AND (j.kind <> 'url' OR NOT EXISTS (SELECT 1 FROM jobs o WHERE o.tenant = j.tenant AND o.kind = 'url' AND o.id <> j.id
        AND o.state = 'running' AND o.holder IN (SELECT holder FROM living)))
    AND {is_free} ORDER BY j.turn, j.number LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
RETURNING *

-- name: claim_alike(holder, tenant, collection, most, moment)
UPDATE jobs SET state = 'running', attempts = attempts + 1, holder = $1, updated_at = $5 WHERE id IN (
    SELECT j.id FROM jobs j WHERE j.state = 'queued' AND j.kind = 'upload' AND j.attempts = 0 AND j.tenant = $2
    AND j.collection IS NOT DISTINCT FROM $3 AND {is_free} ORDER BY j.turn, j.number LIMIT $4 FOR UPDATE OF j SKIP LOCKED)
RETURNING *

-- name: set_job(id, holder, state, result, error, attempts, spool, made_way, delay, moment)
UPDATE jobs SET state = $3, result = $4, error = $5, attempts = $6, spool = $7, made_way = $8, updated_at = $10,
    stage = NULL, not_before = CASE WHEN $9::double precision > 0 THEN now() + make_interval(secs => $9) END
WHERE id = $1 AND ($2::integer IS NULL OR holder = $2 AND state = 'running') RETURNING *

-- name: waiting_beside(tenant, kinds)
SELECT coalesce(max((tenant <> $1)::integer), 0) AS others,
       coalesce(max((tenant = $1 AND made_way = 0)::integer), 0) AS own
FROM jobs WHERE state = 'queued' AND kind = ANY ($2)

-- name: notify(channel, text)
SELECT pg_notify($1, $2)

-- Leases: a number, and a lock on it that lives as long as its connection.

-- name: next_holder()
SELECT nextval('holders')

-- name: hold(number)
SELECT pg_advisory_lock(4610, $1)

-- Rates of callers, shared by all servers.

-- name: take_token(name, burst, rate)
INSERT INTO buckets AS b (name, level, filled_at) VALUES ($1, $2::double precision - 1, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET filled_at = clock_timestamp(), level = least($2,
    b.level + extract(epoch FROM clock_timestamp() - b.filled_at) * $3::double precision) - 1
WHERE b.level + extract(epoch FROM clock_timestamp() - b.filled_at) * $3 >= 1 RETURNING level

-- name: token_level(name, burst, rate)
SELECT least($2::double precision, level + extract(epoch FROM clock_timestamp() - filled_at) * $3::double precision)
    AS level FROM buckets WHERE name = $1

-- name: forget_tokens()
DELETE FROM buckets WHERE filled_at < now() - interval '1 day'

-- Workers.

-- name: beat(id, version, ready, reason, running)
INSERT INTO workers (id, version, ready, reason, running) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET
    heartbeat_at = now(), ready = excluded.ready, reason = excluded.reason, running = excluded.running

-- name: forget_worker(id, hours)
DELETE FROM workers WHERE id = $1 OR heartbeat_at < now() - make_interval(hours => $2)

-- name: workers_alive(seconds)
SELECT id, version, started_at, heartbeat_at, ready, reason, running FROM workers
WHERE heartbeat_at > now() - make_interval(secs => $1) ORDER BY started_at, id

-- name: add_counts(names, labels, amounts)
INSERT INTO counters AS c (name, label, value) SELECT * FROM unnest($1::text[], $2::text[], $3::double precision[])
ON CONFLICT (name, label) DO UPDATE SET value = c.value + excluded.value

-- name: counts()
SELECT name, label, value FROM counters

-- Uploaded bytes on their way to a worker.

-- name: add_block(name, number, content)
INSERT INTO uploads (name, number, content) VALUES ($1, $2, $3)

-- name: block(name, number)
SELECT content FROM uploads WHERE name = $1 AND number = $2

-- name: drop_upload(name)
DELETE FROM uploads WHERE name = $1

-- name: sweep_uploads(seconds)
DELETE FROM uploads u WHERE created_at < now() - make_interval(secs => $1)
AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.spool = u.name)

-- Values that all machines must agree on.

-- name: propose_mark(name, value)
INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING

-- name: mark(name)
SELECT value FROM marks WHERE name = $1

-- The schema itself.

-- name: has_applied()
SELECT to_regclass('footnotes_server.applied') IS NOT NULL

-- name: is_applied(digest)
SELECT 1 FROM footnotes_server.applied WHERE digest = $1

-- name: note_applied(digest)
INSERT INTO footnotes_server.applied (digest) VALUES ($1) ON CONFLICT DO NOTHING

-- name: lock_server_schema()
SELECT pg_advisory_lock(46070002)

-- name: unlock_server_schema()
SELECT pg_advisory_unlock(46070002)
