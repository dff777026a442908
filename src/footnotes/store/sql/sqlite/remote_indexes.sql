-- Data for a vector database, and records of its indexes.

-- name: changed_documents(user_id, generation, seq, limit)
SELECT c.seq, c.document, COALESCE(d.chunks, 0) AS chunks FROM changes c LEFT JOIN documents d ON d.pk = c.document
WHERE c.user_id = ?1 AND c.generation = ?2 AND c.seq > ?3 AND NOT EXISTS (
    SELECT 1 FROM changes n WHERE n.generation = c.generation AND n.document = c.document AND n.seq > c.seq)
ORDER BY c.seq LIMIT ?4;

-- name: log_all_again(user_id, generation)
INSERT INTO changes (user_id, generation, document)
SELECT ?1, ?2, document FROM document_words WHERE generation = ?2;

-- name: count_changed(user_id, generation, seq)
SELECT COUNT(*) FROM (
    SELECT DISTINCT document FROM changes WHERE user_id = ?1 AND generation = ?2 AND seq > ?3 LIMIT 10000);

-- name: documents_of_keys(generation, keys)
SELECT DISTINCT document FROM chunks WHERE generation = ?1 AND key IN (SELECT value FROM carray(?2)) ORDER BY 1;

-- name: indexed_document(document)
SELECT d.id AS document_id, d.collection, d.filename, d.source, d.title, d.mime, d.file_hash, d.metadata,
       COALESCE(v.created_at, d.created_at) AS ingested_at
FROM documents d LEFT JOIN versions v ON v.pk = d.current WHERE d.pk = ?1;

-- name: remote_entries(generation, version, model)
SELECT c.key, c.id, c.start AS start_offset, c.end AS end_offset, c.headings, c.prefix, c.metadata, e.vector
FROM chunks c LEFT JOIN embeddings e ON e.user_id = c.user_id AND e.model = ?3 AND e.input_hash = c.input_hash
WHERE c.generation = ?1 AND c.version = ?2 ORDER BY c.key;

-- name: put_remote_index(user_id, address, generation, fingerprint, dimensions, words)
INSERT INTO shelves (user_id, address, generation, fingerprint, dimensions, words) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (address, generation) DO UPDATE SET words = excluded.words,
    seq = CASE WHEN words = excluded.words THEN seq ELSE 0 END;

-- name: use_no_other_remote_index()
-- A folder is opened with one vector database, so no other is in use.
SELECT 1 WHERE 0;

-- name: set_remote_position(address, generation, seq)
UPDATE shelves SET seq = ?3 WHERE address = ?1 AND generation = ?2;

-- name: remote_index(address, generation)
SELECT words, seq FROM shelves WHERE address = ?1 AND generation = ?2;

-- name: dropped_remote_indexes(user_id, address)
SELECT user_id, generation, fingerprint, dimensions, words FROM shelves s
WHERE address = ?2 AND user_id = ?1 AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.pk = s.generation)
ORDER BY generation;

-- name: forget_remote_index(address, generation)
DELETE FROM shelves WHERE address = ?1 AND generation = ?2;

-- name: word_counts(generation, places)
SELECT place, chunks FROM word_counts WHERE generation = ?1 AND place IN (SELECT value FROM carray(?2));

-- name: add_word_count(generation, place, chunks)
INSERT INTO word_counts (generation, place, chunks) VALUES (?1, ?2, ?3)
ON CONFLICT (generation, place) DO UPDATE SET chunks = chunks + excluded.chunks;

-- name: document_words(generation, document)
SELECT counts FROM document_words WHERE generation = ?1 AND document = ?2;

-- name: put_document_words(generation, document, counts)
INSERT INTO document_words (generation, document, counts) VALUES (?1, ?2, ?3)
ON CONFLICT (generation, document) DO UPDATE SET counts = excluded.counts;

-- name: drop_document_words(generation, document)
DELETE FROM document_words WHERE generation = ?1 AND document = ?2;

-- name: drop_empty_counts(generation)
DELETE FROM word_counts WHERE generation = ?1 AND chunks = 0;

-- name: word_averages(generation)
SELECT body, title, section, symbols, chunks FROM word_averages WHERE generation = ?1;

-- name: put_word_averages(generation, body, title, section, symbols, chunks)
INSERT INTO word_averages (generation, body, title, section, symbols, chunks) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (generation) DO UPDATE SET body = excluded.body, title = excluded.title, section = excluded.section,
    symbols = excluded.symbols, chunks = excluded.chunks;
