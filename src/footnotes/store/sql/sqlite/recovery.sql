-- Recovers from writers that died. There is one writer at a time, for all tenants.

-- name: lock_recovery()
SELECT 1;

-- name: is_unfinished(but_indexing)
SELECT EXISTS (SELECT 1 FROM documents WHERE status NOT IN ('ready', 'failed', 'queued')
               AND NOT (?1 AND status = 'indexing'))
    OR EXISTS (SELECT 1 FROM versions v WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.current = v.pk)
               AND v.pk NOT IN (SELECT version FROM staged))
    OR EXISTS (SELECT 1 FROM users u WHERE u.visible_seq < (
               SELECT MAX(c.seq) FROM changes c WHERE c.user_id = u.user_id AND c.generation = u.serving))
    OR EXISTS (SELECT 1 FROM staged)
    OR EXISTS (SELECT 1 FROM originals WHERE document IS NULL)
    OR EXISTS (SELECT 1 FROM jobs WHERE holder <> '');

-- name: drop_left_versions()
-- Vectors stay, so that adding the same file again embeds nothing twice.
DELETE FROM versions WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.current = versions.pk)
AND pk NOT IN (SELECT version FROM staged);

-- name: settle_left_documents(error)
-- A document that is indexing becomes ready when the indexes have caught up: its changes are in the log.
UPDATE documents SET updated_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'),
    status = CASE WHEN current IS NULL THEN 'failed' WHEN status = 'embedding' THEN 'queued' ELSE 'ready' END,
    error = CASE WHEN current IS NULL OR status = 'embedding' THEN ?1 END
WHERE status NOT IN ('ready', 'failed', 'queued') AND NOT (status = 'indexing' AND current IS NOT NULL);

-- name: release_documents()
SELECT 1 WHERE 0;

-- name: users_behind()
-- Tenants whose indexes must catch up.
SELECT u.user_id FROM users u WHERE u.visible_seq < (
    SELECT MAX(c.seq) FROM changes c WHERE c.user_id = u.user_id AND c.generation = u.serving)
UNION SELECT user_id FROM staged
UNION SELECT user_id FROM documents WHERE status = 'indexing' AND current IS NOT NULL;
