-- The journal of long work: a row for each run (an add, a reindex), and one for each file of it (`run` names the run).
-- stage: queued, parsing, chunking, embedding, indexing, ready, failed.
CREATE TABLE jobs (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    run INTEGER REFERENCES jobs (pk) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    request TEXT NOT NULL,            -- JSON: what it takes to do it again
    stage TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 1,
    error TEXT,
    retryable INTEGER NOT NULL DEFAULT 0,
    document TEXT,
    holder TEXT NOT NULL DEFAULT '',  -- the process that is at it
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX jobs_of_user ON jobs (user_id, stage);
CREATE INDEX jobs_of_run ON jobs (run);
CREATE INDEX jobs_of_document ON jobs (user_id, document);
