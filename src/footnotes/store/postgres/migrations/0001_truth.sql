-- The truth of many libraries in one PostgreSQL. Spans count characters of canonical text.
-- Every row names its tenant, and row-level security holds to it: see 0002.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE users (
    user_id text COLLATE "C" PRIMARY KEY,
    serving bigint,                          -- the generation searches use
    changed bigint NOT NULL DEFAULT 0        -- counts what searches may see differently
);

CREATE TABLE collections (
    user_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    chunker text,
    chunker_options text,
    system_prompt text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, name)
);

CREATE TABLE models (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint text NOT NULL UNIQUE,
    name text NOT NULL,
    dimensions integer NOT NULL
);

-- Everything derived with one embedding model. state: building, serving, kept. The averages are the lengths, in terms,
-- by which the words of its chunks were weighed; `weighed` is how many chunks it had when they were last taken.
CREATE TABLE generations (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    model bigint NOT NULL REFERENCES models (pk),
    plan jsonb NOT NULL,
    state text NOT NULL,
    body_average real,
    heading_average real,
    weighed bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX generations_of_user ON generations (user_id, state);

-- `current` is the version whose text and chunks are served; NULL while the first one is not complete. `holder` is the
-- writer at work on the document. `content` is the text of a document that is not large; see `texts`.
CREATE TABLE documents (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    filename text COLLATE "C" NOT NULL,
    file_hash text COLLATE "C" NOT NULL,
    content text,
    mime text NOT NULL DEFAULT '',
    title text NOT NULL DEFAULT '',
    status text NOT NULL,
    bytes bigint NOT NULL DEFAULT 0,
    characters bigint NOT NULL DEFAULT 0,
    pages integer,
    chunks integer NOT NULL DEFAULT 0,
    metadata jsonb NOT NULL DEFAULT '{}',
    warnings jsonb NOT NULL DEFAULT '[]',
    embedding_model text NOT NULL DEFAULT '',
    embedding_dim integer NOT NULL DEFAULT 0,
    ingestion_version text NOT NULL DEFAULT '',
    version bigint NOT NULL DEFAULT 0,
    current bigint,
    holder integer,
    error jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, id),
    UNIQUE (user_id, collection, file_hash)
);
CREATE INDEX documents_by_version ON documents (current);
CREATE INDEX documents_unsettled ON documents (user_id, pk) WHERE status NOT IN ('ready', 'failed');

-- What a generation knows of a document: taken over into `documents` when the generation begins to serve.
CREATE TABLE derived (
    user_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL REFERENCES generations (pk) ON DELETE CASCADE,
    document bigint NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    ingestion_version text NOT NULL,
    chunks integer NOT NULL,
    PRIMARY KEY (generation, document)
);
CREATE INDEX derived_of_document ON derived (document);

-- Every path that led to a document; two files with the same bytes are one document with two sources.
CREATE TABLE sources (
    user_id text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    document bigint NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    PRIMARY KEY (user_id, collection, source)
);
CREATE INDEX sources_of_document ON sources (document);

-- What filters test: built-in fields and metadata, one row a value. Compared byte by byte, as everywhere.
CREATE TABLE facets (
    user_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    number double precision,
    document bigint NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    PRIMARY KEY (user_id, key, text, document)
);
CREATE INDEX facets_of_document ON facets (document);

-- A parsed text, being written by `holder` until `documents.current` names it.
CREATE TABLE versions (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    document bigint NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    file_hash text NOT NULL,
    holder integer,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX versions_of_document ON versions (document);
CREATE INDEX versions_being_written ON versions (user_id) WHERE holder IS NOT NULL;

-- Canonical text in pieces of equal length: of versions being written, and of documents too large for `content`.
CREATE TABLE texts (
    user_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL REFERENCES versions (pk) ON DELETE CASCADE,
    number integer NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (version, number)
);

CREATE TABLE parts (
    user_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL REFERENCES versions (pk) ON DELETE CASCADE,
    number integer NOT NULL,
    start bigint NOT NULL,
    length bigint NOT NULL,
    blocks text NOT NULL,
    PRIMARY KEY (version, number)
);

-- Both legs search this table. `content_tsv` holds the terms our own analysis gives, those of the text with weight D
-- and those of title and headings with weight A; `words` the BM25 weight of each of them in this chunk, at the place a
-- hash of the term names; `embedding` is NULL until it is made, and equal inputs of a tenant are embedded once.
CREATE TABLE document_chunks (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    model bigint NOT NULL,
    document bigint NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    document_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL REFERENCES versions (pk) ON DELETE CASCADE,
    chunk_index integer NOT NULL,
    start_offset bigint NOT NULL,
    end_offset bigint NOT NULL,
    page_first integer,
    page_last integer,
    line_first bigint,
    line_last bigint,
    tokens integer NOT NULL,
    body_length integer NOT NULL,
    heading_length integer NOT NULL,
    headings jsonb NOT NULL,
    parts jsonb,
    input_hash bytea NOT NULL,
    prefix text NOT NULL,
    metadata jsonb NOT NULL,
    content text NOT NULL,
    content_tsv tsvector NOT NULL,
    embedding halfvec,
    words sparsevec NOT NULL
);
-- What a search reads of every candidate stays in the row; what it reads of hits alone may be put aside.
ALTER TABLE document_chunks ALTER embedding SET STORAGE MAIN, ALTER words SET STORAGE MAIN;
CREATE UNIQUE INDEX chunks_of_version ON document_chunks (version, generation, chunk_index);
CREATE INDEX chunks_of_document ON document_chunks (generation, document, version);
CREATE INDEX chunks_by_input ON document_chunks (user_id, model, input_hash);
CREATE INDEX chunks_without_vector ON document_chunks (generation, document) WHERE embedding IS NULL;

-- A generation belongs to one tenant: terms that name it are found among that tenant's chunks only, whatever others have.
CREATE FUNCTION generation_terms(generation bigint, terms tsvector) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT array_agg(generation || ' ' || term) FROM unnest(tsvector_to_array(terms)) term $$;
CREATE INDEX chunks_by_term ON document_chunks USING gin (generation_terms(generation, content_tsv));

-- In how many chunks a term stands. Rows are only added, so that writers never wait for each other, and folded at
-- times. The term ' chunks' counts chunks, ' length' their terms.
CREATE TABLE statistics (
    user_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    term text COLLATE "C" NOT NULL,
    body bigint NOT NULL,
    heading bigint NOT NULL
);
CREATE INDEX statistics_of_term ON statistics (generation, term) INCLUDE (body, heading);

CREATE TABLE sketches (
    document bigint PRIMARY KEY REFERENCES documents (pk) ON DELETE CASCADE,
    user_id text COLLATE "C" NOT NULL,
    sketch bytea NOT NULL,
    resembles bigint REFERENCES documents (pk) ON DELETE SET NULL,
    similarity double precision
);
CREATE INDEX sketches_resembling ON sketches (resembles) WHERE resembles IS NOT NULL;

CREATE TABLE sketch_bands (
    user_id text COLLATE "C" NOT NULL,
    band bigint NOT NULL,
    document bigint NOT NULL REFERENCES documents (pk) ON DELETE CASCADE,
    PRIMARY KEY (band, document)
);
CREATE INDEX sketch_bands_of_document ON sketch_bands (document);

CREATE TABLE origins (
    user_id text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    size bigint,
    mtime_ns bigint,
    ctime_ns bigint,
    read_ns bigint NOT NULL,
    etag text,
    modified text,
    error jsonb,
    made_by text NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, collection, source)
);

CREATE FUNCTION origins_follow_sources() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM origins WHERE user_id = OLD.user_id AND collection = OLD.collection
        AND source IN (OLD.source, split_part(OLD.source, '!/', 1));
    RETURN OLD;
END $$;
CREATE TRIGGER origins_follow_sources AFTER DELETE ON sources
    FOR EACH ROW EXECUTE FUNCTION origins_follow_sources();

-- Originals that are kept, in files or objects named by nothing but `path`. Without a document one is on its way.
CREATE TABLE originals (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    document bigint REFERENCES documents (pk) ON DELETE SET NULL,
    path text NOT NULL,
    file_hash text NOT NULL DEFAULT '',
    bytes bigint NOT NULL DEFAULT 0,
    holder integer
);
CREATE INDEX originals_of_document ON originals (document);

-- The journal of long work: a row for each run (an add, a reindex), and one for each file of it.
CREATE TABLE jobs (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    run bigint REFERENCES jobs (pk) ON DELETE CASCADE,
    kind text NOT NULL,
    source text NOT NULL,
    request jsonb NOT NULL,
    stage text NOT NULL,
    done bigint NOT NULL DEFAULT 0,
    total bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 1,
    error jsonb,
    retryable boolean NOT NULL DEFAULT false,
    document text,
    holder text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX jobs_of_user ON jobs (user_id, stage);
CREATE INDEX jobs_of_run ON jobs (run);
CREATE INDEX jobs_of_document ON jobs (user_id, document);

-- Writers name themselves by a number and hold an advisory lock of class 4607 on it while they live.
CREATE SEQUENCE holders AS integer CYCLE;
CREATE FUNCTION is_alive(holder integer) RETURNS boolean LANGUAGE sql STABLE
    AS $$ SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = 4607
                         AND objid = holder::oid AND objsubid = 2
                         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) $$;
