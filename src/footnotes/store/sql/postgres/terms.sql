-- The terms of chunks, by which the lexical leg finds and weights them.

-- name: averages(user_id, generation)
SELECT body_average AS body, title_average AS title, section_average AS section, symbols_average AS symbols
FROM generations WHERE user_id = $1 AND pk = $2

-- name: set_first_averages(user_id, generation, body, title, section, symbols, chunks)
UPDATE generations SET body_average = $3, title_average = $4, section_average = $5, symbols_average = $6, weighed = $7
WHERE user_id = $1 AND pk = $2 AND body_average IS NULL

-- name: set_averages(generation, body, title, section, symbols, chunks)
UPDATE generations SET body_average = $2, title_average = $3, section_average = $4, symbols_average = $5, weighed = $6
WHERE pk = $1

-- name: measured(generation)
SELECT g.body_average AS body, g.title_average AS title, g.section_average AS section, g.symbols_average AS symbols,
       s.body / NULLIF(s.chunks, 0) AS body_now, s.title / NULLIF(s.chunks, 0) AS title_now,
       s.section / NULLIF(s.chunks, 0) AS section_now, s.symbols / NULLIF(s.chunks, 0) AS symbols_now,
       g.weighed, s.chunks
FROM generations g, (
    SELECT COALESCE(sum(body) FILTER (WHERE term = ' chunks'), 0)::float8 AS chunks,
           COALESCE(sum(body) FILTER (WHERE term = ' length'), 0)::float8 AS body,
           COALESCE(sum(title) FILTER (WHERE term = ' length'), 0)::float8 AS title,
           COALESCE(sum(section) FILTER (WHERE term = ' length'), 0)::float8 AS section,
           COALESCE(sum(symbols) FILTER (WHERE term = ' length'), 0)::float8 AS symbols
    FROM statistics WHERE generation = $1 AND term IN (' chunks', ' length')) s
WHERE g.pk = $1

-- name: words_of_version(user_id, version)
SELECT c.key, c.generation, c.content, c.headings::text AS headings, c.prefix, c.metadata::text AS metadata
FROM document_chunks c WHERE c.user_id = $1 AND c.version = $2 ORDER BY c.key

-- name: words_of_generation(generation, after, limit)
SELECT c.key, c.generation, c.content, c.headings::text AS headings, d.title, d.filename, c.prefix, c.metadata::text AS metadata
FROM document_chunks c JOIN documents d ON d.pk = c.document
WHERE c.generation IN ($1, -$1::bigint) AND c.key > $2 ORDER BY c.key LIMIT $3

-- name: rewrite_words(user_id, key, content_tsv, words, body_length, title_length, section_length, symbols_length)
UPDATE document_chunks c SET content_tsv = n.content_tsv::tsvector, words = n.words::text::sparsevec,
    body_length = n.body_length, title_length = n.title_length, section_length = n.section_length,
    symbols_length = n.symbols_length
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[],
            $8::integer[])
     AS n (user_id, key, content_tsv, words, body_length, title_length, section_length, symbols_length)
WHERE c.user_id = n.user_id AND c.key = n.key

-- name: generations_of_version(user_id, version)
SELECT DISTINCT generation FROM document_chunks WHERE user_id = $1 AND version = $2 AND generation > 0

-- name: uncount_terms(user_id, generation, versions)
-- Subtracts the versions from the term statistics of one generation.
INSERT INTO statistics (user_id, generation, term, body, title, section, symbols)
SELECT $1, $2, t.lexeme, -count(*) FILTER (WHERE 'D' = ANY (t.weights)),
       -count(*) FILTER (WHERE 'A' = ANY (t.weights)), -count(*) FILTER (WHERE 'B' = ANY (t.weights)),
       -count(*) FILTER (WHERE 'C' = ANY (t.weights))
FROM document_chunks c, unnest(c.content_tsv) t
WHERE c.version = ANY ($3) AND c.generation = $2 AND t.weights IS NOT NULL GROUP BY t.lexeme
UNION ALL
SELECT $1, $2, unnest(ARRAY[' chunks', ' length']), unnest(ARRAY[-count(*), -COALESCE(sum(c.body_length), 0)]),
       unnest(ARRAY[-count(*), -COALESCE(sum(c.title_length), 0)]),
       unnest(ARRAY[-count(*), -COALESCE(sum(c.section_length), 0)]),
       unnest(ARRAY[-count(*), -COALESCE(sum(c.symbols_length), 0)])
FROM document_chunks c WHERE c.version = ANY ($3) AND c.generation = $2

-- name: drop_terms(user_id, generation)
DELETE FROM statistics WHERE user_id = $1 AND generation = $2

-- name: fold_terms(user_id, generation)
-- Folds to one row per term. Rows added meanwhile stay as they are.
WITH gone AS (DELETE FROM statistics WHERE generation = $2 AND user_id = $1
              RETURNING term, body, title, section, symbols)
INSERT INTO statistics (user_id, generation, term, body, title, section, symbols)
SELECT $1, $2, term, sum(body), sum(title), sum(section), sum(symbols) FROM gone GROUP BY term
HAVING sum(body) <> 0 OR sum(title) <> 0 OR sum(section) <> 0 OR sum(symbols) <> 0

-- name: count_terms(user_id, generation)
SELECT count(*) AS rows, count(DISTINCT term) AS terms FROM statistics WHERE user_id = $1 AND generation = $2

-- name: served_versions(user_id, generation)
SELECT DISTINCT c.version FROM document_chunks c JOIN documents d ON d.pk = c.document AND d.current = c.version
WHERE c.user_id = $1 AND c.generation = $2 ORDER BY c.version

-- name: wrong_statistics(user_id, generation)
WITH served AS (
    SELECT c.content_tsv, c.body_length, c.title_length, c.section_length, c.symbols_length FROM document_chunks c
    JOIN documents d ON d.pk = c.document AND d.current = c.version
    WHERE c.user_id = $1 AND c.generation = $2
), counted AS (
    SELECT t.lexeme AS term, count(*) FILTER (WHERE 'D' = ANY (t.weights)) AS body,
           count(*) FILTER (WHERE 'A' = ANY (t.weights)) AS title,
           count(*) FILTER (WHERE 'B' = ANY (t.weights)) AS section,
           count(*) FILTER (WHERE 'C' = ANY (t.weights)) AS symbols
    FROM served, unnest(served.content_tsv) t GROUP BY t.lexeme
    UNION ALL SELECT ' chunks', count(*), count(*), count(*), count(*) FROM served
    UNION ALL SELECT ' length', COALESCE(sum(body_length), 0), COALESCE(sum(title_length), 0),
                     COALESCE(sum(section_length), 0), COALESCE(sum(symbols_length), 0) FROM served
), kept AS (
    SELECT term, sum(body) AS body, sum(title) AS title, sum(section) AS section, sum(symbols) AS symbols
    FROM statistics WHERE user_id = $1 AND generation = $2 GROUP BY term
)
SELECT count(*) FROM counted FULL JOIN kept ON kept.term = counted.term COLLATE "C"
WHERE (COALESCE(counted.body, 0), COALESCE(counted.title, 0), COALESCE(counted.section, 0), COALESCE(counted.symbols, 0))
      IS DISTINCT FROM
      (COALESCE(kept.body, 0), COALESCE(kept.title, 0), COALESCE(kept.section, 0), COALESCE(kept.symbols, 0))

-- name: log_all_again(user_id, generation)
-- A vector database receives all terms again, with their new weights.
WITH again AS (
    SELECT c.document, row_number() OVER (ORDER BY c.document) AS number
    FROM index_changes c JOIN documents d ON d.pk = c.document
    WHERE c.generation = $2 AND EXISTS (SELECT 1 FROM shelves s WHERE s.generation = $2 AND s.words <> '')
), taken AS (
    UPDATE users SET logged = logged + (SELECT count(*) FROM again) WHERE user_id = $1 RETURNING logged
)
UPDATE index_changes c SET seq = t.logged - (SELECT count(*) FROM again) + a.number FROM again a, taken t
WHERE c.generation = $2 AND c.document = a.document

-- name: generations_by_lexemes(lexemes)
SELECT pk, user_id, lexemes FROM generations WHERE lexemes <> $1 ORDER BY pk

-- name: set_lexemes(generation, lexemes)
UPDATE generations SET lexemes = $2 WHERE pk = $1

-- name: bump_served(generation)
UPDATE users SET changed = changed + 1 WHERE serving = $1
