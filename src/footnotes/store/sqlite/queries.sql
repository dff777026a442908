-- name: library_id
SELECT id FROM library;

-- name: make_library
INSERT INTO library (id, created_at) VALUES (?, ?);

-- name: serving
SELECT g.pk, g.user_id, g.state, g.plan, m.pk, m.fingerprint, m.name, m.dimensions, u.visible_seq
FROM users u JOIN generations g ON g.pk = u.serving JOIN models m ON m.pk = g.model WHERE u.user_id = ?;

-- name: make_user
INSERT INTO users (user_id) VALUES (?) ON CONFLICT DO NOTHING;

-- name: user_ids
SELECT user_id FROM users ORDER BY user_id;

-- name: set_visible
UPDATE users SET visible_seq = MAX(visible_seq, ?) WHERE user_id = ?;

-- name: set_serving
UPDATE users SET serving = ?1, visible_seq = ?2, required_seq = ?2, epoch = epoch + 1 WHERE user_id = ?3;

-- name: collection
SELECT name, chunker, chunker_options, system_prompt FROM collections WHERE user_id = ? AND name = ?;

-- name: collections
SELECT c.name, c.chunker, c.chunker_options, c.system_prompt,
       (SELECT COUNT(*) FROM documents d WHERE d.user_id = c.user_id AND d.collection = c.name)
FROM collections c WHERE c.user_id = ? ORDER BY c.name;

-- name: put_collection
INSERT INTO collections (user_id, name, chunker, chunker_options, system_prompt, created_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (user_id, name) DO UPDATE SET
    chunker = COALESCE(excluded.chunker, chunker),
    chunker_options = COALESCE(excluded.chunker_options, chunker_options),
    system_prompt = COALESCE(excluded.system_prompt, system_prompt);

-- name: set_chunker
UPDATE collections SET chunker = ?, chunker_options = ? WHERE user_id = ? AND name = ?;

-- name: set_plan
UPDATE generations SET plan = ? WHERE user_id = ? AND pk = ?;

-- name: drop_collection
DELETE FROM collections WHERE user_id = ?1 AND name = ?2
AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.user_id = ?1 AND d.collection = ?2);

-- name: drop_collection_origins
DELETE FROM origins WHERE user_id = ?1 AND collection = ?2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = ?1 AND c.name = ?2);

-- name: drop_collection_jobs
DELETE FROM jobs WHERE user_id = ?1 AND json_extract(request, '$.collection') = ?2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = ?1 AND c.name = ?2);

-- name: put_model
INSERT INTO models (fingerprint, name, dimensions) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: model
SELECT pk FROM models WHERE fingerprint = ?;

-- name: make_generation
INSERT INTO generations (user_id, model, plan, state, created_at) VALUES (?, ?, ?, ?, ?) RETURNING pk;

-- name: generation
SELECT g.pk, g.user_id, g.state, g.plan, m.pk, m.fingerprint, m.name, m.dimensions
FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = ? AND g.pk = ?;

-- name: generations
SELECT g.pk, g.user_id, g.state, g.plan, m.pk, m.fingerprint, m.name, m.dimensions
FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = ? ORDER BY g.pk;

-- name: set_generation_state
UPDATE generations SET state = ? WHERE user_id = ? AND pk = ?;

-- name: drop_generation
DELETE FROM generations WHERE user_id = ? AND pk = ?;

-- name: drop_generation_chunks
DELETE FROM chunks WHERE user_id = ? AND generation = ?;

-- name: drop_generation_changes
DELETE FROM changes WHERE user_id = ? AND generation = ?;

-- name: drop_orphan_embeddings
DELETE FROM embeddings WHERE user_id = ?1 AND NOT EXISTS (
    SELECT 1 FROM chunks c JOIN generations g ON g.pk = c.generation
    WHERE c.user_id = ?1 AND c.input_hash = embeddings.input_hash AND g.model = embeddings.model);

-- name: document
SELECT pk, id, collection, filename, source, file_hash, mime, title, status, bytes, characters, pages, chunks,
       metadata, warnings, embedding_model, embedding_dim, ingestion_version, version, created_at, updated_at, error,
       current
FROM documents WHERE user_id = ? AND id = ?;

-- name: document_by_hash
SELECT pk, id, collection, filename, source, file_hash, mime, title, status, bytes, characters, pages, chunks,
       metadata, warnings, embedding_model, embedding_dim, ingestion_version, version, created_at, updated_at, error,
       current
FROM documents WHERE user_id = ? AND collection = ? AND file_hash = ?;

-- name: document_by_source
SELECT d.pk, d.id, d.collection, d.filename, d.source, d.file_hash, d.mime, d.title, d.status, d.bytes, d.characters,
       d.pages, d.chunks, d.metadata, d.warnings, d.embedding_model, d.embedding_dim, d.ingestion_version, d.version,
       d.created_at, d.updated_at, d.error, d.current
FROM sources s JOIN documents d ON d.pk = s.document WHERE s.user_id = ? AND s.collection = ? AND s.source = ?;

-- name: source_count
SELECT COUNT(*) FROM sources WHERE document = ?;

-- name: sources_of
SELECT source FROM sources WHERE document = ? ORDER BY source;

-- name: put_source
INSERT INTO sources (user_id, collection, source, document) VALUES (?, ?, ?, ?)
ON CONFLICT (user_id, collection, source) DO UPDATE SET document = excluded.document;

-- name: drop_source
DELETE FROM sources WHERE user_id = ? AND collection = ? AND source = ?;

-- name: make_document
INSERT INTO documents (id, user_id, collection, source, filename, file_hash, status, bytes, metadata, created_at,
                       updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING pk;

-- name: publish_document
UPDATE documents SET source = ?, filename = ?, file_hash = ?, mime = ?, title = ?, status = ?, bytes = ?,
    characters = ?, pages = ?, chunks = ?, metadata = ?, warnings = ?, embedding_model = ?, embedding_dim = ?,
    ingestion_version = ?, version = version + 1, current = ?, error = NULL, updated_at = ?
WHERE user_id = ? AND pk = ?;

-- name: set_status
UPDATE documents SET status = ?, error = ?, updated_at = ? WHERE user_id = ? AND pk = ?;

-- name: set_metadata
UPDATE documents SET metadata = ?, updated_at = ? WHERE user_id = ? AND pk = ?;

-- name: set_failed
UPDATE documents SET status = 'failed', error = ?, updated_at = ? WHERE user_id = ? AND pk = ? AND current IS NULL;

-- name: mark_ready
UPDATE documents SET status = 'ready' WHERE user_id = ?1 AND status = 'indexing' AND pk NOT IN (
    SELECT document FROM changes WHERE user_id = ?1 AND generation = ?2 AND seq > ?3);

-- name: drop_document
DELETE FROM documents WHERE user_id = ? AND pk = ?;

-- name: put_facet
INSERT INTO facets (user_id, key, text, number, document) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: drop_facets
DELETE FROM facets WHERE document = ?;

-- name: facets_of
SELECT key, text FROM facets WHERE document = ? ORDER BY key, text;

-- name: make_version
INSERT INTO versions (user_id, collection, file_hash, created_at) VALUES (?, ?, ?, ?) RETURNING pk;

-- name: unfinished_versions
SELECT v.user_id, v.pk FROM versions v WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.current = v.pk)
AND v.pk NOT IN (SELECT version FROM staged);

-- name: unfinished_documents
SELECT user_id, pk, status, current FROM documents
WHERE status NOT IN ('ready', 'failed') AND status <> 'queued';

-- name: interrupted_documents
SELECT 1 FROM documents WHERE status NOT IN ('ready', 'failed', 'queued', 'indexing') LIMIT 1;

-- name: users_behind
SELECT u.user_id FROM users u WHERE u.visible_seq < (
    SELECT MAX(c.seq) FROM changes c WHERE c.user_id = u.user_id AND c.generation = u.serving);

-- name: drop_version
DELETE FROM versions WHERE user_id = ? AND pk = ?;

-- name: put_text
INSERT INTO texts (version, number, content) VALUES (?, ?, ?);

-- name: texts
SELECT number, content FROM texts WHERE version = ? AND number BETWEEN ? AND ? ORDER BY number;

-- name: put_part
INSERT INTO parts (version, number, start, length, blocks) VALUES (?, ?, ?, ?, ?);

-- name: parts
SELECT start, length, blocks FROM parts WHERE version = ? ORDER BY number;

-- name: put_chunk
INSERT INTO chunks (user_id, generation, document, version, chunk_index, id, start, end, page_first, page_last,
                    headings, tokens, prefix, metadata, input_hash, parts, line_first, line_last)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: keys_of_version
SELECT generation, key FROM chunks WHERE version = ? ORDER BY generation, key;

-- name: count_chunks
SELECT COUNT(*) FROM chunks WHERE user_id = ? AND generation = ? AND version = ?;

-- name: drop_chunks_of
DELETE FROM chunks WHERE user_id = ? AND generation = ? AND version = ?;

-- name: input_hashes
SELECT DISTINCT input_hash FROM chunks WHERE version = ?;

-- name: drop_unused_embedding
DELETE FROM embeddings WHERE user_id = ?1 AND input_hash = ?2
AND NOT EXISTS (SELECT 1 FROM chunks WHERE user_id = ?1 AND input_hash = ?2);

-- name: chunks_of_document
SELECT c.id, d.id, c.chunk_index, d.chunks, c.start, c.end, c.page_first, c.page_last, c.headings, c.tokens, c.prefix,
       c.metadata, c.version, c.line_first, c.line_last
FROM documents d JOIN chunks c ON c.version = d.current AND c.generation = ?
WHERE d.user_id = ? AND d.pk = ? ORDER BY c.chunk_index;

-- name: neighbours
SELECT c.id, d.id, c.chunk_index, d.chunks, c.start, c.end, c.page_first, c.page_last, c.headings, c.tokens, c.prefix,
       c.metadata, c.version, c.line_first, c.line_last
FROM documents d JOIN chunks c ON c.version = d.current AND c.generation = ?
WHERE d.user_id = ? AND d.id = ? AND c.chunk_index BETWEEN ? AND ? ORDER BY c.chunk_index;

-- name: hits
SELECT c.key, c.id, d.id, d.filename, d.title, d.collection, c.version, c.start, c.end, c.page_first, c.page_last,
       c.headings, c.chunk_index, c.metadata, d.metadata, d.mime, t.content, u.content, d.chunks,
       c.line_first, c.line_last
FROM carray(?) wanted CROSS JOIN chunks c ON c.key = wanted.value
JOIN documents d ON d.pk = c.document AND +d.current = c.version
LEFT JOIN texts t ON t.version = c.version AND t.number = c.start / 4000
LEFT JOIN texts u ON u.version = c.version AND u.number = c.start / 4000 + 1 AND c.end > u.number * 4000
WHERE +c.user_id = ? AND +c.generation = ?;

-- name: put_embedding
INSERT INTO embeddings (user_id, model, input_hash, vector) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: known_embeddings
SELECT input_hash FROM embeddings WHERE user_id = ? AND model = ? AND input_hash IN (?3);

-- name: log_change
INSERT INTO changes (user_id, generation, document, removed, leg) VALUES (?, ?, ?, ?, ?) RETURNING seq;

-- name: last_change
SELECT COALESCE(MAX(seq), 0) FROM changes WHERE user_id = ? AND generation = ?;

-- name: first_change
SELECT COALESCE(MIN(seq), 0) FROM changes WHERE user_id = ? AND generation = ?;

-- name: changes_after
SELECT seq, document, removed, leg FROM changes WHERE user_id = ? AND generation = ? AND seq > ? ORDER BY seq;

-- name: lexical_entries
SELECT key, start, end, headings, prefix, metadata FROM chunks WHERE generation = ? AND version = ? ORDER BY key;

-- name: dense_entries
SELECT c.key, e.vector
FROM chunks c JOIN embeddings e ON e.user_id = c.user_id AND e.model = ? AND e.input_hash = c.input_hash
WHERE c.generation = ? AND c.version = ? ORDER BY c.key;

-- name: indexed_documents
SELECT c.document, MIN(c.key) FROM chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = ? AND c.generation = ? GROUP BY c.document ORDER BY 2;

-- name: live_keys
SELECT c.key, d.status IN ('embedding', 'queued') FROM chunks c
JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = ? AND c.generation = ? ORDER BY c.key;

-- name: chunks_without_vector
SELECT COUNT(*) FROM chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = ? AND c.generation = ? AND d.status NOT IN ('embedding', 'queued') AND NOT EXISTS (
    SELECT 1 FROM embeddings e WHERE e.user_id = c.user_id AND e.model = ? AND e.input_hash = c.input_hash);

-- name: misfit_vectors
SELECT COUNT(*) FROM embeddings WHERE user_id = ? AND model = ? AND length(vector) <> ?;

-- name: drop_misfit_vectors
DELETE FROM embeddings WHERE user_id = ? AND model = ? AND length(vector) <> ?;

-- name: requeue_without_vectors
UPDATE documents SET status = 'queued' WHERE user_id = ?1 AND current IS NOT NULL AND EXISTS (
    SELECT 1 FROM chunks c WHERE c.version = documents.current AND c.generation = ?2 AND NOT EXISTS (
        SELECT 1 FROM embeddings e WHERE e.user_id = ?1 AND e.model = ?3 AND e.input_hash = c.input_hash));

-- name: counts
SELECT COUNT(*), COALESCE(SUM(chunks), 0), COALESCE(SUM(characters), 0), COALESCE(SUM(bytes), 0)
FROM documents WHERE user_id = ? AND status = 'ready';

-- name: counts_by_status
SELECT status, COUNT(*) FROM documents WHERE user_id = ? GROUP BY status ORDER BY status;

-- name: documents_to_fill
SELECT d.pk FROM documents d WHERE d.user_id = ? AND d.current IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.version = d.current AND c.generation = ?) ORDER BY d.pk;

-- name: document_pks
SELECT pk FROM documents WHERE user_id = ? ORDER BY pk;

-- name: chunk_inputs
SELECT c.key, c.version, c.start, c.end, c.prefix, c.input_hash, d.id
FROM chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = ? AND c.generation = ? ORDER BY c.key;

-- name: put_planned
INSERT INTO derived (user_id, generation, document, ingestion_version, chunks) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (generation, document) DO UPDATE SET
    ingestion_version = excluded.ingestion_version, chunks = excluded.chunks;

-- name: apply_planned
UPDATE documents SET (ingestion_version, chunks) = (
    SELECT r.ingestion_version, r.chunks FROM derived r WHERE r.generation = ?1 AND r.document = documents.pk),
    embedding_model = ?2, embedding_dim = ?3
WHERE user_id = ?4 AND pk IN (SELECT document FROM derived WHERE generation = ?1);

-- name: places_of_keys
SELECT c.key, c.document, c.start, c.end FROM carray(?) wanted CROSS JOIN chunks c ON c.key = wanted.value
JOIN documents d ON d.pk = c.document AND +d.current = c.version
WHERE +c.user_id = ? AND +c.generation = ?;
