-- Tenants, their collections and generations, and documents that wait for vectors.

-- fragment: generation_columns
g.pk, g.user_id, g.state, g.plan::text AS plan, m.pk AS model, m.fingerprint, m.name AS embedder, m.dimensions

-- name: users()
SELECT user_id FROM users ORDER BY user_id

-- name: make_user(user_id)
INSERT INTO users (user_id) VALUES ($1) ON CONFLICT DO NOTHING

-- name: collections(user_id)
SELECT c.name, c.chunker, c.chunker_options, c.system_prompt,
       (SELECT count(*) FROM documents d WHERE d.user_id = c.user_id AND d.collection = c.name) AS documents
FROM collections c WHERE c.user_id = $1 ORDER BY c.name

-- name: put_collection(user_id, name, chunker, chunker_options, system_prompt)
INSERT INTO collections AS c (user_id, name, chunker, chunker_options, system_prompt) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (user_id, name) DO UPDATE SET
    chunker = COALESCE(excluded.chunker, c.chunker),
    chunker_options = COALESCE(excluded.chunker_options, c.chunker_options),
    system_prompt = COALESCE(excluded.system_prompt, c.system_prompt)

-- name: set_chunker(user_id, name, chunker, chunker_options)
UPDATE collections SET chunker = $3, chunker_options = $4 WHERE user_id = $1 AND name = $2

-- name: drop_collection(user_id, name)
DELETE FROM collections WHERE user_id = $1 AND name = $2
AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.user_id = $1 AND d.collection = $2)

-- name: drop_collection_origins(user_id, name)
DELETE FROM origins WHERE user_id = $1 AND collection = $2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = $1 AND c.name = $2)

-- name: drop_collection_jobs(user_id, name)
DELETE FROM jobs WHERE user_id = $1 AND request ->> 'collection' = $2
AND NOT EXISTS (SELECT 1 FROM collections c WHERE c.user_id = $1 AND c.name = $2)

-- name: serving(user_id)
SELECT {generation_columns} FROM users u JOIN generations g ON g.pk = u.serving JOIN models m ON m.pk = g.model
WHERE u.user_id = $1

-- name: served(user_id)
-- The state for searches. `reached` is the last change its remote index is known to have applied.
SELECT {generation_columns}, u.changed,
       (SELECT s.seq FROM shelves s WHERE s.generation = g.pk AND s.in_use) AS reached,
       (SELECT count(*) FROM documents w
        WHERE w.user_id = u.user_id AND w.status IN ('embedding', 'queued') AND w.current IS NOT NULL) AS waiting
FROM users u JOIN generations g ON g.pk = u.serving JOIN models m ON m.pk = g.model WHERE u.user_id = $1

-- name: generation(user_id, generation)
SELECT {generation_columns} FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = $1 AND g.pk = $2

-- name: generations(user_id)
SELECT {generation_columns} FROM generations g JOIN models m ON m.pk = g.model WHERE g.user_id = $1 ORDER BY g.pk

-- name: dense_index(user_id, generation, name)
-- The method of a complete index, and why it is not the one asked for.
SELECT a.amname AS method, g.index_failure AS error FROM generations g
LEFT JOIN pg_index i ON i.indexrelid = to_regclass($3) AND i.indisvalid
LEFT JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_am a ON a.oid = c.relam
WHERE g.user_id = $1 AND g.pk = $2

-- name: put_model(fingerprint, embedder, dimensions)
INSERT INTO models (fingerprint, name, dimensions) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: make_generation(user_id, fingerprint, plan, state, lexemes)
INSERT INTO generations (user_id, model, plan, state, lexemes)
SELECT $1, pk, $3::text::jsonb, $4, $5 FROM models WHERE fingerprint = $2 RETURNING pk

-- name: set_plan(user_id, generation, plan)
UPDATE generations SET plan = $3::text::jsonb WHERE user_id = $1 AND pk = $2

-- name: set_generation_state(user_id, generation, state)
UPDATE generations SET state = $3 WHERE user_id = $1 AND pk = $2

-- name: set_serving(user_id, generation)
UPDATE users SET serving = $2, changed = changed + 1 WHERE user_id = $1

-- name: documents_to_fill(user_id, generation)
-- Documents without chunks in the generation, or with chunks that have no vector there yet.
SELECT d.pk FROM documents d WHERE d.user_id = $1 AND d.current IS NOT NULL AND (
    NOT EXISTS (SELECT 1 FROM document_chunks c WHERE c.version = d.current AND c.generation = $2)
    OR EXISTS (SELECT 1 FROM document_chunks c WHERE c.version = d.current AND c.document = d.pk
               AND c.generation = $2 AND c.embedding IS NULL))
ORDER BY d.pk

-- name: put_planned(user_id, generation, document, ingestion_version, chunks)
INSERT INTO derived (user_id, generation, document, ingestion_version, chunks)
SELECT n.user_id, n.generation, n.document, n.ingestion_version, n.chunks
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::integer[])
     AS n (user_id, generation, document, ingestion_version, chunks)
ON CONFLICT (generation, document) DO UPDATE SET
    ingestion_version = excluded.ingestion_version, chunks = excluded.chunks

-- name: apply_planned(user_id, generation, embedder, dimensions)
-- Documents take over their data in the generation that serves now.
UPDATE documents d SET ingestion_version = r.ingestion_version, chunks = r.chunks, embedding_model = $3,
    embedding_dim = $4, updated_at = now()
FROM derived r WHERE d.user_id = $1 AND r.generation = $2 AND r.document = d.pk

-- name: apply_planned_facets(user_id, generation)
UPDATE facets f SET text = to_char(d.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"')
FROM documents d, derived r
WHERE f.user_id = $1 AND f.key = 'updated' AND f.document = d.pk AND r.generation = $2 AND r.document = d.pk

-- name: finish_all_waiting(user_id, generation)
UPDATE documents SET status = 'ready', error = NULL, holder = NULL
WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL
AND pk IN (SELECT document FROM derived WHERE generation = $2)

-- name: drop_generation_chunks(user_id, generation)
DELETE FROM document_chunks WHERE user_id = $1 AND generation IN ($2, -$2::bigint)

-- name: drop_generation_log(user_id, generation)
-- The change log is deleted with the generation; term statistics are not.
DELETE FROM statistics WHERE user_id = $1 AND generation = $2

-- name: drop_generation(user_id, generation)
DELETE FROM generations WHERE user_id = $1 AND pk = $2

-- name: drop_unused_vectors()
-- Vectors are in the rows of the chunks, and are deleted with them.
SELECT 1 WHERE false

-- name: count_waiting(user_id)
SELECT count(*) FROM documents WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL

-- name: claim_waiting(user_id, holder)
-- Some waiting documents that no live writer holds; the rest is left for others.
UPDATE documents SET status = 'embedding', error = NULL, holder = $2 WHERE user_id = $1 AND pk IN (
    SELECT pk FROM documents
    WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL
    AND (holder IS NULL OR holder = $2 OR holder NOT IN (SELECT living()))
    ORDER BY pk LIMIT 256 FOR UPDATE SKIP LOCKED) RETURNING pk

-- name: waiting_chunks(user_id)
SELECT COALESCE(sum(chunks), 0)::bigint FROM documents
WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL

-- name: set_waiting(user_id, holder, status, error)
UPDATE documents SET status = $3, error = $4::text::jsonb,
    holder = CASE WHEN $3 = 'queued' THEN NULL ELSE $2::integer END
WHERE user_id = $1 AND status IN ('embedding', 'queued') AND current IS NOT NULL AND (
    holder = $2 OR ($3 = 'queued' AND holder IS NULL))

-- name: inputs_without_vector(user_id, generation, documents, first, after, limit)
-- Of documents from the first key on, after a chunk of the first. Each document is read in the order of the index, so
-- that a page of a large one does not sort what follows it.
SELECT d.pk AS document, c.chunk_index, c.input_hash, c.version, c.start_offset, c.end_offset, c.tokens, c.prefix,
       c.headings::text AS headings, c.parts::text AS parts, c.content
FROM documents d CROSS JOIN LATERAL (
    SELECT n.chunk_index, n.input_hash, n.version, n.start_offset, n.end_offset, n.tokens, n.prefix, n.headings, n.parts,
           n.content
    FROM document_chunks n WHERE n.version = d.current AND n.generation = $2 AND n.embedding IS NULL
    AND n.chunk_index > CASE WHEN d.pk = $4 THEN $5::integer ELSE -1 END ORDER BY n.chunk_index LIMIT $6) c
WHERE d.user_id = $1 AND d.pk = ANY ($3) AND d.pk >= $4
ORDER BY d.pk, c.chunk_index LIMIT $6

-- name: finish_waiting(user_id, holder, generation, documents)
-- If a vector database serves a leg, they are ready when it has them too.
UPDATE documents d SET error = NULL, holder = NULL, status = CASE
    WHEN is_served_outside($3) THEN 'indexing' ELSE 'ready' END
WHERE d.user_id = $1 AND d.pk = ANY ($4) AND d.holder = $2 AND d.current IS NOT NULL
AND d.status IN ('embedding', 'queued') AND NOT EXISTS (
    SELECT 1 FROM document_chunks c WHERE c.generation = $3 AND c.document = d.pk AND c.version = d.current
    AND c.embedding IS NULL)

-- name: note_vectors()
-- A trigger writes the change log.
SELECT 1 WHERE false
