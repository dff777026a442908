-- name: recall
SELECT value FROM remembered WHERE user_id = $1 AND scope = $2 AND key = $3

-- name: remember
INSERT INTO remembered (user_id, scope, key, value) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING

-- name: remembered_scopes
SELECT DISTINCT scope FROM remembered WHERE user_id = $1

-- name: forget_scope
DELETE FROM remembered WHERE user_id = $1 AND scope = $2
