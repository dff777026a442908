-- Sketches of documents, and the bands by which near-duplicates are found.

-- name: sketch_of(document)
SELECT sketch FROM sketches WHERE document = ?1;

-- name: put_sketch(document, sketch, resembles, similarity)
INSERT INTO sketches (document, sketch, resembles, similarity) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (document) DO UPDATE SET
    sketch = excluded.sketch, resembles = excluded.resembles, similarity = excluded.similarity;

-- name: drop_sketch(document)
DELETE FROM sketches WHERE document = ?1;

-- name: put_bands(document, bands)
INSERT INTO sketch_bands (band, document) SELECT value, ?1 FROM carray(?2) WHERE 1 ON CONFLICT DO NOTHING;

-- name: put_new_sketches(user_id, document, sketch, resembles, similarity)
INSERT INTO sketches (document, sketch, resembles, similarity) VALUES (?2, ?3, ?4, ?5);

-- name: put_new_bands(user_id, band, document)
INSERT INTO sketch_bands (band, document) VALUES (?2, ?3) ON CONFLICT DO NOTHING;

-- name: members_of_bands(bands)
-- A limited number per band: a band that very many share says nothing.
SELECT wanted.value AS band, b.document AS document FROM carray(?1) wanted CROSS JOIN sketch_bands b ON b.band = wanted.value
AND b.document IN (SELECT document FROM sketch_bands WHERE band = wanted.value ORDER BY document LIMIT 64)
ORDER BY b.document;

-- name: drop_bands(document, bands)
DELETE FROM sketch_bands WHERE document = ?1 AND band IN (SELECT value FROM carray(?2));

-- name: band_members(document, bands)
SELECT b.document FROM carray(?2) wanted CROSS JOIN sketch_bands b ON b.band = wanted.value
WHERE b.document <> ?1 LIMIT 64;

-- name: sketched_candidates(user_id, collection, keys)
SELECT d.pk, d.id, d.filename, s.sketch FROM carray(?3) wanted CROSS JOIN documents d ON d.pk = wanted.value
JOIN sketches s ON s.document = d.pk WHERE d.user_id = ?1 AND d.collection = ?2 ORDER BY d.pk;

-- name: sketches_of(user_id, keys)
SELECT d.collection AS collection, d.pk AS pk, d.id AS id, d.filename AS filename, s.sketch AS sketch FROM carray(?2) wanted
CROSS JOIN documents d ON d.pk = wanted.value JOIN sketches s ON s.document = d.pk WHERE d.user_id = ?1;

-- name: resembling(document)
SELECT document, sketch FROM sketches WHERE resembles = ?1;

-- name: set_resembles(document, resembles, similarity)
UPDATE sketches SET resembles = ?2, similarity = ?3 WHERE document = ?1;

-- name: near_duplicates(user_id)
SELECT d.id, o.id AS other, o.filename, s.similarity FROM sketches s JOIN documents d ON d.pk = s.document
JOIN documents o ON o.pk = s.resembles WHERE s.resembles IS NOT NULL AND d.user_id = ?1 AND o.user_id = ?1;

-- name: count_near_duplicates(user_id)
SELECT COUNT(*) FROM sketches s JOIN documents d ON d.pk = s.document
WHERE s.resembles IS NOT NULL AND d.user_id = ?1;
