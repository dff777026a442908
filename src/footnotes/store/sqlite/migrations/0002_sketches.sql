-- How much documents resemble each other: a MinHash each, and hashes of bands of it by which the others are found.
CREATE TABLE sketches (
    document INTEGER PRIMARY KEY REFERENCES documents (pk) ON DELETE CASCADE,
    sketch BLOB NOT NULL,
    resembles INTEGER REFERENCES documents (pk) ON DELETE SET NULL,
    similarity REAL
);
CREATE INDEX sketches_resembling ON sketches (resembles) WHERE resembles IS NOT NULL;

-- A band is named by a hash of tenant, collection and its values: what is equal is in one of them.
CREATE TABLE sketch_bands (
    band INTEGER NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (band, document)
) WITHOUT ROWID;
