-- A document is found by its words as soon as its text is in; its vectors follow.

-- The spans whose vectors make a chunk's, JSON; empty where its whole text does.
ALTER TABLE chunks ADD COLUMN parts TEXT NOT NULL DEFAULT '';

-- The index a change concerns: 'dense' when vectors came to text that is there already, '' for both.
ALTER TABLE changes ADD COLUMN leg TEXT NOT NULL DEFAULT '';

CREATE INDEX documents_waiting ON documents (user_id) WHERE status IN ('embedding', 'queued') AND current IS NOT NULL;
