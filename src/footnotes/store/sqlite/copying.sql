-- Everything of a document as it is, for a library that moves to another store.

-- name: copied_documents
SELECT id FROM documents WHERE user_id = ? ORDER BY pk;

-- name: copied_sketch
SELECT sketch FROM sketches WHERE document = ?;

-- name: copied_derived
SELECT generation, ingestion_version, chunks FROM derived WHERE document = ?;

-- name: copied_origins
SELECT o.source, o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.etag, o.modified, o.error, o.made_by
FROM sources s JOIN origins o ON o.user_id = s.user_id AND o.collection = s.collection AND o.source = s.source
WHERE s.document = ? ORDER BY o.source;

-- name: copied_chunks
SELECT c.generation, c.chunk_index, c.id, c.start, c.end, c.page_first, c.page_last, c.line_first, c.line_last,
       c.headings, c.tokens, c.prefix, c.metadata, c.parts, c.input_hash, e.vector
FROM chunks c JOIN generations g ON g.pk = c.generation AND g.user_id = c.user_id AND g.state <> 'building'
LEFT JOIN embeddings e ON e.user_id = c.user_id AND e.model = g.model AND e.input_hash = c.input_hash
WHERE c.version = ? AND c.user_id = ? ORDER BY c.generation, c.chunk_index;

-- name: copy_document
INSERT INTO documents (id, user_id, collection, source, filename, file_hash, mime, title, status, bytes, characters,
    pages, chunks, metadata, warnings, embedding_model, embedding_dim, ingestion_version, version, error, current,
    created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING pk;

-- name: copy_collection
INSERT INTO collections (user_id, name, chunker, chunker_options, system_prompt, created_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: copy_origin
INSERT INTO origins (user_id, collection, source, size, mtime_ns, ctime_ns, read_ns, etag, modified, error, made_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;
