-- Recovers from writers that died, and cleans up after a live one that ends.

-- name: lock_recovery(user_id)
SELECT pg_advisory_xact_lock(4611, hashtext($1))

-- name: is_unfinished(user_id)
SELECT EXISTS (SELECT 1 FROM versions WHERE user_id = $1 AND holder IS NOT NULL AND holder NOT IN (SELECT living()))
    OR EXISTS (SELECT 1 FROM documents WHERE user_id = $1 AND status NOT IN ('ready', 'failed', 'queued')
               AND (holder IS NULL OR holder NOT IN (SELECT living()))
               AND NOT (status = 'indexing' AND holder IS NULL AND is_behind(pk, $1)))
    OR EXISTS (SELECT 1 FROM originals WHERE user_id = $1 AND document IS NULL
               AND (holder IS NULL OR holder NOT IN (SELECT living())))
    OR EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND holder <> ''
               AND split_part(holder, ' ', 1)::integer NOT IN (SELECT living()))

-- name: drop_left_versions(user_id, holder)
-- A published version is no longer a draft.
DELETE FROM versions v WHERE v.user_id = $1 AND v.holder IS NOT NULL
AND (v.holder = $2 OR v.holder NOT IN (SELECT living()))
AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.pk = v.document AND d.current = v.pk)

-- name: settle_left_documents(user_id, holder, error)
UPDATE documents SET holder = NULL, updated_at = now(),
    status = CASE WHEN current IS NULL THEN 'failed' WHEN status = 'embedding' THEN 'queued'
                  WHEN is_behind(pk, $1) THEN 'indexing' ELSE 'ready' END,
    error = CASE WHEN current IS NULL OR status = 'embedding' THEN $3::text::jsonb END
WHERE user_id = $1 AND status NOT IN ('ready', 'failed', 'queued')
AND (holder IS NULL OR holder = $2 OR holder NOT IN (SELECT living()))
AND NOT (status = 'indexing' AND holder IS NULL AND is_behind(pk, $1))

-- name: release_documents(user_id, holder)
UPDATE documents SET holder = NULL WHERE user_id = $1 AND status IN ('ready', 'failed', 'queued')
AND holder IS NOT NULL AND (holder = $2 OR holder NOT IN (SELECT living()))

-- name: users_behind()
-- Both legs read tables, so no index lags.
SELECT user_id FROM users WHERE false
