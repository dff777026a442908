-- name: note_loss
INSERT INTO losses (user_id, generation, leg, seen, had) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: losses
SELECT leg, seen, had FROM losses WHERE user_id = ? ORDER BY leg;

-- name: forget_losses
DELETE FROM losses WHERE user_id = ?;
