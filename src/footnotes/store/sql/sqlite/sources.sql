-- The state of sources when they were last read.

-- name: known_below(user_id, collection, first, after)
SELECT s.source, d.id AS document_id, d.file_hash, d.mime, d.status, d.chunks, d.ingestion_version, d.bytes,
       o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.error, o.made_by, o.etag, o.modified
FROM sources s JOIN documents d ON d.pk = s.document
LEFT JOIN origins o ON o.user_id = s.user_id AND o.collection = s.collection AND o.source = s.source
WHERE s.user_id = ?1 AND s.collection = ?2 AND s.source >= ?3 AND s.source < ?4
UNION ALL
SELECT o.source, NULL, NULL, NULL, NULL, 0, NULL, 0, o.size, o.mtime_ns, o.ctime_ns, o.read_ns, o.error, o.made_by, o.etag, o.modified
FROM origins o
WHERE o.user_id = ?1 AND o.collection = ?2 AND o.source >= ?3 AND o.source < ?4 AND NOT EXISTS (
    SELECT 1 FROM sources s WHERE s.user_id = o.user_id AND s.collection = o.collection AND s.source = o.source);

-- name: put_origins(user_id, collection, source, size, mtime_ns, ctime_ns, read_ns, etag, modified, error, made_by)
INSERT INTO origins (user_id, collection, source, size, mtime_ns, ctime_ns, read_ns, etag, modified, error, made_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (user_id, collection, source) DO UPDATE SET
    size = excluded.size, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, read_ns = excluded.read_ns,
    etag = excluded.etag, modified = excluded.modified, error = excluded.error, made_by = excluded.made_by;

-- name: origin_version(user_id, collection, source)
SELECT etag, modified FROM origins WHERE user_id = ?1 AND collection = ?2 AND source = ?3 AND error IS NULL;

-- name: drop_origin(user_id, collection, source)
DELETE FROM origins WHERE user_id = ?1 AND collection = ?2 AND source = ?3;

-- name: misnamed_documents(user_id, collection)
SELECT d.id, (SELECT MIN(o.source) FROM sources o WHERE o.document = d.pk) AS source FROM documents d
WHERE d.user_id = ?1 AND d.collection = ?2 AND NOT EXISTS (
    SELECT 1 FROM sources s WHERE s.user_id = ?1 AND s.collection = ?2 AND s.source = d.source AND s.document = d.pk);
