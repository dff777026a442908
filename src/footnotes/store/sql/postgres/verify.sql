-- Comparisons for `verify`.

-- name: chunk_inputs(user_id, generation, after, limit)
SELECT c.key, c.version, c.start_offset, c.end_offset, c.prefix, c.input_hash, d.id AS document_id, c.content,
       substr(d.content, (c.start_offset + 1)::integer, (c.end_offset - c.start_offset)::integer) AS span
FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2 AND c.key > $3 ORDER BY c.key LIMIT $4

-- name: wrong_vectors(user_id, generation, dimensions)
SELECT count(*) FILTER (WHERE c.embedding IS NULL AND d.status NOT IN ('embedding', 'queued')) AS missing,
       count(*) FILTER (WHERE vector_dims(c.embedding) <> $3) AS misfit
FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2

-- name: drop_misfit_vectors(user_id, generation, dimensions)
UPDATE document_chunks SET embedding = NULL WHERE user_id = $1 AND generation = $2 AND vector_dims(embedding) <> $3

-- name: requeue_without_vectors(user_id, generation)
UPDATE documents d SET status = 'queued', holder = NULL WHERE d.user_id = $1 AND d.current IS NOT NULL AND EXISTS (
    SELECT 1 FROM document_chunks c WHERE c.version = d.current AND c.generation = $2 AND c.embedding IS NULL)
