-- Canonical text, whole or in pieces, its blocks, chunks and their vectors.

-- name: texts(user_id, version, first, last, start, length)
-- A text that is stored whole has number -1.
SELECT -1 AS number, substr(content, ($5::bigint + 1)::integer, $6::integer) AS content FROM documents
WHERE user_id = $1 AND current = $2 AND content IS NOT NULL
UNION ALL
SELECT number, content FROM texts WHERE user_id = $1 AND version = $2 AND number BETWEEN $3 AND $4
ORDER BY number

-- name: is_current(user_id, version)
SELECT 1 FROM documents WHERE user_id = $1 AND current = $2

-- name: put_texts(user_id, version, number, content)
INSERT INTO texts (user_id, version, number, content)
SELECT n.user_id, n.version, n.number, n.content
FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::text[]) AS n (user_id, version, number, content)

-- name: parts(user_id, version, after, limit)
SELECT number, start, length, blocks FROM parts WHERE user_id = $1 AND version = $2 AND number > $3
ORDER BY number LIMIT $4

-- name: put_parts(user_id, version, number, start, length, blocks)
INSERT INTO parts (user_id, version, number, start, length, blocks)
SELECT n.user_id, n.version, n.number, n.start, n.length, n.blocks
FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::text[])
     AS n (user_id, version, number, start, length, blocks)

-- fragment: chunk_columns
c.id, d.id AS document_id, c.chunk_index, d.chunks, c.start_offset, c.end_offset, c.page_first, c.page_last,
c.headings::text AS headings, c.tokens, c.prefix, c.metadata::text AS metadata, c.version, c.line_first, c.line_last,
c.content, d.mime, d.file_hash,
to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"') AS ingested_at

-- name: chunks_of_document(user_id, generation, document)
SELECT {chunk_columns} FROM documents d JOIN document_chunks c ON c.version = d.current AND c.generation = $2
JOIN versions v ON v.pk = d.current WHERE d.user_id = $1 AND d.pk = $3 ORDER BY c.chunk_index

-- name: neighbours(user_id, generation, id, first, last)
SELECT {chunk_columns} FROM documents d JOIN document_chunks c ON c.version = d.current AND c.generation = $2
JOIN versions v ON v.pk = d.current WHERE d.user_id = $1 AND d.id = $3 AND c.chunk_index BETWEEN $4 AND $5 ORDER BY c.chunk_index

-- name: known_vectors(user_id, model, hashes)
SELECT DISTINCT input_hash FROM document_chunks
WHERE user_id = $1 AND model = $2 AND input_hash = ANY ($3) AND embedding IS NOT NULL

-- name: drop_chunks_of(user_id, generation, version)
DELETE FROM document_chunks WHERE user_id = $1 AND generation = $2 AND version = $3

-- name: put_statistics(user_id, generation, body_term, body, term, title, section, symbols)
INSERT INTO statistics (user_id, generation, term, body, title, section, symbols)
SELECT $1, $2::bigint, n.term, n.body, 0, 0, 0 FROM unnest($3::text[], $4::bigint[]) AS n (term, body)
UNION ALL
SELECT $1, $2, n.term, 0, n.title, n.section, n.symbols
FROM unnest($5::text[], $6::bigint[], $7::bigint[], $8::bigint[]) AS n (term, title, section, symbols)

-- name: note_chunks(user_id, generation, versions)
-- Adds the versions to the term statistics of a generation.
INSERT INTO statistics (user_id, generation, term, body, title, section, symbols)
SELECT $1, $2, t.lexeme, count(*) FILTER (WHERE 'D' = ANY (t.weights)),
       count(*) FILTER (WHERE 'A' = ANY (t.weights)), count(*) FILTER (WHERE 'B' = ANY (t.weights)),
       count(*) FILTER (WHERE 'C' = ANY (t.weights))
FROM document_chunks c, unnest(c.content_tsv) t
WHERE c.version = ANY ($3) AND c.generation = $2 AND t.weights IS NOT NULL GROUP BY t.lexeme
UNION ALL
SELECT $1, $2, unnest(ARRAY[' chunks', ' length']), unnest(ARRAY[count(*), COALESCE(sum(c.body_length), 0)]),
       unnest(ARRAY[count(*), COALESCE(sum(c.title_length), 0)]),
       unnest(ARRAY[count(*), COALESCE(sum(c.section_length), 0)]),
       unnest(ARRAY[count(*), COALESCE(sum(c.symbols_length), 0)])
FROM document_chunks c WHERE c.version = ANY ($3) AND c.generation = $2
