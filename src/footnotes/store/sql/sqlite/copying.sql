-- All data of a document, unchanged, to move a library to another store.

-- name: copied_derived(document)
SELECT generation, ingestion_version, chunks FROM derived WHERE document = ?1;

-- name: copied_origins(document)
SELECT o.source, o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.etag, o.modified, o.error, o.made_by
FROM sources s JOIN origins o ON o.user_id = s.user_id AND o.collection = s.collection AND o.source = s.source
WHERE s.document = ?1 ORDER BY o.source;

-- name: copied_chunks(user_id, version, generation, after, limit)
SELECT c.generation, c.chunk_index, c.id, c.start AS start_offset, c.end AS end_offset, c.page_first, c.page_last,
       c.line_first, c.line_last, c.headings, c.tokens, c.prefix, c.metadata, c.parts, c.input_hash, e.vector
FROM chunks c JOIN generations g ON g.pk = c.generation AND g.user_id = c.user_id AND g.state <> 'building'
LEFT JOIN embeddings e ON e.user_id = c.user_id AND e.model = g.model AND e.input_hash = c.input_hash
WHERE c.user_id = ?1 AND c.version = ?2 AND (c.generation, c.chunk_index) > (?3, ?4)
ORDER BY c.generation, c.chunk_index LIMIT ?5;

-- name: copy_document(user_id, id, collection, source, filename, file_hash, mime, title, status, bytes, characters, pages, chunks, metadata, warnings, embedding_model, embedding_dim, ingestion_version, version, error, created_at, updated_at)
-- It becomes ready when the indexes have it.
INSERT INTO documents (user_id, id, collection, source, filename, file_hash, mime, title, status, bytes, characters,
    pages, chunks, metadata, warnings, embedding_model, embedding_dim, ingestion_version, version, error, created_at,
    updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, CASE ?9 WHEN 'ready' THEN 'indexing' ELSE ?9 END, ?10, ?11, ?12, ?13, ?14, ?15,
    ?16, ?17, ?18, ?19, ?20, ?21, ?22) RETURNING pk;

-- name: make_version(user_id, collection, file_hash)
INSERT INTO versions (user_id, collection, file_hash, created_at)
VALUES (?1, ?2, ?3, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')) RETURNING pk;

-- name: serve_copy(user_id, document, version)
UPDATE documents SET current = ?3 WHERE user_id = ?1 AND pk = ?2;
