-- The next version of a document that is served: written and indexed, and shown in one step with the removal of the
-- version before it. Until then `documents` and `facets` say what is served.
CREATE TABLE staged (
    document INTEGER PRIMARY KEY REFERENCES documents (pk) ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    version INTEGER NOT NULL REFERENCES versions (pk) ON DELETE CASCADE,
    seq INTEGER NOT NULL,             -- the change by which the indexes have it
    title TEXT NOT NULL,
    draft TEXT NOT NULL,              -- JSON: what `documents` will say of it
    facets TEXT NOT NULL,             -- JSON: what `facets` will
    waits INTEGER NOT NULL            -- whether it lacks vectors
) STRICT;
CREATE INDEX staged_of_user ON staged (user_id);

-- `required_seq`: the change that indexes must have seen to find every version that is served. `epoch` counts the
-- steps by which what searches read was replaced: a search that saw one of them happen looks again.
ALTER TABLE users ADD COLUMN required_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
