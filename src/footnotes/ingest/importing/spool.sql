-- The spool of an import: records as they come, then the documents made of them.

-- name: schema
PRAGMA page_size = 32768;
PRAGMA cache_size = -32768;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE records (
    number INTEGER PRIMARY KEY,       -- in the order they came
    document TEXT NOT NULL,           -- the document it is of; one that names none has a name of its own
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    vector BLOB,                      -- float32
    page INTEGER, place REAL, start REAL, line REAL, paged INTEGER NOT NULL, from_zero INTEGER NOT NULL
);
CREATE TABLE documents (
    name TEXT PRIMARY KEY,
    first INTEGER NOT NULL,
    by_page INTEGER NOT NULL, by_place INTEGER NOT NULL, by_start INTEGER NOT NULL, by_line INTEGER NOT NULL,
    page_offset INTEGER NOT NULL,
    file_hash TEXT UNIQUE,
    is_new INTEGER NOT NULL DEFAULT 1
);

-- name: begin
BEGIN

-- name: commit
COMMIT

-- name: complete
-- A field orders a document where all its records have it. Offsets and lines may be those of a page, and mean nothing
-- where some records do not say which.
CREATE INDEX records_of_document ON records (document);
INSERT INTO documents (name, first, by_page, by_place, by_start, by_line, page_offset)
SELECT document, MIN(number),
    COUNT(page) = COUNT(*),
    COUNT(place) = COUNT(*),
    COUNT(start) = COUNT(*) AND (COUNT(page) = COUNT(*) OR SUM(paged) = 0),
    COUNT(line) = COUNT(*) AND (COUNT(page) = COUNT(*) OR SUM(paged) = 0),
    MAX(from_zero)
FROM records GROUP BY document;

-- name: add_record
INSERT INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)

-- name: documents
SELECT name, page_offset FROM documents WHERE is_new >= ?1 ORDER BY first

-- name: records
SELECT r.id, r.text, r.metadata, r.tokens, r.page, r.vector
FROM records r JOIN documents d ON d.name = r.document
WHERE r.document = ?1
ORDER BY CASE WHEN d.by_page THEN r.page END, CASE WHEN d.by_place THEN r.place END,
    CASE WHEN d.by_start THEN r.start END, CASE WHEN d.by_line THEN r.line END, r.number

-- name: set_hash
UPDATE OR IGNORE documents SET file_hash = ?1 WHERE name = ?2

-- name: set_known
UPDATE documents SET is_new = 0 WHERE name = ?1

-- name: vector_sizes
SELECT length(r.vector), COUNT(*) FROM records r JOIN documents d ON d.name = r.document
WHERE d.is_new AND r.vector IS NOT NULL GROUP BY 1

-- fragment: fitting
FROM records r JOIN documents d ON d.name = r.document
WHERE d.is_new AND length(r.vector) = ?1 AND (?2 = 0 OR r.tokens <= ?2)

-- name: count_fitting
SELECT COUNT(*) {fitting}

-- name: sample
SELECT text, vector FROM (SELECT r.text, r.vector, ROW_NUMBER() OVER (ORDER BY r.number) - 1 AS rank {fitting})
WHERE rank % ?3 = 0 LIMIT ?4
