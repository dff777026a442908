-- Canonical text in pieces, its blocks, chunks and their vectors.

-- name: texts(version, first, last)
SELECT number, content FROM texts WHERE version = ?1 AND number BETWEEN ?2 AND ?3 ORDER BY number;

-- name: is_current(version)
SELECT 1 FROM documents WHERE current = ?1;

-- name: put_texts(version, number, content)
INSERT INTO texts (version, number, content) VALUES (?1, ?2, ?3);

-- name: parts(version, after, limit)
SELECT number, start, length, blocks FROM parts WHERE version = ?1 AND number > ?2 ORDER BY number LIMIT ?3;

-- name: put_parts(version, number, start, length, blocks)
INSERT INTO parts (version, number, start, length, blocks) VALUES (?1, ?2, ?3, ?4, ?5);

-- fragment: chunk_columns
c.id, d.id AS document_id, c.chunk_index, d.chunks, c.start AS start_offset, c.end AS end_offset, c.page_first,
c.page_last, c.headings, c.tokens, c.prefix, c.metadata, c.version, c.line_first, c.line_last, NULL AS content,
d.mime, d.file_hash, v.created_at AS ingested_at

-- name: chunks_of_document(user_id, generation, document)
SELECT {chunk_columns} FROM documents d JOIN chunks c ON c.version = d.current AND c.generation = ?2
JOIN versions v ON v.pk = d.current WHERE d.user_id = ?1 AND d.pk = ?3 ORDER BY c.chunk_index;

-- name: neighbours(user_id, generation, id, first, last)
SELECT {chunk_columns} FROM documents d JOIN chunks c ON c.version = d.current AND c.generation = ?2
JOIN versions v ON v.pk = d.current WHERE d.user_id = ?1 AND d.id = ?3 AND c.chunk_index BETWEEN ?4 AND ?5 ORDER BY c.chunk_index;

-- name: known_vectors(user_id, model, hashes)
SELECT input_hash FROM embeddings WHERE user_id = ?1 AND model = ?2 AND input_hash IN (SELECT value FROM carray(?3));

-- name: put_chunks(user_id, generation, document, version, chunk_index, id, start_offset, end_offset, page_first, page_last, headings, tokens, prefix, metadata, input_hash, parts, line_first, line_last)
INSERT INTO chunks (user_id, generation, document, version, chunk_index, id, start, end, page_first, page_last,
                    headings, tokens, prefix, metadata, input_hash, parts, line_first, line_last)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18);

-- name: drop_chunks_of(user_id, generation, version)
DELETE FROM chunks WHERE user_id = ?1 AND generation = ?2 AND version = ?3;

-- name: note_chunks(user_id, generation, document)
-- Logs for the indexes of a generation that a document changed.
INSERT INTO changes (user_id, generation, document) VALUES (?1, ?2, ?3);

-- name: put_vectors(user_id, model, input_hash, vector)
INSERT INTO embeddings (user_id, model, input_hash, vector) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING;

-- name: lacks_vectors(generation, version, model)
SELECT 1 FROM chunks c WHERE c.generation = ?1 AND c.version = ?2 AND NOT EXISTS (
    SELECT 1 FROM embeddings e WHERE e.user_id = c.user_id AND e.model = ?3 AND e.input_hash = c.input_hash) LIMIT 1;
