-- Documents: found, indexed for filters, and removed with all their data.

-- fragment: document_columns
d.pk, d.id, d.collection, d.filename, d.source, d.file_hash, d.mime, d.title, d.status, d.bytes, d.characters, d.pages,
d.chunks, d.metadata::text AS metadata, d.warnings::text AS warnings, d.embedding_model, d.embedding_dim,
d.ingestion_version, d.version,
to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"') AS created_at,
to_char(d.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"') AS updated_at,
d.error::text AS error, d.current

-- name: document(user_id, id)
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.id = $2

-- name: document_by_hash(user_id, collection, file_hash)
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.collection = $2 AND d.file_hash = $3

-- name: documents_by_hashes(user_id, collection, hashes)
SELECT {document_columns} FROM documents d
WHERE d.user_id = $1 AND d.collection = $2 AND d.file_hash = ANY ($3)

-- name: documents_by_sources(user_id, collection, sources)
SELECT {document_columns}, s.source AS known_as FROM sources s JOIN documents d ON d.pk = s.document
WHERE s.user_id = $1 AND s.collection = $2 AND s.source = ANY ($3)

-- name: documents_by_key(user_id, keys)
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.pk = ANY ($2) ORDER BY d.pk

-- name: documents_locked(user_id, ids)
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.id = ANY ($2) ORDER BY d.pk FOR UPDATE

-- name: documents(user_id, limit, offset)
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND {where} ORDER BY d.pk LIMIT $2 OFFSET $3

-- name: documents_by_chunk(user_id, limit, offset)
-- Documents with a chunk that passes the filter.
SELECT {document_columns} FROM documents d WHERE d.user_id = $1
AND EXISTS (SELECT 1 FROM document_chunks c WHERE c.version = d.current AND {where})
ORDER BY d.pk LIMIT $2 OFFSET $3

-- name: document_ids(user_id)
SELECT id FROM documents WHERE user_id = $1 ORDER BY pk

-- name: set_failed(user_id, document, error)
UPDATE documents SET status = 'failed', error = $3::text::jsonb, holder = NULL, updated_at = now()
WHERE user_id = $1 AND pk = $2 AND current IS NULL

-- name: set_metadata(user_id, document, metadata)
UPDATE documents SET metadata = $3::text::jsonb, updated_at = now() WHERE user_id = $1 AND pk = $2

-- name: rename_document(user_id, document, source, filename, title)
UPDATE documents SET source = $3, filename = $4, title = $5, updated_at = now() WHERE user_id = $1 AND pk = $2

-- name: put_facets(user_id, key, text, number, document)
INSERT INTO facets (user_id, key, text, number, document)
SELECT n.user_id, n.key, n.text, n.number, n.document
FROM unnest($1::text[], $2::text[], $3::text[], $4::double precision[], $5::bigint[])
     AS n (user_id, key, text, number, document)
ON CONFLICT DO NOTHING

-- name: drop_facets(user_id, documents)
DELETE FROM facets WHERE user_id = $1 AND document = ANY ($2)

-- name: put_sources(user_id, collection, source, document)
INSERT INTO sources (user_id, collection, source, document)
SELECT n.user_id, n.collection, n.source, n.document
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS n (user_id, collection, source, document)
ORDER BY n.collection, n.source
ON CONFLICT (user_id, collection, source) DO UPDATE SET document = excluded.document

-- name: put_source_of_document(user_id, document, source)
-- Does nothing if the document has just been deleted.
INSERT INTO sources (user_id, collection, source, document)
SELECT $1, d.collection, $3, d.pk FROM documents d WHERE d.user_id = $1 AND d.pk = $2 FOR KEY SHARE OF d
ON CONFLICT (user_id, collection, source) DO UPDATE SET document = excluded.document

-- name: drop_source(user_id, collection, source)
DELETE FROM sources WHERE user_id = $1 AND collection = $2 AND source = $3

-- name: sources_of(user_id, document)
SELECT source FROM sources WHERE user_id = $1 AND document = $2 ORDER BY source

-- name: versions_of_documents(user_id, documents)
SELECT current AS version FROM documents WHERE user_id = $1 AND pk = ANY ($2) AND current IS NOT NULL

-- name: note_removal(user_id, versions)
-- Subtracts the versions from the term statistics of every generation. A trigger writes the change log.
INSERT INTO statistics (user_id, generation, term, body, title, section, symbols)
SELECT $1, c.generation, t.lexeme, -count(*) FILTER (WHERE 'D' = ANY (t.weights)),
       -count(*) FILTER (WHERE 'A' = ANY (t.weights)), -count(*) FILTER (WHERE 'B' = ANY (t.weights)),
       -count(*) FILTER (WHERE 'C' = ANY (t.weights))
FROM document_chunks c, unnest(c.content_tsv) t
WHERE c.user_id = $1 AND c.version = ANY ($2) AND c.generation > 0 AND t.weights IS NOT NULL
GROUP BY c.generation, t.lexeme
UNION ALL
SELECT $1, c.generation, unnest(ARRAY[' chunks', ' length']),
       unnest(ARRAY[-count(*), -COALESCE(sum(c.body_length), 0)]),
       unnest(ARRAY[-count(*), -COALESCE(sum(c.title_length), 0)]),
       unnest(ARRAY[-count(*), -COALESCE(sum(c.section_length), 0)]),
       unnest(ARRAY[-count(*), -COALESCE(sum(c.symbols_length), 0)])
FROM document_chunks c WHERE c.user_id = $1 AND c.version = ANY ($2) AND c.generation > 0 GROUP BY c.generation

-- name: note_change()
-- A trigger writes the change log.
SELECT 1 WHERE false

-- name: drop_vectors_of()
-- Vectors are in the rows of the chunks, and are deleted with them.
SELECT 1 WHERE false

-- name: drop_versions(user_id, versions)
DELETE FROM versions WHERE user_id = $1 AND pk = ANY ($2)

-- name: drop_documents(user_id, documents)
DELETE FROM documents WHERE user_id = $1 AND pk = ANY ($2)

-- name: bump(user_id)
UPDATE users SET changed = changed + 1 WHERE user_id = $1

-- name: counts(user_id)
SELECT count(*) AS ready, COALESCE(sum(chunks), 0)::bigint AS chunks,
       COALESCE(sum(characters), 0)::bigint AS characters, COALESCE(sum(bytes), 0)::bigint AS bytes
FROM documents WHERE user_id = $1 AND status = 'ready'

-- name: counts_by_status(user_id)
SELECT status, count(*) AS documents FROM documents WHERE user_id = $1 GROUP BY status ORDER BY status

-- name: size(user_id, tables)
SELECT (SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest($2::text[]) name)
       * LEAST(1.0, (SELECT COALESCE(sum(chunks), 0) FROM documents WHERE user_id = $1)
               / GREATEST(1.0, (SELECT reltuples FROM pg_class WHERE oid = 'document_chunks'::regclass)))
