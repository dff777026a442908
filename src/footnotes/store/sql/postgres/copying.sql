-- All data of a document, unchanged, to move a library to another store.

-- name: copied_derived(user_id, document)
SELECT generation, ingestion_version, chunks FROM derived WHERE user_id = $1 AND document = $2

-- name: copied_origins(user_id, document)
SELECT o.source, o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.etag, o.modified, o.error::text AS error, o.made_by
FROM sources s JOIN origins o ON o.user_id = s.user_id AND o.collection = s.collection AND o.source = s.source
WHERE s.user_id = $1 AND s.document = $2 ORDER BY o.source

-- name: copied_chunks(user_id, version, generation, after, limit)
SELECT c.generation, c.chunk_index, c.id, c.start_offset, c.end_offset, c.page_first, c.page_last, c.line_first,
       c.line_last, c.headings::text AS headings, c.tokens, c.prefix, c.metadata::text AS metadata,
       c.parts::text AS parts, c.input_hash, c.embedding AS vector
FROM document_chunks c JOIN generations g ON g.pk = c.generation AND g.state <> 'building'
WHERE c.user_id = $1 AND c.version = $2 AND (c.generation, c.chunk_index) > ($3, $4)
ORDER BY c.generation, c.chunk_index LIMIT $5

-- name: copy_document(user_id, id, collection, source, filename, file_hash, mime, title, status, bytes, characters, pages, chunks, metadata, warnings, embedding_model, embedding_dim, ingestion_version, version, error, created_at, updated_at)
INSERT INTO documents (user_id, id, collection, source, filename, file_hash, mime, title, status, bytes, characters,
    pages, chunks, metadata, warnings, embedding_model, embedding_dim, ingestion_version, version, error, created_at,
    updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::text::jsonb, $15::text::jsonb, $16, $17, $18, $19,
    $20::text::jsonb, $21::text::timestamptz, $22::text::timestamptz) RETURNING pk

-- name: make_version(user_id, document, file_hash)
INSERT INTO versions (user_id, document, file_hash) VALUES ($1, $2, $3) RETURNING pk

-- name: serve_copy(user_id, document, version, content)
UPDATE documents SET current = $3, content = $4 WHERE user_id = $1 AND pk = $2
