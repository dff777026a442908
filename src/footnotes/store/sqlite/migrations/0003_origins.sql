-- What a source outside looked like when it was last read, so that what has not changed since is passed over.
-- A file has size and times, a page on the web what its server said of its version. `error` is what became of a
-- source that could not be taken in, and `made_by` the program that tried.
CREATE TABLE origins (
    user_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    source TEXT NOT NULL,
    size INTEGER,
    mtime_ns INTEGER,
    ctime_ns INTEGER,
    read_ns INTEGER NOT NULL,         -- the clock just before it was read
    etag TEXT,
    modified TEXT,
    error TEXT,
    made_by TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, collection, source)
) WITHOUT ROWID;

-- Where a document is deleted, what is known of its source goes too, and so does what is known of its archive:
-- the next sync has to look again.
CREATE TRIGGER origins_follow_sources AFTER DELETE ON sources BEGIN
    DELETE FROM origins WHERE user_id = OLD.user_id AND collection = OLD.collection
        AND source IN (OLD.source, substr(OLD.source, 1, instr(OLD.source, '!/') - 1));
END;

-- Originals that are kept, in files named by nothing but `path`. Without a document the file is on its way: in,
-- until the document is complete, or out. Whatever has none when nobody writes is removed.
CREATE TABLE originals (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    document INTEGER REFERENCES documents (pk) ON DELETE SET NULL,
    path TEXT NOT NULL,
    file_hash TEXT NOT NULL,
    bytes INTEGER NOT NULL
);
CREATE INDEX originals_of_document ON originals (document);
