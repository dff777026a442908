-- name: recall
SELECT value FROM remembered WHERE user_id = ? AND scope = ? AND key = ?;

-- name: remember
INSERT INTO remembered (user_id, scope, key, value) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: remembered_scopes
SELECT DISTINCT scope FROM remembered WHERE user_id = ?;

-- name: forget_scope
DELETE FROM remembered WHERE user_id = ? AND scope = ?;
