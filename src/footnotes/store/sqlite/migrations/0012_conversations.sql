-- Conversations: what was asked, and what became of it. `words` are what a search of them compares, in one case.
CREATE TABLE conversations (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    words TEXT NOT NULL,
    owner TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversations_by_time ON conversations (user_id, updated_at);

-- `request` and `answer` are JSON; `holder` is the server that is at the answer. The passages of an answer are kept as
-- spans, without their text; what its footnotes quote goes with their documents.
CREATE TABLE turns (
    user_id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL,
    holder TEXT NOT NULL,
    text TEXT NOT NULL,
    words TEXT NOT NULL,
    answer TEXT,
    error TEXT,
    rating TEXT,
    reason TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (user_id, conversation, number),
    FOREIGN KEY (user_id, conversation) REFERENCES conversations (user_id, id) ON DELETE CASCADE
) STRICT;

-- The documents an answer quotes.
CREATE TABLE turn_documents (
    user_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (user_id, document_id, conversation, turn),
    FOREIGN KEY (user_id, conversation, turn) REFERENCES turns (user_id, conversation, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX turn_documents_of_turn ON turn_documents (user_id, conversation, turn);
