-- What a model once said: where a text is cut, or what a passage is about. `scope` is the hash of the text it was said of,
-- or empty where the value tells nothing of one. Who may read it is said in functions/privileges.sql.
CREATE TABLE remembered (
    user_id text NOT NULL,
    scope text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (user_id, scope, key)
);
