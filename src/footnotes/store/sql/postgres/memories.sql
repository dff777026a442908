-- name: recall(user_id, scope, key)
SELECT value FROM remembered WHERE user_id = $1 AND scope = $2 AND key = $3

-- name: remember(user_id, scope, key, value)
INSERT INTO remembered (user_id, scope, key, value) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING

-- name: remembered_scopes(user_id)
SELECT DISTINCT scope FROM remembered WHERE user_id = $1

-- name: forget_scopes(user_id, scopes)
DELETE FROM remembered WHERE user_id = $1 AND scope = ANY ($2::text[])
