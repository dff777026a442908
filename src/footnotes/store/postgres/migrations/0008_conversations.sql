-- Conversations: what was asked, and what became of it. `words` are what a search of them compares, in one case.
CREATE TABLE conversations (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    title text NOT NULL,
    words text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    created_at text NOT NULL,
    updated_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, id)
);

CREATE INDEX conversations_by_time ON conversations (user_id, updated_at);

-- `request` and `answer` are JSON; `holder` is the server that is at the answer. The passages of an answer are kept as
-- spans, without their text; what its footnotes quote goes with their documents. Privileges: functions/privileges.sql.
CREATE TABLE turns (
    user_id text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    question text NOT NULL,
    request text NOT NULL,
    state text NOT NULL,
    holder text NOT NULL,
    text text NOT NULL,
    words text COLLATE "C" NOT NULL,
    answer text,
    error text,
    rating text,
    reason text NOT NULL DEFAULT '',
    created_at text NOT NULL,
    updated_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, conversation, number),
    FOREIGN KEY (user_id, conversation) REFERENCES conversations (user_id, id) ON DELETE CASCADE
);

-- The documents an answer quotes.
CREATE TABLE turn_documents (
    user_id text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    turn integer NOT NULL,
    PRIMARY KEY (user_id, document_id, conversation, turn),
    FOREIGN KEY (user_id, conversation, turn) REFERENCES turns (user_id, conversation, number) ON DELETE CASCADE
);

CREATE INDEX turn_documents_of_turn ON turn_documents (user_id, conversation, turn);
