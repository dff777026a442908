-- Tenants, their collections and generations, and documents that wait for vectors.

-- fragment: generation_columns
g.pk, g.user_id, g.state, g.plan, m.pk AS model, m.fingerprint, m.name AS embedder, m.dimensions

-- name: users()
SELECT user_id FROM users ORDER BY user_id;

-- name: make_user(user_id)
INSERT INTO users (user_id) VALUES (?1) ON CONFLICT DO NOTHING;

-- name: collections(user_id)
SELECT c.name, c.chunker, c.chunker_options, c.system_prompt,
       (SELECT COUNT(*) FROM documents d WHERE d.user_id = c.user_id AND d.collection = c.name) AS documents
FROM collections c WHERE c.user_id = ?1 ORDER BY c.name;

-- name: put_collection(user_id, name, chunker, chunker_options, system_prompt)
INSERT INTO collections (user_id, name, chunker, chunker_options, system_prompt, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'))
ON CONFLICT (user_id, name) DO UPDATE SET
    chunker = COALESCE(excluded.chunker, chunker),
    chunker_options = COALESCE(excluded.chunker_options, chunker_options),
    system_prompt = COALESCE(excluded.system_prompt, system_prompt);

-- name: set_chunker(user_id, name, chunker, chunker_options)
UPDATE collections SET chunker = ?3, chunker_options = ?4 WHERE user_id = ?1 AND name = ?2;

-- name: drop_collection(user_id, name)
DELETE FROM collections WHERE user_id = ?1 AND name = ?2
AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.user_id = ?1 AND d.collection = ?2);

-- name: drop_collection_origins(user_id, name)
DELETE FROM origins WHERE user_id = ?1 AND collection = ?2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = ?1 AND c.name = ?2);

-- name: drop_collection_jobs(user_id, name)
DELETE FROM jobs WHERE user_id = ?1 AND json_extract(request, '$.collection') = ?2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = ?1 AND c.name = ?2);

-- name: serving(user_id)
SELECT {generation_columns} FROM users u JOIN generations g ON g.pk = u.serving JOIN models m ON m.pk = g.model
WHERE u.user_id = ?1;

-- name: served(user_id)
-- The state for searches. `visible` is the change they expect, `required` the one they need at least.
SELECT {generation_columns}, u.visible_seq AS visible, u.required_seq AS required, u.epoch,
       (SELECT COUNT(*) FROM documents w
        WHERE w.user_id = u.user_id AND w.status IN ('embedding', 'queued') AND w.current IS NOT NULL) AS waiting,
       (SELECT COALESCE(MAX(c.seq), 0) FROM changes c WHERE c.user_id = u.user_id AND c.generation = u.serving) AS last,
       EXISTS (SELECT 1 FROM staged s WHERE s.user_id = u.user_id) AS staged
FROM users u JOIN generations g ON g.pk = u.serving JOIN models m ON m.pk = g.model WHERE u.user_id = ?1;

-- name: generation(user_id, generation)
SELECT {generation_columns} FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = ?1 AND g.pk = ?2;

-- name: generations(user_id)
SELECT {generation_columns} FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = ?1 ORDER BY g.pk;

-- name: put_model(fingerprint, embedder, dimensions)
INSERT INTO models (fingerprint, name, dimensions) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;

-- name: make_generation(user_id, fingerprint, plan, state)
INSERT INTO generations (user_id, model, plan, state, created_at)
SELECT ?1, pk, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now') FROM models WHERE fingerprint = ?2 RETURNING pk;

-- name: set_plan(user_id, generation, plan)
UPDATE generations SET plan = ?3 WHERE user_id = ?1 AND pk = ?2;

-- name: set_generation_state(user_id, generation, state)
UPDATE generations SET state = ?3 WHERE user_id = ?1 AND pk = ?2;

-- name: set_serving(user_id, generation, seq)
UPDATE users SET serving = ?2, visible_seq = ?3, required_seq = ?3, epoch = epoch + 1 WHERE user_id = ?1;

-- name: documents_to_fill(user_id, generation)
-- Documents without chunks in the generation.
SELECT d.pk FROM documents d WHERE d.user_id = ?1 AND d.current IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.version = d.current AND c.generation = ?2) ORDER BY d.pk;

-- name: put_planned(user_id, generation, document, ingestion_version, chunks)
INSERT INTO derived (user_id, generation, document, ingestion_version, chunks) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (generation, document) DO UPDATE SET
    ingestion_version = excluded.ingestion_version, chunks = excluded.chunks;

-- name: apply_planned(user_id, generation, embedder, dimensions)
-- Documents take over their data in the generation that serves now.
UPDATE documents SET (ingestion_version, chunks) = (
    SELECT r.ingestion_version, r.chunks FROM derived r WHERE r.generation = ?2 AND r.document = documents.pk),
    embedding_model = ?3, embedding_dim = ?4, updated_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')
WHERE user_id = ?1 AND pk IN (SELECT document FROM derived WHERE generation = ?2);

-- name: apply_planned_facets(user_id, generation)
UPDATE facets SET text = (SELECT d.updated_at FROM documents d WHERE d.pk = facets.document)
WHERE user_id = ?1 AND key = 'updated' AND document IN (SELECT document FROM derived WHERE generation = ?2);

-- name: finish_all_waiting(user_id, generation)
UPDATE documents SET status = 'ready', error = NULL
WHERE user_id = ?1 AND status IN ('embedding', 'queued') AND current IS NOT NULL
AND pk IN (SELECT document FROM derived WHERE generation = ?2);

-- name: drop_generation_chunks(user_id, generation)
DELETE FROM chunks WHERE user_id = ?1 AND generation = ?2;

-- name: drop_generation_log(user_id, generation)
DELETE FROM changes WHERE user_id = ?1 AND generation = ?2;

-- name: drop_generation(user_id, generation)
DELETE FROM generations WHERE user_id = ?1 AND pk = ?2;

-- name: drop_unused_vectors(user_id)
DELETE FROM embeddings WHERE user_id = ?1 AND NOT EXISTS (
    SELECT 1 FROM chunks c JOIN generations g ON g.pk = c.generation
    WHERE c.user_id = ?1 AND c.input_hash = embeddings.input_hash AND g.model = embeddings.model);

-- name: count_waiting(user_id)
SELECT COUNT(*) FROM documents WHERE user_id = ?1 AND status IN ('embedding', 'queued') AND current IS NOT NULL;

-- name: claim_waiting(user_id)
-- All waiting documents: the caller is the only writer.
SELECT pk FROM documents
WHERE user_id = ?1 AND status IN ('embedding', 'queued') AND current IS NOT NULL ORDER BY pk;

-- name: waiting_chunks(user_id)
SELECT COALESCE(SUM(chunks), 0) FROM documents
WHERE user_id = ?1 AND status IN ('embedding', 'queued') AND current IS NOT NULL;

-- name: set_waiting(user_id, status, error)
UPDATE documents SET status = ?2, error = ?3
WHERE user_id = ?1 AND status IN ('embedding', 'queued') AND current IS NOT NULL
AND (status IS NOT ?2 OR error IS NOT ?3);

-- name: inputs_without_vector(user_id, generation, model, documents, first, last, after, limit)
-- Of documents from the first to the last key, after a chunk of the first, in the order of two indexes: a page is read
-- without sorting what follows it. A text of more than two pieces is cut off, and must be read separately.
SELECT d.pk AS document, c.chunk_index, c.input_hash, c.version, c.start AS start_offset, c.end AS end_offset, c.tokens,
       c.prefix, c.headings, c.parts, substr(t.content || COALESCE(u.content, ''), c.start % 4000 + 1, c.end - c.start)
       AS content
FROM documents d CROSS JOIN chunks c ON c.version = d.current AND c.generation = ?2
AND c.chunk_index > iif(d.pk = ?5, ?7, -1)
LEFT JOIN texts t ON t.version = c.version AND t.number = c.start / 4000
LEFT JOIN texts u ON u.version = c.version AND u.number = c.start / 4000 + 1 AND c.end > u.number * 4000
WHERE d.pk BETWEEN ?5 AND ?6 AND +d.pk IN (SELECT value FROM carray(?4)) AND +d.user_id = ?1 AND NOT EXISTS (
    SELECT 1 FROM embeddings e WHERE e.user_id = c.user_id AND e.model = ?3 AND e.input_hash = c.input_hash)
ORDER BY d.pk, c.chunk_index LIMIT ?8;

-- name: finish_waiting(user_id, documents)
-- They become ready when the indexes have them too.
UPDATE documents SET status = 'indexing', error = NULL
WHERE user_id = ?1 AND pk IN (SELECT value FROM carray(?2)) AND current IS NOT NULL;

-- name: note_vectors(user_id, generation, documents)
-- Logs for the dense index that documents changed.
INSERT INTO changes (user_id, generation, document, leg) SELECT ?1, ?2, value, 'dense' FROM carray(?3);
