-- Data for the indexes beside a folder's database, and for searches after they have queried the indexes.

-- name: last_change(user_id, generation)
SELECT COALESCE(MAX(seq), 0) FROM changes WHERE user_id = ?1 AND generation = ?2;

-- name: changes_after(user_id, generation, seq)
SELECT seq, document, removed, leg FROM changes WHERE user_id = ?1 AND generation = ?2 AND seq > ?3 ORDER BY seq;

-- name: indexed_documents(user_id, generation)
SELECT c.document, MIN(c.key) AS first FROM chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = ?1 AND c.generation = ?2 GROUP BY c.document ORDER BY 2;

-- name: lexical_entries(generation, version)
SELECT key, id, start AS start_offset, end AS end_offset, headings, prefix, metadata FROM chunks
WHERE generation = ?1 AND version = ?2 ORDER BY key;

-- name: dense_entries(generation, version, model)
SELECT c.key, e.vector
FROM chunks c JOIN embeddings e ON e.user_id = c.user_id AND e.model = ?3 AND e.input_hash = c.input_hash
WHERE c.generation = ?1 AND c.version = ?2 ORDER BY c.key;

-- name: small_documents(documents, most)
-- Documents with few chunks and without a next version, to be read in one go.
SELECT d.pk, d.current, d.title, d.filename, d.status IN ('embedding', 'queued') FROM carray(?1) wanted
CROSS JOIN documents d ON d.pk = wanted.value
WHERE d.current IS NOT NULL AND d.chunks <= ?2 AND NOT EXISTS (SELECT 1 FROM staged s WHERE s.document = d.pk);

-- name: texts_of(versions)
SELECT t.version, t.content FROM carray(?1) wanted CROSS JOIN texts t ON t.version = wanted.value
ORDER BY t.version, t.number;

-- name: facets_of_many(documents)
SELECT f.document, f.key, f.text FROM carray(?1) wanted CROSS JOIN facets f ON f.document = wanted.value
ORDER BY f.document, f.key, f.text;

-- name: lexical_entries_of(generation, versions)
SELECT c.document, c.key, c.start, c.end, c.headings, c.prefix, c.metadata FROM carray(?2) wanted
CROSS JOIN chunks c ON c.version = wanted.value AND c.generation = ?1 ORDER BY c.key;

-- name: dense_entries_of(generation, model, versions)
SELECT c.document, c.key, e.vector FROM carray(?3) wanted
CROSS JOIN chunks c ON c.version = wanted.value AND c.generation = ?1
LEFT JOIN embeddings e ON e.user_id = c.user_id AND e.model = ?2 AND e.input_hash = c.input_hash ORDER BY c.key;

-- name: facets_of(document)
SELECT key, text FROM facets WHERE document = ?1 ORDER BY key, text;

-- name: live_keys(user_id, generation)
SELECT c.key, d.status IN ('embedding', 'queued') AS waits FROM chunks c
JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = ?1 AND c.generation = ?2 ORDER BY c.key;

-- name: note_loss(user_id, generation, leg, seen, had)
INSERT INTO losses (user_id, generation, leg, seen, had) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING;

-- name: losses(user_id)
SELECT leg, seen, had FROM losses WHERE user_id = ?1 ORDER BY leg;

-- name: forget_losses(user_id)
DELETE FROM losses WHERE user_id = ?1;

-- name: serving_epoch(user_id)
SELECT serving, epoch FROM users WHERE user_id = ?1;

-- name: data_version()
PRAGMA data_version;

-- name: allowed_keys(user_id, generation)
SELECT c.key FROM documents d JOIN chunks c ON c.generation = ?2 AND c.document = d.pk AND c.version = d.current
WHERE d.user_id = ?1 AND {where};

-- name: live_of_keys(user_id, generation, keys)
SELECT c.key FROM carray(?3) wanted CROSS JOIN chunks c ON c.key = wanted.value
JOIN documents d ON d.pk = c.document AND +d.current = c.version
WHERE +c.user_id = ?1 AND +c.generation = ?2;

-- name: places_of_keys(user_id, generation, keys)
SELECT c.key, c.document, c.start AS start_offset, c.end AS end_offset
FROM carray(?3) wanted CROSS JOIN chunks c ON c.key = wanted.value
JOIN documents d ON d.pk = c.document AND +d.current = c.version
WHERE +c.user_id = ?1 AND +c.generation = ?2;

-- name: hits(user_id, generation, keys)
-- A chunk is in the two pieces of text returned with it, unless it is very long.
SELECT c.key, c.id, d.id AS document_id, d.filename, d.title, d.collection, c.version, c.start AS start_offset,
       c.end AS end_offset, c.page_first, c.page_last, c.headings, c.chunk_index, c.metadata,
       d.metadata AS document_metadata, d.mime, d.file_hash, v.created_at AS ingested_at, t.content AS piece, u.content AS next_piece, d.chunks,
       c.line_first, c.line_last
FROM carray(?3) wanted CROSS JOIN chunks c ON c.key = wanted.value
JOIN documents d ON d.pk = c.document AND +d.current = c.version
JOIN versions v ON v.pk = c.version
LEFT JOIN texts t ON t.version = c.version AND t.number = c.start / 4000
LEFT JOIN texts u ON u.version = c.version AND u.number = c.start / 4000 + 1 AND c.end > u.number * 4000
WHERE +c.user_id = ?1 AND +c.generation = ?2;

-- name: vectors_of_keys(user_id, generation, model, keys)
-- CROSS JOIN fixes this order; otherwise SQLite starts with all chunks of the generation.
SELECT c.key, e.vector FROM carray(?4) k CROSS JOIN chunks c ON c.key = k.value
CROSS JOIN documents d ON d.pk = c.document AND +d.current = c.version
CROSS JOIN embeddings e ON e.user_id = c.user_id AND e.model = ?3 AND e.input_hash = c.input_hash
WHERE +c.generation = ?2 AND +c.user_id = ?1;
