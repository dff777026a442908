-- A vector database may serve a leg. What is on which of its shelves, the last change each was known to have seen, and
-- what is to be emptied there some day: a shelf outlives its generation until the database could be told.
CREATE TABLE shelves (
    address TEXT NOT NULL,
    generation INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    words TEXT NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (address, generation)
) STRICT, WITHOUT ROWID;

-- Where it serves the lexical leg, what BM25 needs to know of a tenant's own words: in how many chunks the term at a
-- place stands. Places below zero count chunks (-1) and the terms of each field (-2 to -5).
CREATE TABLE word_counts (
    generation INTEGER NOT NULL REFERENCES generations (pk) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    PRIMARY KEY (generation, place)
) STRICT, WITHOUT ROWID;

-- What each document adds to them, so that it can be taken away again.
CREATE TABLE document_words (
    generation INTEGER NOT NULL REFERENCES generations (pk) ON DELETE CASCADE,
    document INTEGER NOT NULL,
    counts BLOB NOT NULL,
    PRIMARY KEY (generation, document)
) STRICT, WITHOUT ROWID;

-- The lengths, in terms, by which the words of a generation are weighed, and how many chunks it had when they were taken.
CREATE TABLE word_averages (
    generation INTEGER PRIMARY KEY REFERENCES generations (pk) ON DELETE CASCADE,
    body REAL NOT NULL,
    title REAL NOT NULL,
    section REAL NOT NULL,
    symbols REAL NOT NULL,
    chunks INTEGER NOT NULL
) STRICT;

-- A document that changed often is brought once, as it is after its last change.
CREATE INDEX changes_of_document ON changes (generation, document, seq);
