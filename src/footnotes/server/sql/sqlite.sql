-- The server's queries in SQLite's syntax.

-- fragment: is_free
-- No earlier version of the same source is unfinished.
NOT EXISTS (SELECT 1 FROM jobs e WHERE e.tenant = j.tenant AND e.collection IS j.collection AND e.source = j.source
            AND e.number < j.number AND e.state IN ('queued', 'running'))

-- fragment: turn
-- Jobs that made way come after those that never did, unless a newer version waits for them.
CASE WHEN EXISTS (SELECT 1 FROM jobs n WHERE n.tenant = j.tenant AND n.collection IS j.collection AND n.source = j.source
                  AND n.number > j.number AND n.state = 'queued' AND n.made_way = 0)
     THEN 0 ELSE j.made_way END, j.turn, j.number

-- name: accept_job(id, tenant, kind, name, request, spool, bytes, collection, source, moment, most_waiting, since, room)
-- A job, unless too many jobs or bytes wait. Jobs finished since a moment count as waiting: their documents were not
-- counted yet at that moment.
INSERT INTO jobs (id, tenant, kind, name, request, spool, bytes, collection, source, state, turn, created_at, updated_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued', waiting.n, $10, $10
FROM (SELECT count(*) AS n FROM jobs WHERE tenant = $2 AND state IN ('queued', 'running')) waiting
WHERE waiting.n < $11
AND ($13 < 0 OR $7 + (SELECT coalesce(sum(bytes), 0) FROM jobs WHERE tenant = $2
                      AND (spool IS NOT NULL OR updated_at >= $12)) <= $13)
RETURNING *

-- name: claim_job(holder, kinds, moment)
UPDATE jobs SET state = 'running', attempts = attempts + 1, holder = $1, updated_at = $3 WHERE id = (
    SELECT j.id FROM jobs j WHERE j.state = 'queued' AND j.kind IN (SELECT value FROM json_each($2)) AND {is_free}
    ORDER BY {turn} LIMIT 1)
RETURNING *

-- name: claim_alike(holder, tenant, collection, most, moment)
UPDATE jobs SET state = 'running', attempts = attempts + 1, holder = $1, updated_at = $5 WHERE id IN (
    SELECT j.id FROM jobs j WHERE j.state = 'queued' AND j.kind = 'upload' AND j.attempts = 0 AND j.tenant = $2
    AND j.collection IS $3 AND {is_free} ORDER BY {turn} LIMIT $4)
RETURNING *

-- name: set_job(id, holder, state, result, error, attempts, spool, made_way, moment)
UPDATE jobs SET state = $3, result = $4, error = $5, attempts = $6, spool = $7, made_way = $8, updated_at = $9,
    stage = NULL
WHERE id = $1 AND ($2 IS NULL OR holder = $2 AND state = 'running') RETURNING *

-- name: waiting_beside(tenant, kinds)
-- Whether jobs of other tenants wait, and jobs of this tenant that never made way.
SELECT ifnull(max(tenant <> $1), 0) AS others, ifnull(max(tenant = $1 AND made_way = 0), 0) AS own
FROM jobs WHERE state = 'queued' AND kind IN (SELECT value FROM json_each($2))

-- name: job_columns()
SELECT name FROM pragma_table_info('jobs')
