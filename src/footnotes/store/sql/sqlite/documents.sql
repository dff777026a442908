-- Documents: found, indexed for filters, and removed with all their data.

-- fragment: document_columns
d.pk, d.id, d.collection, d.filename, d.source, d.file_hash, d.mime, d.title, d.status, d.bytes, d.characters, d.pages,
d.chunks, d.metadata, d.warnings, d.embedding_model, d.embedding_dim, d.ingestion_version, d.version, d.created_at,
d.updated_at, d.error, d.current

-- name: document(user_id, id)
SELECT {document_columns} FROM documents d WHERE d.user_id = ?1 AND d.id = ?2;

-- name: document_by_hash(user_id, collection, file_hash)
SELECT {document_columns} FROM documents d WHERE d.user_id = ?1 AND d.collection = ?2 AND d.file_hash = ?3;

-- name: documents_by_hashes(user_id, collection, hashes)
SELECT {document_columns} FROM documents d
WHERE d.user_id = ?1 AND d.collection = ?2 AND d.file_hash IN (SELECT value FROM json_each(?3));

-- name: documents_by_sources(user_id, collection, sources)
SELECT {document_columns}, s.source AS known_as FROM sources s JOIN documents d ON d.pk = s.document
WHERE s.user_id = ?1 AND s.collection = ?2 AND s.source IN (SELECT value FROM json_each(?3));

-- name: documents_by_key(user_id, keys)
SELECT {document_columns} FROM documents d WHERE d.user_id = ?1 AND d.pk IN (SELECT value FROM carray(?2)) ORDER BY d.pk;

-- name: documents_locked(user_id, ids)
SELECT {document_columns} FROM documents d
WHERE d.user_id = ?1 AND d.id IN (SELECT value FROM json_each(?2)) ORDER BY d.pk;

-- name: documents(user_id, limit, offset)
SELECT {document_columns} FROM documents d WHERE d.user_id = ?1 AND {where}
ORDER BY d.pk LIMIT COALESCE(?2, -1) OFFSET ?3;

-- name: documents_by_chunk(user_id, limit, offset)
-- Documents with a chunk that passes the filter.
SELECT {document_columns} FROM documents d WHERE d.user_id = ?1
AND EXISTS (SELECT 1 FROM chunks c WHERE c.version = d.current AND {where})
ORDER BY d.pk LIMIT COALESCE(?2, -1) OFFSET ?3;

-- name: document_ids(user_id)
SELECT id FROM documents WHERE user_id = ?1 ORDER BY pk;

-- name: set_failed(user_id, document, error)
UPDATE documents SET status = 'failed', error = ?3, updated_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')
WHERE user_id = ?1 AND pk = ?2 AND current IS NULL;

-- name: set_metadata(user_id, document, metadata)
UPDATE documents SET metadata = ?3, updated_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')
WHERE user_id = ?1 AND pk = ?2;

-- name: rename_document(user_id, document, source, filename, title)
UPDATE documents SET source = ?3, filename = ?4, title = ?5, updated_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')
WHERE user_id = ?1 AND pk = ?2;

-- name: put_facets(user_id, key, text, number, document)
INSERT INTO facets (user_id, key, text, number, document) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING;

-- name: drop_facets(documents)
DELETE FROM facets WHERE document IN (SELECT value FROM carray(?1));

-- name: put_sources(user_id, collection, source, document)
INSERT INTO sources (user_id, collection, source, document) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (user_id, collection, source) DO UPDATE SET document = excluded.document;

-- name: put_source_of_document(user_id, document, source)
-- Does nothing if the document has just been deleted.
INSERT INTO sources (user_id, collection, source, document)
SELECT ?1, d.collection, ?3, d.pk FROM documents d WHERE d.user_id = ?1 AND d.pk = ?2
ON CONFLICT (user_id, collection, source) DO UPDATE SET document = excluded.document;

-- name: drop_source(user_id, collection, source)
DELETE FROM sources WHERE user_id = ?1 AND collection = ?2 AND source = ?3;

-- name: sources_of(document)
SELECT source FROM sources WHERE document = ?1 ORDER BY source;

-- name: versions_of_documents(documents)
-- The published version, and the next one if it is already written.
SELECT current AS version FROM documents WHERE pk IN (SELECT value FROM carray(?1)) AND current IS NOT NULL
UNION ALL SELECT version FROM staged WHERE document IN (SELECT value FROM carray(?1));

-- name: note_removal(user_id, versions, leg)
-- Logs removed keys for the indexes of every generation, as runs [first, count].
INSERT INTO changes (user_id, generation, document, removed, leg)
SELECT ?1, generation, document, json_group_array(json_array(first, count)), ?3 FROM (
    SELECT generation, document, MIN(key) AS first, COUNT(*) AS count FROM (
        SELECT generation, document, key,
               key - ROW_NUMBER() OVER (PARTITION BY generation, document ORDER BY key) AS run
        FROM chunks WHERE version IN (SELECT value FROM carray(?2)))
    GROUP BY generation, document, run ORDER BY generation, document, first)
GROUP BY generation, document;

-- name: note_change(user_id, document)
-- Logs for the indexes of every generation that a document changed.
INSERT INTO changes (user_id, generation, document) SELECT ?1, pk, ?2 FROM generations WHERE user_id = ?1 ORDER BY pk;

-- name: drop_vectors_of(user_id, versions)
-- Vectors that no other version uses.
DELETE FROM embeddings WHERE user_id = ?1 AND model IN (SELECT pk FROM models)
AND input_hash IN (SELECT input_hash FROM chunks WHERE version IN (SELECT value FROM carray(?2)))
AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.user_id = ?1 AND c.input_hash = embeddings.input_hash
                AND c.version NOT IN (SELECT value FROM carray(?2)));

-- name: drop_versions(user_id, versions)
DELETE FROM versions WHERE user_id = ?1 AND pk IN (SELECT value FROM carray(?2));

-- name: drop_documents(user_id, documents)
DELETE FROM documents WHERE user_id = ?1 AND pk IN (SELECT value FROM carray(?2));

-- name: bump(user_id)
-- A search that notices the change starts again.
UPDATE users SET epoch = epoch + 1 WHERE user_id = ?1;

-- name: counts(user_id)
SELECT COUNT(*) AS ready, COALESCE(SUM(chunks), 0) AS chunks, COALESCE(SUM(characters), 0) AS characters,
       COALESCE(SUM(bytes), 0) AS bytes
FROM documents WHERE user_id = ?1 AND status = 'ready';

-- name: counts_by_status(user_id)
SELECT status, COUNT(*) AS documents FROM documents WHERE user_id = ?1 GROUP BY status ORDER BY status;
