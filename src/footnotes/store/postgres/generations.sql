-- Generations, and documents whose vectors follow. $1 is the tenant.

-- name: generation_columns
g.pk, g.user_id, g.state, g.plan, m.pk AS model, m.fingerprint, m.name, m.dimensions

-- name: serving
SELECT {generation_columns}, u.changed, (SELECT s.seq FROM shelves s WHERE s.generation = g.pk AND s.in_use) AS reached,
       (SELECT count(*) FROM documents w
        WHERE w.user_id = u.user_id AND w.status IN ('embedding', 'queued') AND w.current IS NOT NULL) AS waiting
FROM users u JOIN generations g ON g.pk = u.serving JOIN models m ON m.pk = g.model WHERE u.user_id = $1

-- name: stamp
SELECT serving, changed FROM users WHERE user_id = $1

-- name: generation
SELECT {generation_columns} FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = $1 AND g.pk = $2

-- name: generations
SELECT {generation_columns} FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = $1 ORDER BY g.pk

-- name: put_model
INSERT INTO models (fingerprint, name, dimensions) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: model
SELECT pk FROM models WHERE fingerprint = $1

-- name: make_generation
INSERT INTO generations (user_id, model, plan, state, lexemes) VALUES ($1, $2, $3, $4, $5) RETURNING pk

-- name: set_plan
UPDATE generations SET plan = $3 WHERE user_id = $1 AND pk = $2

-- name: set_generation_state
UPDATE generations SET state = $3 WHERE user_id = $1 AND pk = $2

-- name: generation_state
SELECT state FROM generations WHERE user_id = $1 AND pk = $2

-- name: set_serving
UPDATE users SET serving = $2, changed = changed + 1 WHERE user_id = $1

-- name: drop_generation
DELETE FROM generations WHERE user_id = $1 AND pk = $2

-- name: drop_generation_chunks
DELETE FROM document_chunks WHERE user_id = $1 AND generation IN ($2, -$2::bigint)

-- name: averages
SELECT body_average, title_average, section_average, symbols_average FROM generations WHERE user_id = $1 AND pk = $2

-- name: set_averages
UPDATE generations SET body_average = $3, title_average = $4, section_average = $5, symbols_average = $6, weighed = $7
WHERE user_id = $1 AND pk = $2 AND body_average IS NULL

-- name: documents_to_fill
-- Without chunks in the generation, or with chunks that have no vector there yet.
SELECT d.pk FROM documents d WHERE d.user_id = $1 AND d.current IS NOT NULL AND (
    NOT EXISTS (SELECT 1 FROM document_chunks c WHERE c.version = d.current AND c.generation = $2)
    OR EXISTS (SELECT 1 FROM document_chunks c WHERE c.version = d.current AND c.document = d.pk
               AND c.generation = $2 AND c.embedding IS NULL))
ORDER BY d.pk

-- name: put_planned
INSERT INTO derived (user_id, generation, document, ingestion_version, chunks)
SELECT $1, $2, n.document, n.ingestion_version, n.chunks
FROM unnest($3::bigint[], $4::text[], $5::integer[]) AS n (document, ingestion_version, chunks)
ON CONFLICT (generation, document) DO UPDATE SET
    ingestion_version = excluded.ingestion_version, chunks = excluded.chunks

-- name: apply_planned
UPDATE documents d SET ingestion_version = r.ingestion_version, chunks = r.chunks, embedding_model = $3,
    embedding_dim = $4
FROM derived r WHERE d.user_id = $1 AND r.generation = $2 AND r.document = d.pk

-- name: finish_all_waiting
UPDATE documents SET status = 'ready', error = NULL, holder = NULL
WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL
AND pk IN (SELECT document FROM derived WHERE generation = $2)

-- name: waiting_documents
SELECT pk FROM documents
WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL ORDER BY pk

-- name: claim_waiting
UPDATE documents SET status = 'embedding', error = NULL, holder = $2 WHERE user_id = $1 AND pk IN (
    SELECT pk FROM documents
    WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL
    AND (holder IS NULL OR holder = $2 OR holder NOT IN (SELECT living()))
    ORDER BY pk LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING pk

-- name: waiting_chunks
SELECT COALESCE(sum(chunks), 0)::bigint FROM documents
WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL

-- name: set_waiting
UPDATE documents SET status = $3, error = $4, holder = CASE WHEN $3 = 'queued' THEN NULL ELSE $2::integer END
WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL AND (
    holder = $2 OR ($3 = 'queued' AND holder IS NULL))

-- name: versions_lacking_vectors
SELECT DISTINCT version FROM document_chunks
WHERE user_id = $1 AND generation = $2 AND version = ANY ($3) AND embedding IS NULL

-- name: inputs_without_vector
SELECT c.chunk_index, c.input_hash, c.start_offset, c.tokens, c.prefix, c.headings, c.parts, c.content
FROM documents d JOIN document_chunks c ON c.version = d.current AND c.document = d.pk AND c.generation = $2
WHERE d.user_id = $1 AND d.pk = $3 AND c.chunk_index > $4 AND c.embedding IS NULL
ORDER BY c.chunk_index LIMIT $5

-- name: finish_waiting
-- Where a vector database serves, they are ready when it has them too.
UPDATE documents d SET error = NULL, holder = NULL, status = CASE
    WHEN is_served_outside($3) THEN 'indexing' ELSE 'ready' END
WHERE d.user_id = $1 AND d.pk = ANY ($4) AND d.holder = $2 AND d.current IS NOT NULL
AND d.status IN ('embedding', 'queued') AND NOT EXISTS (
    SELECT 1 FROM document_chunks c WHERE c.generation = $3 AND c.document = d.pk AND c.version = d.current
    AND c.embedding IS NULL)
