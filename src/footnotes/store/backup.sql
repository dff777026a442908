-- A backup file: snapshots of a library, their files, and the blocks these are made of, each block once.

-- name: schema
CREATE TABLE IF NOT EXISTS snapshots (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at TEXT NOT NULL,
    library TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS files (
    snapshot INTEGER NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    blocks BLOB NOT NULL,
    PRIMARY KEY (snapshot, path)
) STRICT;
CREATE TABLE IF NOT EXISTS blocks (
    digest BLOB PRIMARY KEY,
    packed INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- name: put_snapshot
INSERT INTO snapshots (created_at, library) VALUES (?, ?) RETURNING id;

-- name: put_file
INSERT INTO files (snapshot, path, size, sha256, blocks) VALUES (?, ?, ?, ?, ?);

-- name: put_block
INSERT INTO blocks (digest, packed, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: has_block
SELECT 1 FROM blocks WHERE digest = ?;

-- name: block
SELECT packed, bytes FROM blocks WHERE digest = ?;

-- name: snapshots
SELECT s.id, s.created_at, s.library, count(f.path), coalesce(sum(f.size), 0)
FROM snapshots s LEFT JOIN files f ON f.snapshot = s.id GROUP BY s.id ORDER BY s.id;

-- name: files
SELECT path, size, sha256, blocks FROM files WHERE snapshot = ? ORDER BY path;

-- name: same_file
-- A file of the last snapshot; the files of originals never change under their name.
SELECT size, sha256, blocks FROM files
WHERE snapshot = (SELECT max(id) FROM snapshots WHERE id < ?1) AND path = ?2;

-- name: drop_older
DELETE FROM snapshots WHERE id NOT IN (SELECT id FROM snapshots ORDER BY id DESC LIMIT ?);

-- name: block_lists
SELECT blocks FROM files;

-- name: block_digests
SELECT digest FROM blocks;

-- name: drop_block
DELETE FROM blocks WHERE digest = ?;
