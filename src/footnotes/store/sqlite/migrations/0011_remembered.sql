-- What a model once said: where a text is cut, or what a passage is about. `scope` is the hash of the text it was said of,
-- or empty where the value tells nothing of one.
CREATE TABLE remembered (
    user_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (user_id, scope, key)
) STRICT, WITHOUT ROWID;
