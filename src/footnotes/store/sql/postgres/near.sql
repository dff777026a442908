-- Sketches of documents, and the bands by which near-duplicates are found.

-- name: sketch_of(user_id, document)
SELECT sketch FROM sketches WHERE user_id = $1 AND document = $2

-- name: put_sketch(user_id, document, sketch, resembles, similarity)
-- The document it resembles may have just been deleted.
INSERT INTO sketches (user_id, document, sketch, resembles, similarity)
VALUES ($1, $2, $3, (SELECT pk FROM documents WHERE user_id = $1 AND pk = $4 FOR KEY SHARE), $5)
ON CONFLICT (document) DO UPDATE SET
    sketch = excluded.sketch, resembles = excluded.resembles, similarity = excluded.similarity

-- name: put_new_sketches(user_id, document, sketch, resembles, similarity)
INSERT INTO sketches (user_id, document, sketch, resembles, similarity)
SELECT n.user_id, n.document, n.sketch,
    (SELECT pk FROM documents WHERE user_id = n.user_id AND pk = n.resembles FOR KEY SHARE), n.similarity
FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bigint[], $5::float8[])
    AS n (user_id, document, sketch, resembles, similarity)
ON CONFLICT (document) DO UPDATE SET
    sketch = excluded.sketch, resembles = excluded.resembles, similarity = excluded.similarity

-- name: drop_sketch(user_id, document)
DELETE FROM sketches WHERE user_id = $1 AND document = $2

-- name: put_bands(user_id, document, bands)
INSERT INTO sketch_bands (user_id, band, document) SELECT $1, unnest($3::bigint[]), $2 ON CONFLICT DO NOTHING

-- name: put_new_bands(user_id, band, document)
INSERT INTO sketch_bands (user_id, band, document)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) ON CONFLICT DO NOTHING

-- name: members_of_bands(user_id, bands)
-- A limited number per band: a band that very many share says nothing.
SELECT wanted.band, b.document FROM unnest($2::bigint[]) AS wanted (band) CROSS JOIN LATERAL (
    SELECT document FROM sketch_bands WHERE user_id = $1 AND band = wanted.band ORDER BY document LIMIT 64
) b ORDER BY b.document

-- name: sketches_of(user_id, keys)
SELECT d.collection, d.pk, d.id, d.filename, s.sketch FROM documents d JOIN sketches s ON s.document = d.pk
WHERE d.user_id = $1 AND d.pk = ANY ($2)

-- name: drop_bands(user_id, document, bands)
DELETE FROM sketch_bands WHERE user_id = $1 AND document = $2 AND band = ANY ($3)

-- name: band_members(user_id, document, bands)
SELECT document FROM sketch_bands WHERE user_id = $1 AND document <> $2 AND band = ANY ($3) LIMIT 64

-- name: sketched_candidates(user_id, collection, keys)
SELECT d.pk, d.id, d.filename, s.sketch FROM documents d JOIN sketches s ON s.document = d.pk
WHERE d.user_id = $1 AND d.collection = $2 AND d.pk = ANY ($3) ORDER BY d.pk

-- name: resembling(user_id, document)
SELECT document, sketch FROM sketches WHERE user_id = $1 AND resembles = $2 ORDER BY document

-- name: set_resembles(user_id, document, resembles, similarity)
UPDATE sketches SET resembles = $3, similarity = $4 WHERE user_id = $1 AND document = $2

-- name: near_duplicates(user_id)
SELECT d.id, o.id AS other, o.filename, s.similarity FROM sketches s JOIN documents d ON d.pk = s.document
JOIN documents o ON o.pk = s.resembles WHERE s.user_id = $1 AND s.resembles IS NOT NULL

-- name: count_near_duplicates(user_id)
SELECT count(*) FROM sketches WHERE user_id = $1 AND resembles IS NOT NULL
