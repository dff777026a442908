-- The server's own tables. Everything is made where it is missing; nothing here is the truth about a document.
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    last_used_at TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS answers (
    tenant TEXT NOT NULL,
    month TEXT NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (tenant, month)
) STRICT;

-- What each key spent on models, in millionths of a US dollar.
CREATE TABLE IF NOT EXISTS spending (
    key_id TEXT NOT NULL,
    month TEXT NOT NULL,
    micros INTEGER NOT NULL,
    PRIMARY KEY (key_id, month)
) STRICT;

CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    request TEXT NOT NULL,
    spool TEXT,
    bytes INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    result TEXT NOT NULL DEFAULT '[]',
    error TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    -- What it is about: a later job of the same source replaces what an earlier one made.
    collection TEXT,
    source TEXT,
    -- How many jobs of its tenant waited when it came, and how often it made way for others: see `claim_job`.
    turn INTEGER NOT NULL DEFAULT 0,
    made_way INTEGER NOT NULL DEFAULT 0,
    holder INTEGER,
    stage TEXT,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    most_attempts INTEGER NOT NULL DEFAULT 5,
    is_cancelled INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_by_tenant ON jobs (tenant, state, number);

-- Models that were connected on the page. `sealed` is the key, encrypted; `key_env` names a variable in its place.
CREATE TABLE IF NOT EXISTS connections (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    base_url TEXT NOT NULL,
    path TEXT NOT NULL,
    sealed TEXT NOT NULL,
    key_env TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS connections_by_tenant ON connections (tenant, created_at);

-- Sources that are followed. `options` name secrets, `sealed` holds those that were handed over, encrypted. `every` are
-- seconds between two runs, 0 for none; `trusted` ones were added by whoever runs the server. The last run: what it did.
CREATE TABLE IF NOT EXISTS followed (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    address TEXT NOT NULL,
    collection TEXT NOT NULL,
    options TEXT NOT NULL,
    sealed TEXT NOT NULL,
    metadata TEXT NOT NULL,
    every INTEGER NOT NULL,
    trusted INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    next_at TEXT NOT NULL,
    ran_at TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'new',
    counts TEXT NOT NULL DEFAULT '{}',
    error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX IF NOT EXISTS followed_by_tenant ON followed (tenant, created_at);
