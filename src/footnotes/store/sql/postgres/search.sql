-- One search in one statement: both legs, the statistics of the question's terms, and the serving generation.

-- fragment: search_start
SELECT u.serving, u.changed,
       (SELECT count(*) FROM documents w WHERE w.user_id = $1 AND w.status IN ('embedding', 'queued')
        AND w.current IS NOT NULL) AS waiting,
       (SELECT count(*) FROM (
           SELECT 1 FROM index_changes c WHERE c.generation = $2 AND c.seq > (
               SELECT s.seq FROM shelves s WHERE s.generation = $2 AND s.in_use) LIMIT 10000) later) AS behind,
       (SELECT s.seq FROM shelves s WHERE s.generation = $2 AND s.in_use) AS reached,
       s.total, s.frequencies,
       f.key, f.lexical_rank, f.lexical_score, f.dense_rank, f.dense_score, f.embedding, f.id, f.document, f.document_id,
       f.chunk_index, f.start_offset, f.end_offset, f.page_first, f.page_last, f.line_first, f.line_last,
       f.headings::text AS headings, f.metadata::text AS metadata, f.content, f.defines, f.uses,
       d.filename, d.title, d.collection, d.metadata::text AS document_metadata, d.mime, d.file_hash, d.chunks,
       to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"') AS ingested_at
FROM (SELECT max(k.body) FILTER (WHERE t.place IS NULL) AS total,
             array_agg(COALESCE(k.body, 0) ORDER BY t.place) FILTER (WHERE t.place IS NOT NULL) AS frequencies
      FROM unnest($3::text[]) WITH ORDINALITY AS t (term, place)
      FULL JOIN term_statistics($2, $3) k ON k.term = t.term) s
LEFT JOIN users u ON u.user_id = $1
LEFT JOIN search_chunks($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,

-- fragment: changed_since
-- The chunks of documents that changed after the last change a remote index was known to have applied before the
-- query: it has an older version of these, or none.
COALESCE((
    SELECT array_agg(c.key) FROM (
        SELECT i.document FROM index_changes i WHERE i.generation = $2 AND i.seq > LEAST($19::bigint, (
            SELECT s.seq FROM shelves s WHERE s.generation = $2 AND s.in_use))
        ORDER BY i.seq DESC LIMIT 1000) changed
    JOIN documents d ON d.pk = changed.document
    JOIN document_chunks c ON c.generation = $2 AND c.document = d.pk AND c.version = d.current), '{}')

-- fragment: search_end
    $14, $15, $16, CASE WHEN $17::bigint[] IS NOT NULL THEN $17 || {changed_since} END,
    CASE WHEN $18::bigint[] IS NOT NULL THEN $18 || {changed_since} END) f ON true
LEFT JOIN documents d ON d.pk = f.document LEFT JOIN versions v ON v.pk = d.current

-- name: search(user_id, generation, terms, weights, body, title, section, symbols, fields, defined, used, vector, depth, budget, reading, per_document, given_lexical, given_dense, since)
{search_start}
NULL::bigint[],
{search_end}

-- name: search_filtered(user_id, generation, terms, weights, body, title, section, symbols, fields, defined, used, vector, depth, budget, reading, per_document, given_lexical, given_dense, since)
{search_start}
(SELECT COALESCE(array_agg(c.key), '{}') FROM documents d
 JOIN document_chunks c ON c.generation = $2 AND c.document = d.pk AND c.version = d.current
 WHERE d.user_id = $1 AND {where}),
{search_end}

-- name: allowed_keys(user_id, generation)
SELECT c.key FROM documents d JOIN document_chunks c ON c.generation = $2 AND c.document = d.pk AND c.version = d.current
WHERE d.user_id = $1 AND {where}

-- name: document_frequency(generation, term)
SELECT COALESCE(sum(body), 0)::bigint FROM statistics WHERE generation = $1 AND term = $2

-- name: frequencies_of_terms(generation, terms)
SELECT term, body, title, section, symbols FROM term_statistics($1, $2)

-- name: contents(keys)
SELECT key, content FROM document_chunks WHERE key = ANY ($1)

-- name: stamp(user_id)
SELECT serving, changed FROM users WHERE user_id = $1
