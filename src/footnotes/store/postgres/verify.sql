-- What is compared with what. $1 is the tenant, $2 the generation.

-- name: chunk_inputs
SELECT c.key, c.version, c.start_offset, c.end_offset, c.prefix, c.input_hash, d.id AS document_id, c.content,
       substr(d.content, (c.start_offset + 1)::integer, (c.end_offset - c.start_offset)::integer) AS span
FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2 AND c.key > $3 ORDER BY c.key LIMIT $4

-- name: wrong_vectors
SELECT count(*) FILTER (WHERE c.embedding IS NULL AND d.status NOT IN ('embedding', 'queued')),
       count(*) FILTER (WHERE vector_dims(c.embedding) <> $3)
FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2

-- name: wrong_statistics
WITH served AS (
    SELECT c.content_tsv, c.body_length, c.title_length, c.section_length, c.symbols_length FROM document_chunks c
    JOIN documents d ON d.pk = c.document AND d.current = c.version
    WHERE c.user_id = $1 AND c.generation = $2
), counted AS (
    SELECT t.lexeme AS term, count(*) FILTER (WHERE 'D' = ANY (t.weights)) AS body,
           count(*) FILTER (WHERE 'A' = ANY (t.weights)) AS title,
           count(*) FILTER (WHERE 'B' = ANY (t.weights)) AS section,
           count(*) FILTER (WHERE 'C' = ANY (t.weights)) AS symbols
    FROM served, unnest(served.content_tsv) t GROUP BY t.lexeme
    UNION ALL SELECT ' chunks', count(*), count(*), count(*), count(*) FROM served
    UNION ALL SELECT ' length', COALESCE(sum(body_length), 0), COALESCE(sum(title_length), 0),
                     COALESCE(sum(section_length), 0), COALESCE(sum(symbols_length), 0) FROM served
), kept AS (
    SELECT term, sum(body) AS body, sum(title) AS title, sum(section) AS section, sum(symbols) AS symbols
    FROM statistics WHERE user_id = $1 AND generation = $2 GROUP BY term
)
SELECT count(*) FROM counted FULL JOIN kept ON kept.term = counted.term COLLATE "C"
WHERE (COALESCE(counted.body, 0), COALESCE(counted.title, 0), COALESCE(counted.section, 0), COALESCE(counted.symbols, 0))
      IS DISTINCT FROM
      (COALESCE(kept.body, 0), COALESCE(kept.title, 0), COALESCE(kept.section, 0), COALESCE(kept.symbols, 0))

-- name: served_versions
SELECT DISTINCT c.version FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2 ORDER BY c.version
