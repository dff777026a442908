-- Kept originals.

-- name: make_original(user_id, path)
INSERT INTO originals (user_id, document, path, file_hash, bytes) VALUES (?1, NULL, ?2, '', 0) RETURNING pk;

-- name: release_original(user_id, document)
UPDATE originals SET document = NULL WHERE user_id = ?1 AND document = ?2;

-- name: attach_original(user_id, original, document, file_hash, bytes)
UPDATE originals SET document = ?3, file_hash = ?4, bytes = ?5 WHERE user_id = ?1 AND pk = ?2;

-- name: original_of(user_id, id)
SELECT o.path FROM originals o JOIN documents d ON d.pk = o.document
WHERE o.user_id = ?1 AND d.id = ?2 AND o.file_hash = d.file_hash;

-- name: loose_originals()
-- There is one writer for all tenants, so every file without a document can be removed.
SELECT pk, path FROM originals WHERE document IS NULL;

-- name: drop_originals(keys)
DELETE FROM originals WHERE pk IN (SELECT value FROM carray(?1));

-- name: all_originals(user_id)
SELECT o.path, o.file_hash, d.id FROM originals o LEFT JOIN documents d ON d.pk = o.document
WHERE o.user_id = ?1 ORDER BY o.pk;
