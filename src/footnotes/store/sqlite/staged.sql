-- name: stage
INSERT INTO staged (document, user_id, generation, version, seq, title, draft, facets, waits)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: staged
SELECT document, version, seq, draft, facets, waits FROM staged WHERE user_id = ? AND generation = ? AND seq <= ?
ORDER BY seq;

-- name: staged_version
SELECT version FROM staged WHERE document = ?;

-- name: any_staged
SELECT user_id FROM staged LIMIT 1;

-- name: users_staged
SELECT DISTINCT user_id FROM staged;

-- name: drop_staged
DELETE FROM staged WHERE document = ?;

-- name: versions_of
SELECT current, title, NULL, status IN ('embedding', 'queued') FROM documents WHERE pk = ?1 AND current IS NOT NULL
UNION ALL SELECT version, title, facets, waits FROM staged WHERE document = ?1;

-- name: require
UPDATE users SET required_seq = MAX(required_seq, ?), epoch = epoch + 1 WHERE user_id = ?;

-- name: next_epoch
UPDATE users SET epoch = epoch + 1 WHERE user_id = ?;

-- name: served
SELECT g.pk, g.user_id, g.state, g.plan, m.pk, m.fingerprint, m.name, m.dimensions, u.visible_seq,
       (SELECT COUNT(*) FROM documents w
        WHERE w.user_id = u.user_id AND w.status IN ('embedding', 'queued') AND w.current IS NOT NULL),
       u.required_seq, u.epoch,
       (SELECT COALESCE(MAX(c.seq), 0) FROM changes c WHERE c.user_id = u.user_id AND c.generation = u.serving),
       EXISTS (SELECT 1 FROM staged s WHERE s.user_id = u.user_id)
FROM users u JOIN generations g ON g.pk = u.serving JOIN models m ON m.pk = g.model WHERE u.user_id = ?;

-- name: serving_epoch
SELECT serving, epoch FROM users WHERE user_id = ?;

-- name: live_of_keys
SELECT c.key FROM carray(?) wanted CROSS JOIN chunks c ON c.key = wanted.value
JOIN documents d ON d.pk = c.document AND +d.current = c.version
WHERE +c.user_id = ? AND +c.generation = ?;
