-- The truth of a library. Spans count characters of canonical text; times are ISO 8601 in UTC.

CREATE TABLE library (
    id TEXT NOT NULL,                 -- names this library in the manifests of its indexes
    created_at TEXT NOT NULL
);

-- One tenant. `serving` is the generation searches use; `visible_seq` the last change they must have seen.
CREATE TABLE users (
    user_id TEXT PRIMARY KEY,
    serving INTEGER,
    visible_seq INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE collections (
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    chunker TEXT,
    chunker_options TEXT,
    system_prompt TEXT,
    created_at TEXT NOT NULL,
    PRIMARY KEY (user_id, name)
);

CREATE TABLE models (
    pk INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    dimensions INTEGER NOT NULL
);

-- Everything derived with one embedding model. state: building, serving, kept.
CREATE TABLE generations (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    model INTEGER NOT NULL REFERENCES models (pk),
    plan TEXT NOT NULL,               -- JSON: embedder and the chunker of every collection that is built again
    state TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX generations_of_user ON generations (user_id, state);

-- What a generation knows of a document: taken over into `documents` when the generation begins to serve.
CREATE TABLE derived (
    user_id TEXT NOT NULL,
    generation INTEGER NOT NULL REFERENCES generations (pk) ON DELETE CASCADE,
    document INTEGER NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    ingestion_version TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    PRIMARY KEY (generation, document)
) WITHOUT ROWID;
CREATE INDEX derived_of_document ON derived (document);

-- `current` is the version whose text and chunks are served; NULL while the first one is not complete.
CREATE TABLE documents (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    source TEXT NOT NULL,
    filename TEXT NOT NULL,
    file_hash TEXT NOT NULL,
    mime TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0,
    characters INTEGER NOT NULL DEFAULT 0,
    pages INTEGER,
    chunks INTEGER NOT NULL DEFAULT 0,
    metadata TEXT NOT NULL DEFAULT '{}',
    warnings TEXT NOT NULL DEFAULT '[]',
    embedding_model TEXT NOT NULL DEFAULT '',
    embedding_dim INTEGER NOT NULL DEFAULT 0,
    ingestion_version TEXT NOT NULL DEFAULT '',
    version INTEGER NOT NULL DEFAULT 0,
    current INTEGER,
    error TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (user_id, id),
    UNIQUE (user_id, collection, file_hash)
);
CREATE INDEX documents_by_version ON documents (current);
CREATE INDEX documents_by_status ON documents (status) WHERE status NOT IN ('ready', 'failed');

-- Every path that led to a document; two files with the same bytes are one document with two sources.
CREATE TABLE sources (
    user_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    source TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    PRIMARY KEY (user_id, collection, source)
) WITHOUT ROWID;
CREATE INDEX sources_of_document ON sources (document);

-- What filters test: built-in fields and metadata, one row a value.
CREATE TABLE facets (
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    number REAL,
    document INTEGER NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    PRIMARY KEY (user_id, key, text, document)
) WITHOUT ROWID;
CREATE INDEX facets_of_document ON facets (document);

-- A parsed text. Written while its document is `parsing` and on, found once `documents.current` names it.
CREATE TABLE versions (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    file_hash TEXT NOT NULL,
    created_at TEXT NOT NULL
);

-- Canonical text in pieces of equal length, so that a span is read without reading the document.
CREATE TABLE texts (
    version INTEGER NOT NULL REFERENCES versions (pk) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (version, number)
);

CREATE TABLE parts (
    version INTEGER NOT NULL REFERENCES versions (pk) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    blocks TEXT NOT NULL,
    PRIMARY KEY (version, number)
);

CREATE TABLE chunks (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    version INTEGER NOT NULL REFERENCES versions (pk) ON DELETE CASCADE,
    chunk_index INTEGER NOT NULL,
    id TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    page_first INTEGER,
    page_last INTEGER,
    headings TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    prefix TEXT NOT NULL,
    metadata TEXT NOT NULL,
    input_hash BLOB NOT NULL
);
CREATE INDEX chunks_of_version ON chunks (version, generation, chunk_index);
CREATE INDEX chunks_of_document ON chunks (generation, document);
CREATE INDEX chunks_by_input ON chunks (user_id, input_hash);

-- Vectors, and at the same time the cache that keeps any input from being embedded twice. Half precision.
CREATE TABLE embeddings (
    user_id TEXT NOT NULL,
    model INTEGER NOT NULL REFERENCES models (pk),
    input_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (user_id, model, input_hash)
);

-- What indexes have to catch up with. `removed` is JSON: ranges [first key, count] that went.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    document INTEGER NOT NULL,
    removed TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX changes_of_generation ON changes (user_id, generation, seq);
