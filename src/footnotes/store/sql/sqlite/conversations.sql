-- Conversations and their turns.

-- fragment: turn_columns
number, question, request, state, holder, text, answer, error, rating, reason, created_at, updated_at

-- name: count_conversations(user_id)
SELECT COUNT(*) FROM conversations WHERE user_id = ?1;

-- name: make_conversation(user_id, id, title, words, owner, now)
INSERT INTO conversations (user_id, id, title, words, owner, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT DO NOTHING;

-- name: conversations(user_id, sought, limit, offset)
SELECT c.id, c.title, c.owner, c.created_at, c.updated_at,
       (SELECT COUNT(*) FROM turns t WHERE t.user_id = c.user_id AND t.conversation = c.id) AS turns
FROM conversations c
WHERE c.user_id = ?1 AND (?2 = '' OR instr(c.words, ?2) > 0 OR EXISTS (
    SELECT 1 FROM turns t WHERE t.user_id = c.user_id AND t.conversation = c.id AND instr(t.words, ?2) > 0))
ORDER BY c.updated_at DESC, c.id LIMIT ?3 OFFSET ?4;

-- name: conversation(user_id, id)
SELECT c.id, c.title, c.owner, c.created_at, c.updated_at,
       (SELECT COUNT(*) FROM turns t WHERE t.user_id = c.user_id AND t.conversation = c.id) AS turns
FROM conversations c WHERE c.user_id = ?1 AND c.id = ?2;

-- name: rename_conversation(user_id, id, title, words)
UPDATE conversations SET title = ?3, words = ?4 WHERE user_id = ?1 AND id = ?2;

-- name: touch_conversation(user_id, id, now)
UPDATE conversations SET updated_at = ?3 WHERE user_id = ?1 AND id = ?2;

-- name: drop_conversation(user_id, id)
DELETE FROM conversations WHERE user_id = ?1 AND id = ?2;

-- name: turns_of(user_id, conversation)
SELECT {turn_columns} FROM turns WHERE user_id = ?1 AND conversation = ?2 ORDER BY number;

-- name: turn_of(user_id, conversation, number)
SELECT {turn_columns} FROM turns WHERE user_id = ?1 AND conversation = ?2 AND number = ?3;

-- name: last_turn(user_id, conversation)
SELECT MAX(number) FROM turns WHERE user_id = ?1 AND conversation = ?2;

-- name: drop_turns_from(user_id, conversation, number)
DELETE FROM turns WHERE user_id = ?1 AND conversation = ?2 AND number >= ?3;

-- name: make_turn(user_id, conversation, number, question, words, request, holder, now)
INSERT INTO turns (user_id, conversation, number, question, words, request, state, holder, text, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'asking', ?7, '', ?8, ?8);

-- name: update_turn(user_id, conversation, number, holder, state, text, words, answer, error, now)
-- Others find the words of an answer when it has ended.
UPDATE turns SET state = ?5, text = COALESCE(?6, text), answer = ?8, error = ?9, updated_at = ?10,
    holder = CASE WHEN ?5 = 'asking' THEN holder ELSE '' END, words = CASE WHEN ?5 = 'asking' THEN words ELSE ?7 END
WHERE user_id = ?1 AND conversation = ?2 AND number = ?3 AND state = 'asking'
AND holder = COALESCE(?4, holder);

-- name: rate_turn(user_id, conversation, number, rating, reason)
UPDATE turns SET rating = ?4, reason = ?5 WHERE user_id = ?1 AND conversation = ?2 AND number = ?3;

-- name: quote_documents(user_id, conversation, turn, documents)
INSERT INTO turn_documents (user_id, document_id, conversation, turn)
SELECT ?1, value, ?2, ?3 FROM json_each(?4) WHERE 1 ON CONFLICT DO NOTHING;

-- name: quoted_documents(user_id, conversation, turn)
SELECT document_id FROM turn_documents WHERE user_id = ?1 AND conversation = ?2 AND turn = ?3;

-- name: forget_quotes(user_id, documents)
-- The answer is deleted with a document that it quotes; the question stays.
UPDATE turns SET state = 'forgotten', text = '', words = lower(question), answer = NULL, error = NULL, holder = ''
WHERE user_id = ?1 AND (conversation, number) IN (
    SELECT conversation, turn FROM turn_documents
    WHERE user_id = ?1 AND document_id IN (SELECT value FROM json_each(?2)));

-- name: drop_quotes(user_id, documents)
DELETE FROM turn_documents WHERE user_id = ?1 AND document_id IN (SELECT value FROM json_each(?2));

-- name: gone_documents(user_id, conversation, turn)
SELECT t.document_id FROM turn_documents t WHERE t.user_id = ?1 AND t.conversation = ?2 AND t.turn = ?3 AND NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.user_id = t.user_id AND d.id = t.document_id);

-- name: put_conversation(user_id, id, title, words, owner, created_at, updated_at)
INSERT INTO conversations (user_id, id, title, words, owner, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO NOTHING;

-- name: put_turn(user_id, conversation, number, question, words, request, state, text, answer, error, rating, reason, created_at, updated_at)
INSERT INTO turns (user_id, conversation, number, question, words, request, state, holder, text, answer, error, rating,
                   reason, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT DO NOTHING;
