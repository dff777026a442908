-- Claims and writes drafts, beside other writers.

-- name: share_tenant(user_id)
SELECT pg_advisory_xact_lock_shared(4609, hashtext($1))

-- name: own_tenant(user_id)
SELECT pg_advisory_xact_lock(4609, hashtext($1))

-- name: make_collections(user_id, names)
INSERT INTO collections (user_id, name) SELECT $1, unnest($2::text[]) ORDER BY 2 ON CONFLICT DO NOTHING

-- name: taken_ids(user_id, ids)
SELECT id FROM documents WHERE user_id = $1 AND id = ANY ($2)

-- name: claim_documents(user_id, holder, ids, collections, sources, filenames, hashes, sizes, metadata, statuses)
-- If several calls add the same bytes at once, one inserts the document. The others find it held, and get no row.
-- A document that was never complete and that no writer holds is taken over.
INSERT INTO documents AS d (user_id, holder, id, collection, source, filename, file_hash, bytes, metadata, status)
SELECT $1, $2, n.id, n.collection, n.source, n.filename, n.file_hash, n.bytes, n.metadata::jsonb, n.status
FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])
     AS n (id, collection, source, filename, file_hash, bytes, metadata, status)
ORDER BY n.collection, n.file_hash
ON CONFLICT (user_id, collection, file_hash) DO UPDATE SET holder = excluded.holder, status = excluded.status, error = NULL
    WHERE d.current IS NULL AND (d.holder IS NULL OR d.holder = excluded.holder OR NOT is_alive(d.holder))
RETURNING d.pk, d.id, d.collection, d.file_hash, (xmax = 0) AS inserted

-- name: claim_for_replacing(user_id, holder, documents)
UPDATE documents SET holder = $2 WHERE user_id = $1 AND pk = ANY ($3)
AND (holder IS NULL OR holder = $2 OR holder NOT IN (SELECT living())) RETURNING pk

-- name: being_made(user_id, collections, hashes)
SELECT pk, collection, file_hash FROM documents WHERE user_id = $1
AND (collection, file_hash) IN (SELECT * FROM unnest($2::text[], $3::text[]))

-- name: held(user_id, holder, documents)
SELECT pk, current FROM documents WHERE user_id = $1 AND pk = ANY ($3) AND holder = $2 ORDER BY pk FOR UPDATE

-- name: is_claimed_by_another(user_id, holder, document)
SELECT 1 FROM documents WHERE user_id = $1 AND pk = $3 AND holder IS NOT NULL
AND holder IS DISTINCT FROM $2 AND is_alive(holder)

-- name: release_document(user_id, document, holder)
UPDATE documents SET holder = NULL WHERE user_id = $1 AND pk = $2 AND holder = $3

-- name: generation_state(user_id, generation)
SELECT state FROM generations WHERE user_id = $1 AND pk = $2

-- name: make_versions(user_id, holder, documents, hashes)
INSERT INTO versions (user_id, holder, document, file_hash)
SELECT $1, $2, n.document, n.file_hash FROM unnest($3::bigint[], $4::text[]) AS n (document, file_hash)
RETURNING pk, document

-- name: finish_versions(user_id, versions)
UPDATE versions SET holder = NULL WHERE user_id = $1 AND pk = ANY ($2)

-- name: publish_documents(user_id, holder, embedder, dimensions, document, source, filename, file_hash, mime, title, status, bytes, characters, pages, chunks, metadata, warnings, ingestion_version, version, content)
UPDATE documents d SET source = n.source, filename = n.filename, file_hash = n.file_hash, mime = n.mime,
    title = n.title, status = n.status, bytes = n.bytes, characters = n.characters, pages = n.pages, chunks = n.chunks,
    metadata = n.metadata::jsonb, warnings = n.warnings::jsonb, embedding_model = $3, embedding_dim = $4,
    ingestion_version = n.ingestion_version, version = d.version + 1, current = n.current, content = n.content,
    error = NULL, updated_at = now()
FROM unnest($5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[],
            $13::bigint[], $14::integer[], $15::integer[], $16::text[], $17::text[], $18::text[], $19::bigint[],
            $20::text[])
     AS n (pk, source, filename, file_hash, mime, title, status, bytes, characters, pages, chunks, metadata, warnings,
           ingestion_version, current, content)
WHERE d.user_id = $1 AND d.holder = $2 AND d.pk = n.pk
RETURNING {document_columns}

-- name: gather_text(user_id, version)
WITH gone AS (DELETE FROM texts WHERE user_id = $1 AND version = $2 RETURNING number, content)
UPDATE documents SET content = (SELECT string_agg(content, '' ORDER BY number) FROM gone)
WHERE user_id = $1 AND current = $2

-- name: mark_ready(user_id, holder)
UPDATE documents SET status = 'ready', holder = NULL WHERE user_id = $1 AND status = 'indexing' AND holder = $2
AND NOT is_behind(pk, $1)

-- name: put_chunks(user_id, model, generation, document, document_id, version, chunk_index, id, start_offset, end_offset, page_first, page_last, line_first, line_last, tokens, body_length, title_length, section_length, symbols_length, headings, parts, input_hash, prefix, metadata, content, content_tsv, words, embedding)
-- Copies vectors of equal inputs, so an unchanged chunk is never embedded twice.
INSERT INTO document_chunks (user_id, generation, model, document, document_id, version, chunk_index, id, start_offset,
    end_offset, page_first, page_last, line_first, line_last, tokens, body_length, title_length,
    section_length, symbols_length, headings, parts, input_hash, prefix, metadata, content, content_tsv, words, embedding)
SELECT $1::text, n.generation, $2::bigint, n.document, n.document_id, n.version, n.chunk_index, n.id, n.start_offset,
    n.end_offset, n.page_first, n.page_last, n.line_first, n.line_last, n.tokens, n.body_length, n.title_length,
    n.section_length, n.symbols_length, n.headings::jsonb, n.parts::jsonb, n.input_hash, n.prefix, n.metadata::jsonb,
    n.content, n.content_tsv::tsvector, n.words,
    COALESCE(n.embedding, (
        SELECT e.embedding FROM document_chunks e
        WHERE e.user_id = $1 AND e.model = $2 AND e.input_hash = n.input_hash AND e.embedding IS NOT NULL LIMIT 1))
FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::integer[], $8::text[],
            $9::bigint[], $10::bigint[], $11::integer[], $12::integer[], $13::bigint[], $14::bigint[], $15::integer[],
            $16::integer[], $17::integer[], $18::integer[], $19::integer[], $20::text[], $21::text[], $22::bytea[],
            $23::text[], $24::text[], $25::text[], $26::text[], $27::sparsevec[], $28::halfvec[])
     AS n (generation, document, document_id, version, chunk_index, id, start_offset, end_offset,
           page_first, page_last, line_first, line_last, tokens, body_length, title_length, section_length,
           symbols_length, headings, parts, input_hash, prefix, metadata, content, content_tsv, words, embedding)

-- name: serve_chunks(user_id, generation, versions)
UPDATE document_chunks SET generation = $2::bigint WHERE user_id = $1 AND generation = -$2::bigint AND version = ANY ($3)

-- name: versions_lacking_vectors(user_id, generation, versions)
SELECT DISTINCT version FROM document_chunks
WHERE user_id = $1 AND generation = $2 AND version = ANY ($3) AND embedding IS NULL

-- name: save_vectors(user_id, model, hashes, vectors)
-- Locks rows in one order, so that two writers with common chunks wait for each other but never deadlock.
WITH found AS (
    SELECT c.key, v.embedding FROM unnest($3::bytea[], $4::halfvec[]) AS v (input_hash, embedding)
    JOIN document_chunks c ON c.user_id = $1 AND c.model = $2 AND c.input_hash = v.input_hash
    WHERE c.embedding IS NULL ORDER BY c.key FOR UPDATE OF c)
UPDATE document_chunks c SET embedding = found.embedding FROM found WHERE c.key = found.key AND c.user_id = $1

-- name: inputs_known(user_id, model, hashes)
SELECT DISTINCT input_hash FROM document_chunks WHERE user_id = $1 AND model = $2 AND input_hash = ANY ($3)
