-- name: waiting_documents
SELECT pk FROM documents
WHERE user_id = ? AND status IN ('embedding', 'queued') AND current IS NOT NULL ORDER BY pk;

-- name: waiting_chunks
SELECT COALESCE(SUM(chunks), 0) FROM documents
WHERE user_id = ? AND status IN ('embedding', 'queued') AND current IS NOT NULL;

-- name: set_waiting
UPDATE documents SET status = ?1, error = ?2
WHERE user_id = ?3 AND status IN ('embedding', 'queued') AND current IS NOT NULL;

-- name: lacks_vectors
SELECT 1 FROM chunks c WHERE c.generation = ?1 AND c.version = ?2 AND NOT EXISTS (
    SELECT 1 FROM embeddings e WHERE e.user_id = c.user_id AND e.model = ?3 AND e.input_hash = c.input_hash) LIMIT 1;

-- name: inputs_without_vector
SELECT c.chunk_index, c.input_hash, c.version, c.start, c.end, c.tokens, c.prefix, c.headings, c.parts
FROM documents d JOIN chunks c ON c.version = d.current AND c.generation = ?1
WHERE d.user_id = ?2 AND d.pk = ?3 AND c.chunk_index > ?4 AND NOT EXISTS (
    SELECT 1 FROM embeddings e WHERE e.user_id = c.user_id AND e.model = ?5 AND e.input_hash = c.input_hash)
ORDER BY c.chunk_index LIMIT ?6;

-- name: set_embedded
UPDATE documents SET status = 'indexing', error = NULL WHERE user_id = ? AND pk = ? AND current IS NOT NULL;

-- name: finish_waiting
UPDATE documents SET status = 'ready', error = NULL
WHERE user_id = ?1 AND status IN ('embedding', 'queued') AND current IS NOT NULL
AND pk IN (SELECT document FROM derived WHERE generation = ?2);
