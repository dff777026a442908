-- Documents, their sources, facets, texts and chunks. $1 is the tenant, everywhere.

-- name: make_user
INSERT INTO users (user_id) VALUES ($1) ON CONFLICT DO NOTHING

-- name: user_ids
SELECT user_id FROM users ORDER BY user_id

-- name: bump
UPDATE users SET changed = changed + 1 WHERE user_id = $1

-- name: share_tenant
SELECT pg_advisory_xact_lock_shared(4609, hashtext($1))

-- name: own_tenant
SELECT pg_advisory_xact_lock(4609, hashtext($1))

-- name: collections
SELECT c.name, c.chunker, c.chunker_options, c.system_prompt,
       (SELECT count(*) FROM documents d WHERE d.user_id = c.user_id AND d.collection = c.name) AS documents
FROM collections c WHERE c.user_id = $1 ORDER BY c.name

-- name: put_collection
INSERT INTO collections AS c (user_id, name, chunker, chunker_options, system_prompt) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (user_id, name) DO UPDATE SET
    chunker = COALESCE(excluded.chunker, c.chunker),
    chunker_options = COALESCE(excluded.chunker_options, c.chunker_options),
    system_prompt = COALESCE(excluded.system_prompt, c.system_prompt)

-- name: make_collections
INSERT INTO collections (user_id, name) SELECT $1, unnest($2::text[]) ORDER BY 2 ON CONFLICT DO NOTHING

-- name: set_chunker
UPDATE collections SET chunker = $3, chunker_options = $4 WHERE user_id = $1 AND name = $2

-- name: document_columns
d.pk, d.id, d.collection, d.filename, d.source, d.file_hash, d.mime, d.title, d.status, d.bytes, d.characters, d.pages,
d.chunks, d.metadata, d.warnings, d.embedding_model, d.embedding_dim, d.ingestion_version, d.version, d.created_at,
d.updated_at, d.error, d.current

-- name: document
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.id = $2

-- name: document_by_hash
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.collection = $2 AND d.file_hash = $3

-- name: document_by_source
SELECT {document_columns} FROM sources s JOIN documents d ON d.pk = s.document
WHERE s.user_id = $1 AND s.collection = $2 AND s.source = $3

-- name: documents_by_pk
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.pk = ANY ($2) ORDER BY d.pk

-- name: documents_by_id_locked
SELECT {document_columns} FROM documents d WHERE d.user_id = $1 AND d.id = ANY ($2) ORDER BY d.pk FOR UPDATE

-- name: taken_ids
SELECT id FROM documents WHERE user_id = $1 AND id = ANY ($2)

-- name: claim_documents
-- One of the calls that bring the same bytes at once inserts the document. The others find it held, and get no row;
-- a document that was never complete and that nobody is at is taken over.
INSERT INTO documents AS d (user_id, holder, id, collection, source, filename, file_hash, bytes, metadata, status)
SELECT $1, $2, n.id, n.collection, n.source, n.filename, n.file_hash, n.bytes, n.metadata::jsonb, n.status
FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])
     AS n (id, collection, source, filename, file_hash, bytes, metadata, status)
ORDER BY n.collection, n.file_hash
ON CONFLICT (user_id, collection, file_hash) DO UPDATE SET holder = excluded.holder, status = excluded.status, error = NULL
    WHERE d.current IS NULL AND (d.holder IS NULL OR d.holder = excluded.holder OR NOT is_alive(d.holder))
RETURNING d.pk, d.id, d.collection, d.file_hash, (xmax = 0) AS inserted

-- name: claim_for_replacing
UPDATE documents SET holder = $2 WHERE user_id = $1 AND pk = ANY ($3)
AND (holder IS NULL OR holder = $2 OR holder NOT IN (SELECT living())) RETURNING pk

-- name: being_made
SELECT pk, collection, file_hash FROM documents WHERE user_id = $1
AND (collection, file_hash) IN (SELECT * FROM unnest($2::text[], $3::text[]))

-- name: held
SELECT pk, current FROM documents WHERE user_id = $1 AND pk = ANY ($3) AND holder = $2 ORDER BY pk FOR UPDATE

-- name: is_held_elsewhere
SELECT 1 FROM documents WHERE user_id = $1 AND pk = $3 AND holder IS NOT NULL
AND holder IS DISTINCT FROM $2 AND is_alive(holder)

-- name: publish_documents
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

-- name: gather_text
WITH gone AS (DELETE FROM texts WHERE user_id = $1 AND version = $2 RETURNING number, content)
UPDATE documents SET content = (SELECT string_agg(content, '' ORDER BY number) FROM gone)
WHERE user_id = $1 AND current = $2

-- name: set_metadata
UPDATE documents SET metadata = $3, updated_at = now() WHERE user_id = $1 AND pk = $2

-- name: set_failed
UPDATE documents SET status = 'failed', error = $3, holder = NULL, updated_at = now()
WHERE user_id = $1 AND pk = $2 AND current IS NULL

-- name: let_go_document
UPDATE documents SET holder = NULL WHERE user_id = $1 AND pk = $2 AND holder = $3

-- name: mark_ready
UPDATE documents SET status = 'ready', holder = NULL WHERE user_id = $1 AND status = 'indexing' AND holder = $2
AND NOT is_behind(pk, $1)

-- name: drop_documents
DELETE FROM documents WHERE user_id = $1 AND pk = ANY ($2)

-- name: put_facets
INSERT INTO facets (user_id, key, text, number, document)
SELECT $1, n.key, n.text, n.number, n.document
FROM unnest($2::text[], $3::text[], $4::double precision[], $5::bigint[]) AS n (key, text, number, document)
ON CONFLICT DO NOTHING

-- name: drop_facets
DELETE FROM facets WHERE user_id = $1 AND document = ANY ($2)

-- name: put_sources
INSERT INTO sources (user_id, collection, source, document)
SELECT $1, n.collection, n.source, n.document
FROM unnest($2::text[], $3::text[], $4::bigint[]) AS n (collection, source, document) ORDER BY n.collection, n.source
ON CONFLICT (user_id, collection, source) DO UPDATE SET document = excluded.document

-- name: put_source_of_living
-- Nothing where the document has just been deleted.
INSERT INTO sources (user_id, collection, source, document)
SELECT $1, d.collection, $3, d.pk FROM documents d WHERE d.user_id = $1 AND d.pk = $2 FOR KEY SHARE OF d
ON CONFLICT (user_id, collection, source) DO UPDATE SET document = excluded.document

-- name: sources_of
SELECT source FROM sources WHERE user_id = $1 AND document = $2 ORDER BY source

-- name: drop_source
DELETE FROM sources WHERE user_id = $1 AND collection = $2 AND source = $3

-- name: make_versions
INSERT INTO versions (user_id, holder, document, file_hash)
SELECT $1, $2, n.document, n.file_hash FROM unnest($3::bigint[], $4::text[]) AS n (document, file_hash)
RETURNING pk, document

-- name: finish_versions
UPDATE versions SET holder = NULL WHERE user_id = $1 AND pk = ANY ($2)

-- name: drop_versions
DELETE FROM versions WHERE user_id = $1 AND pk = ANY ($2)

-- name: put_texts
INSERT INTO texts (user_id, version, number, content)
SELECT $1, n.version, n.number, n.content
FROM unnest($2::bigint[], $3::integer[], $4::text[]) AS n (version, number, content)

-- name: put_parts
INSERT INTO parts (user_id, version, number, start, length, blocks)
SELECT $1, n.version, n.number, n.start, n.length, n.blocks
FROM unnest($2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::text[])
     AS n (version, number, start, length, blocks)

-- name: content_span
SELECT substr(content, ($3 + 1)::integer, $4) FROM documents WHERE user_id = $1 AND current = $2 AND content IS NOT NULL

-- name: texts
SELECT number, content FROM texts WHERE user_id = $1 AND version = $2 AND number BETWEEN $3 AND $4 ORDER BY number

-- name: is_current
SELECT 1 FROM documents WHERE user_id = $1 AND current = $2

-- name: parts
SELECT number, start, length, blocks FROM parts WHERE user_id = $1 AND version = $2 AND number > $3
ORDER BY number LIMIT $4

-- name: put_chunks
-- Vectors of equal inputs are taken over: an unchanged chunk is never embedded twice.
INSERT INTO document_chunks (user_id, generation, model, document, document_id, version, chunk_index, id, start_offset,
    end_offset, page_first, page_last, line_first, line_last, tokens, body_length, title_length,
    section_length, symbols_length, headings, parts, input_hash, prefix, metadata, content, content_tsv, words, embedding)
SELECT $1, n.generation, $2, n.document, n.document_id, n.version, n.chunk_index, n.id, n.start_offset, n.end_offset,
    n.page_first, n.page_last, n.line_first, n.line_last, n.tokens, n.body_length, n.title_length,
    n.section_length, n.symbols_length, n.headings::jsonb, n.parts::jsonb, n.input_hash, n.prefix, n.metadata::jsonb, n.content, n.content_tsv::tsvector, n.words,
    COALESCE(n.embedding, (
        SELECT e.embedding FROM document_chunks e WHERE e.user_id = $1 AND e.model = $2 AND e.input_hash = n.input_hash
        AND e.embedding IS NOT NULL LIMIT 1))
FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::integer[], $8::text[], $9::bigint[],
            $10::bigint[], $11::integer[], $12::integer[], $13::bigint[], $14::bigint[], $15::integer[],
            $16::integer[], $17::integer[], $18::integer[], $19::integer[], $20::text[], $21::text[], $22::bytea[],
            $23::text[], $24::text[], $25::text[], $26::text[], $27::sparsevec[], $28::halfvec[])
     AS n (generation, document, document_id, version, chunk_index, id, start_offset, end_offset, page_first, page_last,
           line_first, line_last, tokens, body_length, title_length, section_length, symbols_length, headings, parts,
           input_hash, prefix, metadata, content, content_tsv, words, embedding)

-- name: serve_chunks
UPDATE document_chunks SET generation = $2::bigint WHERE user_id = $1 AND generation = -$2::bigint AND version = ANY ($3)

-- name: drop_chunks_of
DELETE FROM document_chunks WHERE user_id = $1 AND generation = $2 AND version = $3

-- name: generations_of_version
SELECT DISTINCT generation FROM document_chunks WHERE user_id = $1 AND version = $2 AND generation > 0

-- name: rewrite_words
UPDATE document_chunks c SET content_tsv = n.content_tsv::tsvector, words = n.words::text::sparsevec,
    body_length = n.body_length, title_length = n.title_length, section_length = n.section_length,
    symbols_length = n.symbols_length
FROM unnest($2::bigint[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::integer[])
     AS n (key, content_tsv, words, body_length, title_length, section_length, symbols_length)
WHERE c.user_id = $1 AND c.key = n.key

-- name: words_of_version
SELECT c.key, c.generation, c.content, c.headings::text AS headings, c.prefix, c.metadata::text AS metadata
FROM document_chunks c WHERE c.user_id = $1 AND c.version = $2 ORDER BY c.key

-- name: words_of_generation
SELECT c.key, c.generation, c.content, c.headings::text AS headings, d.title, c.prefix, c.metadata::text AS metadata
FROM document_chunks c JOIN documents d ON d.pk = c.document
WHERE c.generation IN ($1, -$1::bigint) AND c.key > $2 ORDER BY c.key LIMIT $3

-- name: known_embeddings
SELECT DISTINCT input_hash FROM document_chunks
WHERE user_id = $1 AND model = $2 AND input_hash = ANY ($3) AND embedding IS NOT NULL

-- name: save_vectors
-- Rows are locked in one order, so that two writers with chunks in common wait for each other and no more.
WITH found AS (
    SELECT c.key, v.embedding FROM unnest($3::bytea[], $4::halfvec[]) AS v (input_hash, embedding)
    JOIN document_chunks c ON c.user_id = $1 AND c.model = $2 AND c.input_hash = v.input_hash
    WHERE c.embedding IS NULL ORDER BY c.key FOR UPDATE OF c)
UPDATE document_chunks c SET embedding = found.embedding FROM found WHERE c.key = found.key AND c.user_id = $1

-- name: inputs_known
SELECT DISTINCT input_hash FROM document_chunks WHERE user_id = $1 AND model = $2 AND input_hash = ANY ($3)

-- name: chunks_of_document
SELECT c.id, d.id, c.chunk_index, d.chunks, c.start_offset, c.end_offset, c.page_first, c.page_last, c.headings,
       c.tokens, c.prefix, c.metadata, c.version, c.line_first, c.line_last, c.content
FROM documents d JOIN document_chunks c ON c.version = d.current AND c.generation = $2
WHERE d.user_id = $1 AND d.pk = $3 ORDER BY c.chunk_index

-- name: neighbours
SELECT c.id, d.id, c.chunk_index, d.chunks, c.start_offset, c.end_offset, c.page_first, c.page_last, c.headings,
       c.tokens, c.prefix, c.metadata, c.version, c.line_first, c.line_last, c.content
FROM documents d JOIN document_chunks c ON c.version = d.current AND c.generation = $2
WHERE d.user_id = $1 AND d.id = $3 AND c.chunk_index BETWEEN $4 AND $5 ORDER BY c.chunk_index

-- name: counts
SELECT count(*), COALESCE(sum(chunks), 0)::bigint, COALESCE(sum(characters), 0)::bigint, COALESCE(sum(bytes), 0)::bigint
FROM documents WHERE user_id = $1 AND status = 'ready'

-- name: counts_by_status
SELECT status, count(*) FROM documents WHERE user_id = $1 GROUP BY status ORDER BY status
