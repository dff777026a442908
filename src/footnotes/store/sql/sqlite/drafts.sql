-- Writes drafts of a folder's store, and shows a new version instead of the previous one.

-- name: make_document(user_id, id, collection, source, filename, file_hash, status, bytes, metadata)
INSERT INTO documents (user_id, id, collection, source, filename, file_hash, status, bytes, metadata, created_at,
                       updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'),
        strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')) RETURNING pk;

-- name: put_versions(user_id, version, collection, file_hash, at)
INSERT INTO versions (user_id, pk, collection, file_hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: put_documents(user_id, document, id, collection, source, filename, file_hash, mime, title, status, bytes, characters, pages, chunks, metadata, warnings, embedder, dimensions, ingestion_version, version, at)
INSERT INTO documents (user_id, pk, id, collection, source, filename, file_hash, mime, title, status, bytes, characters,
                       pages, chunks, metadata, warnings, embedding_model, embedding_dim, ingestion_version, version,
                       current, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, 1, ?20, ?21, ?21);

-- name: last_keys()
-- The last keys used: there is only one writer, so it can assign the next ones.
SELECT COALESCE(MAX(seq) FILTER (WHERE name = 'documents'), 0), COALESCE(MAX(seq) FILTER (WHERE name = 'versions'), 0)
FROM sqlite_sequence;

-- name: share_tenant()
-- There is one writer at a time.
SELECT 1 WHERE false;

-- name: own_tenant()
-- There is one writer at a time.
SELECT 1 WHERE false;

-- name: is_claimed_by_another()
-- There is one writer at a time.
SELECT 1 WHERE false;

-- name: taken_ids(user_id, ids)
SELECT id FROM documents WHERE user_id = ?1 AND id IN (SELECT value FROM json_each(?2));

-- name: publish_document(user_id, document, source, filename, file_hash, mime, title, status, bytes, characters, pages, chunks, metadata, warnings, embedder, dimensions, ingestion_version, version, at)
UPDATE documents SET source = ?3, filename = ?4, file_hash = ?5, mime = ?6, title = ?7, status = ?8, bytes = ?9,
    characters = ?10, pages = ?11, chunks = ?12, metadata = ?13, warnings = ?14, embedding_model = ?15,
    embedding_dim = ?16, ingestion_version = ?17, version = version + 1, current = ?18, error = NULL, updated_at = ?19
WHERE user_id = ?1 AND pk = ?2;

-- name: mark_ready(user_id, generation, seq)
UPDATE documents SET status = 'ready' WHERE user_id = ?1 AND status = 'indexing' AND pk NOT IN (
    SELECT document FROM changes WHERE user_id = ?1 AND generation = ?2 AND seq > ?3);

-- name: set_visible(user_id, seq)
UPDATE users SET visible_seq = MAX(visible_seq, ?2) WHERE user_id = ?1;

-- name: visible(user_id)
SELECT visible_seq FROM users WHERE user_id = ?1;

-- name: stage(document, user_id, generation, version, seq, title, draft, facets, waits)
INSERT INTO staged (document, user_id, generation, version, seq, title, draft, facets, waits)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: staged(user_id, generation, seq)
SELECT document, version, seq, draft, facets, waits FROM staged WHERE user_id = ?1 AND generation = ?2 AND seq <= ?3
ORDER BY seq;

-- name: release_bytes(document)
-- A placeholder, until the same transaction sets the new hash.
UPDATE documents SET file_hash = 'replaced ' || pk WHERE pk = ?1;

-- name: staged_version(document)
SELECT version FROM staged WHERE document = ?1;

-- name: any_staged()
SELECT 1 FROM staged LIMIT 1;

-- name: drop_staged(document)
DELETE FROM staged WHERE document = ?1;

-- name: versions_of(document)
-- The published version and the staged one.
SELECT current AS version, title, filename, NULL AS facets, status IN ('embedding', 'queued') AS waits FROM documents
WHERE pk = ?1 AND current IS NOT NULL
UNION ALL SELECT version, title, json_extract(draft, '$.filename'), facets, waits FROM staged WHERE document = ?1;

-- name: require(user_id, seq)
UPDATE users SET required_seq = MAX(required_seq, ?2), epoch = epoch + 1 WHERE user_id = ?1;

-- name: log_change(user_id, generation, document)
INSERT INTO changes (user_id, generation, document) VALUES (?1, ?2, ?3) RETURNING seq;

-- name: library_id()
SELECT id FROM library;

-- name: make_library(id)
INSERT INTO library (id, created_at) VALUES (?1, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'));

-- name: attached_originals()
SELECT path FROM originals WHERE document IS NOT NULL;
