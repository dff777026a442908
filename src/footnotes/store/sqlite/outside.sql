-- name: changed_documents
SELECT c.seq, c.document, COALESCE(d.chunks, 0) FROM changes c LEFT JOIN documents d ON d.pk = c.document
WHERE c.user_id = ?1 AND c.generation = ?2 AND c.seq > ?3 AND NOT EXISTS (
    SELECT 1 FROM changes n WHERE n.generation = c.generation AND n.document = c.document AND n.seq > c.seq)
ORDER BY c.seq LIMIT ?4;

-- name: log_all_again
INSERT INTO changes (user_id, generation, document)
SELECT ?1, ?2, document FROM document_words WHERE generation = ?2;

-- name: count_changed
SELECT COUNT(*) FROM (
    SELECT DISTINCT document FROM changes WHERE user_id = ? AND generation = ? AND seq > ? LIMIT 10000);

-- name: documents_of_keys
SELECT DISTINCT document FROM chunks WHERE generation = ?2 AND key IN (SELECT value FROM carray(?1)) ORDER BY 1;

-- name: outside_document
SELECT id, collection, filename, source, title, metadata FROM documents WHERE pk = ?;

-- name: outside_entries
SELECT c.key, c.id, c.start, c.end, c.headings, c.prefix, c.metadata, e.vector
FROM chunks c LEFT JOIN embeddings e ON e.user_id = c.user_id AND e.model = ?1 AND e.input_hash = c.input_hash
WHERE c.generation = ?2 AND c.version = ?3 ORDER BY c.key;

-- name: vectors_of_keys
-- In this order: left to itself, SQLite begins with all chunks of the generation.
SELECT c.key, e.vector FROM carray(?1) k CROSS JOIN chunks c ON c.key = k.value
CROSS JOIN documents d ON d.pk = c.document AND +d.current = c.version
CROSS JOIN embeddings e ON e.user_id = c.user_id AND e.model = ?2 AND e.input_hash = c.input_hash
WHERE +c.generation = ?3 AND +c.user_id = ?4;

-- name: put_shelf
INSERT INTO shelves (address, generation, user_id, fingerprint, dimensions, words) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (address, generation) DO UPDATE SET words = excluded.words,
    seq = CASE WHEN words = excluded.words THEN seq ELSE 0 END;

-- name: set_shelf_seq
UPDATE shelves SET seq = ? WHERE address = ? AND generation = ?;

-- name: shelf
SELECT words, seq FROM shelves WHERE address = ? AND generation = ?;

-- name: dropped_shelves
SELECT user_id, generation, fingerprint, dimensions, words FROM shelves s
WHERE address = ? AND user_id = ? AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.pk = s.generation) ORDER BY generation;

-- name: forget_shelf
DELETE FROM shelves WHERE address = ? AND generation = ?;

-- name: word_counts
SELECT place, chunks FROM word_counts WHERE generation = ?2 AND place IN (SELECT value FROM carray(?1));

-- name: add_word_count
INSERT INTO word_counts (generation, place, chunks) VALUES (?, ?, ?)
ON CONFLICT (generation, place) DO UPDATE SET chunks = chunks + excluded.chunks;

-- name: document_words
SELECT counts FROM document_words WHERE generation = ? AND document = ?;

-- name: put_document_words
INSERT INTO document_words (generation, document, counts) VALUES (?, ?, ?)
ON CONFLICT (generation, document) DO UPDATE SET counts = excluded.counts;

-- name: drop_document_words
DELETE FROM document_words WHERE generation = ? AND document = ?;

-- name: drop_empty_counts
DELETE FROM word_counts WHERE generation = ? AND chunks = 0;

-- name: word_averages
SELECT body, title, section, symbols, chunks FROM word_averages WHERE generation = ?;

-- name: put_word_averages
INSERT INTO word_averages (generation, body, title, section, symbols, chunks) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (generation) DO UPDATE SET body = excluded.body, title = excluded.title, section = excluded.section,
    symbols = excluded.symbols, chunks = excluded.chunks;
