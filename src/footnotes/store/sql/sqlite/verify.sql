-- Comparisons for `verify`.

-- name: chunk_inputs(user_id, generation, after, limit)
SELECT c.key, c.version, c.start AS start_offset, c.end AS end_offset, c.prefix, c.input_hash, d.id AS document_id,
       NULL AS content, NULL AS span
FROM chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = ?1 AND c.generation = ?2 AND c.key > ?3 ORDER BY c.key LIMIT ?4;

-- name: wrong_vectors(user_id, generation, model, bytes)
SELECT (SELECT COUNT(*) FROM chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
        WHERE c.user_id = ?1 AND c.generation = ?2 AND d.status NOT IN ('embedding', 'queued') AND NOT EXISTS (
            SELECT 1 FROM embeddings e WHERE e.user_id = c.user_id AND e.model = ?3 AND e.input_hash = c.input_hash)
       ) AS missing,
       (SELECT COUNT(*) FROM embeddings WHERE user_id = ?1 AND model = ?3 AND length(vector) <> ?4) AS misfit;

-- name: drop_misfit_vectors(user_id, model, bytes)
DELETE FROM embeddings WHERE user_id = ?1 AND model = ?2 AND length(vector) <> ?3;

-- name: requeue_without_vectors(user_id, generation, model)
UPDATE documents SET status = 'queued' WHERE user_id = ?1 AND current IS NOT NULL AND EXISTS (
    SELECT 1 FROM chunks c WHERE c.version = documents.current AND c.generation = ?2 AND NOT EXISTS (
        SELECT 1 FROM embeddings e WHERE e.user_id = ?1 AND e.model = ?3 AND e.input_hash = c.input_hash));
