-- What a vector database is brought, and what is known of its shelves. $1 is the tenant.

-- name: log_length
SELECT COALESCE(max(seq), 0) FROM index_changes WHERE user_id = $1 AND generation = $2

-- name: changed_documents
-- The next ones after a change; what was changed together comes together.
SELECT c.document, c.seq, COALESCE(d.chunks, 0) AS chunks
FROM index_changes c LEFT JOIN documents d ON d.pk = c.document
WHERE c.user_id = $1 AND c.generation = $2 AND c.seq > $3 AND c.seq <= (
    SELECT max(n.seq) FROM (
        SELECT seq FROM index_changes WHERE user_id = $1 AND generation = $2 AND seq > $3 ORDER BY seq LIMIT $4) n)
ORDER BY c.seq, c.document

-- name: count_changed
SELECT count(*) FROM (
    SELECT 1 FROM index_changes WHERE user_id = $1 AND generation = $2 AND seq > $3 LIMIT 10000) behind

-- name: documents_of_keys
SELECT c.document, 0::bigint AS seq, d.chunks FROM documents d
JOIN (SELECT DISTINCT document FROM document_chunks WHERE generation = $2 AND key = ANY ($3)) c ON c.document = d.pk
WHERE d.user_id = $1 ORDER BY 1

-- name: outside_entries
SELECT c.key, c.id, c.document, c.metadata, c.embedding, c.words, d.status IN ('embedding', 'queued') AS waits,
       d.id AS document_id, d.collection, d.filename, d.source, d.title, d.metadata AS document_metadata
FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2 AND c.document = ANY ($3) ORDER BY c.document, c.key

-- name: facets_of_documents
SELECT document, key, text FROM facets WHERE user_id = $1 AND document = ANY ($2) AND length(text) < $3

-- name: served_keys
SELECT c.key FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2 AND ($3 OR d.status NOT IN ('embedding', 'queued')) ORDER BY c.key

-- name: put_shelf
INSERT INTO shelves AS s (user_id, address, generation, fingerprint, dimensions, words) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (address, generation) DO UPDATE SET in_use = true, words = excluded.words,
    seq = CASE WHEN s.words = excluded.words THEN s.seq ELSE 0 END

-- name: use_no_other_shelf
UPDATE shelves SET in_use = false WHERE user_id = $1 AND generation = $3 AND address <> $2 AND in_use

-- name: set_shelf_seq
UPDATE shelves SET seq = $4 WHERE user_id = $1 AND address = $2 AND generation = $3

-- name: shelf_seq
SELECT seq FROM shelves WHERE user_id = $1 AND generation = $2 AND address = $3

-- name: mark_all_ready
UPDATE documents d SET status = 'ready' WHERE d.user_id = $1 AND d.status = 'indexing' AND d.current IS NOT NULL
AND EXISTS (SELECT 1 FROM users u WHERE u.user_id = $1 AND u.serving = $2) AND NOT is_behind(d.pk, $1)

-- name: dropped_shelves
SELECT user_id, generation, fingerprint, dimensions, words FROM shelves s
WHERE user_id = $1 AND address = $2 AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.pk = s.generation)
ORDER BY generation

-- name: forget_shelf
DELETE FROM shelves WHERE user_id = $1 AND address = $2 AND generation = $3

-- name: fill_turn
SELECT pg_advisory_xact_lock(4612, ($1::bigint % 2147483648)::integer)

-- name: frequencies_of_terms
SELECT term, body, title, section, symbols FROM term_statistics($1, $2)
