-- Data for a vector database, and records of its indexes.

-- name: last_change(user_id, generation)
SELECT COALESCE(max(seq), 0) FROM index_changes WHERE user_id = $1 AND generation = $2

-- name: changed_documents(user_id, generation, seq, limit)
-- The next changes; documents that changed together are returned together.
SELECT c.document, c.seq, COALESCE(d.chunks, 0) AS chunks
FROM index_changes c LEFT JOIN documents d ON d.pk = c.document
WHERE c.user_id = $1 AND c.generation = $2 AND c.seq > $3 AND c.seq <= (
    SELECT max(n.seq) FROM (
        SELECT seq FROM index_changes WHERE user_id = $1 AND generation = $2 AND seq > $3 ORDER BY seq LIMIT $4) n)
ORDER BY c.seq, c.document

-- name: count_changed(user_id, generation, seq)
SELECT count(*) FROM (
    SELECT 1 FROM index_changes WHERE user_id = $1 AND generation = $2 AND seq > $3 LIMIT 10000) behind

-- name: documents_of_keys(user_id, generation, keys)
SELECT c.document, 0::bigint AS seq, d.chunks FROM documents d
JOIN (SELECT DISTINCT document FROM document_chunks WHERE generation = $2 AND key = ANY ($3)) c ON c.document = d.pk
WHERE d.user_id = $1 ORDER BY 1

-- name: remote_entries(user_id, generation, documents)
SELECT c.key, c.id, c.document, c.metadata::text AS metadata, c.embedding, c.words,
       d.status IN ('embedding', 'queued') AS waits, d.id AS document_id, d.collection, d.filename, d.source, d.title,
       d.mime, d.file_hash, to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"') AS ingested_at,
       d.metadata::text AS document_metadata
FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
JOIN versions v ON v.pk = d.current
WHERE c.user_id = $1 AND c.generation = $2 AND c.document = ANY ($3) ORDER BY c.document, c.key

-- name: facets_of_documents(user_id, documents, longest)
SELECT document, key, text FROM facets WHERE user_id = $1 AND document = ANY ($2) AND length(text) < $3

-- name: live_keys(user_id, generation)
SELECT c.key, d.status IN ('embedding', 'queued') AS waits FROM document_chunks c
JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2 ORDER BY c.key

-- name: put_remote_index(user_id, address, generation, fingerprint, dimensions, words)
INSERT INTO shelves AS s (user_id, address, generation, fingerprint, dimensions, words) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (address, generation) DO UPDATE SET in_use = true, words = excluded.words,
    seq = CASE WHEN s.words = excluded.words THEN s.seq ELSE 0 END

-- name: use_no_other_remote_index(user_id, address, generation)
-- Readiness is measured by the index in use.
UPDATE shelves SET in_use = false WHERE user_id = $1 AND generation = $3 AND address <> $2 AND in_use

-- name: set_remote_position(user_id, address, generation, seq)
UPDATE shelves SET seq = $4 WHERE user_id = $1 AND address = $2 AND generation = $3

-- name: remote_index(user_id, address, generation)
SELECT words, seq FROM shelves WHERE user_id = $1 AND address = $2 AND generation = $3

-- name: mark_all_ready(user_id, generation)
UPDATE documents d SET status = 'ready' WHERE d.user_id = $1 AND d.status = 'indexing' AND d.current IS NOT NULL
AND EXISTS (SELECT 1 FROM users u WHERE u.user_id = $1 AND u.serving = $2) AND NOT is_behind(d.pk, $1)

-- name: dropped_remote_indexes(user_id, address)
SELECT user_id, generation, fingerprint, dimensions, words FROM shelves s
WHERE user_id = $1 AND address = $2 AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.pk = s.generation)
ORDER BY generation

-- name: forget_remote_index(user_id, address, generation)
DELETE FROM shelves WHERE user_id = $1 AND address = $2 AND generation = $3

-- name: lock_remote_index(generation)
SELECT pg_advisory_xact_lock(4612, ($1::bigint % 2147483648)::integer)

-- name: library_id()
SELECT id FROM library
