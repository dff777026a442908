-- Kept originals.

-- name: make_original(user_id, path, holder)
INSERT INTO originals (user_id, path, holder) VALUES ($1, $2, $3) RETURNING pk

-- name: release_original(user_id, document)
UPDATE originals SET document = NULL WHERE user_id = $1 AND document = $2

-- name: attach_original(user_id, original, document, file_hash, bytes)
UPDATE originals SET document = $3, file_hash = $4, bytes = $5, holder = NULL WHERE user_id = $1 AND pk = $2

-- name: original_of(user_id, id)
SELECT o.path FROM originals o JOIN documents d ON d.pk = o.document
WHERE o.user_id = $1 AND d.id = $2 AND o.file_hash = d.file_hash

-- name: loose_originals(user_id, holder)
-- A file that a live writer is adding is skipped.
SELECT pk, path FROM originals WHERE user_id = $1 AND document IS NULL
AND (holder IS NULL OR holder = $2 OR holder NOT IN (SELECT living()))

-- name: drop_originals(user_id, keys)
DELETE FROM originals WHERE user_id = $1 AND pk = ANY ($2)

-- name: all_originals(user_id)
SELECT o.path, o.file_hash, d.id FROM originals o LEFT JOIN documents d ON d.pk = o.document
WHERE o.user_id = $1 ORDER BY o.pk
