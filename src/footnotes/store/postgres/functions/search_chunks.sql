-- version 5
-- Both legs in one call, with all that a search wants to know of what they found. Run as the owner, for planners may not
-- look into indexes with most operators before the rules of rows were tested; so it tests the tenant itself. It is STABLE:
-- everything in it sees the snapshot of the statement that calls it, so that a document that is replaced meanwhile is
-- found in its old version or its new one.
DO $$
DECLARE
    older regprocedure;
BEGIN
    -- Replaced in place while servers call it; one that took other values is an older version's.
    FOR older IN SELECT p.oid FROM pg_proc p WHERE p.proname = 'search_chunks' AND p.pronargs <> 18
                 AND p.pronamespace = current_schema()::regnamespace LOOP
        EXECUTE format('DROP FUNCTION %s', older);
    END LOOP;
END $$;
-- Tables of its own that a caller may make must not stand in the way of ours.
SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);
CREATE OR REPLACE FUNCTION search_chunks(
    wanted_generation bigint,        -- of the connection's tenant, or nothing is found
    terms text[],                    -- the question's terms, as often as it says them in `weights`; empty for no words
    weights double precision[],
    body_places integer[],           -- where the weights of the terms stand in `words`, for each field
    title_places integer[],
    section_places integer[],
    symbols_places integer[],
    field_weights double precision[],
    wanted_names text[],             -- names the question has: chunks that define one are among what is found
    used_terms text[],               -- terms of these names: what has one is said to use it
    vector halfvec,                  -- the question's vector; NULL for no dense leg
    depth integer,                   -- how many chunks each leg lists
    allowed bigint[],                -- the keys a filter lets through; NULL for no filter
    budget integer,                  -- about how many chunks the lexical leg may score
    reading integer,                 -- of how many of the best of each leg and of both the text is read
    per_document integer,            -- how many of them may be of one document
    given_lexical bigint[] DEFAULT NULL,  -- what a vector database found by the words, in place of the leg here
    given_dense bigint[] DEFAULT NULL     -- what one found by the vector
) RETURNS SETOF found_chunk LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
    SET search_path FROM CURRENT
    AS $$
DECLARE
    exactly CONSTANT integer := 20000;   -- a filter that lets so few through is looked at chunk by chunk
    most_definitions CONSTANT integer := 50;
    question text;
    essential text;
    everything text[];
    has CONSTANT text := 'term_keys(generation, content_tsv)';
    total double precision;
    lexical_keys bigint[] := '{}';
    dense_keys bigint[] := '{}';
    defining_keys bigint[] := '{}';
    few boolean := cardinality(allowed) <= exactly;
    inside text := CASE WHEN allowed IS NULL THEN '' ELSE ' AND key = ANY ($3)' END;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM generations g WHERE g.pk = wanted_generation
                   AND g.user_id = current_setting('footnotes.user_id', true)) THEN
        RETURN;
    END IF;

    IF cardinality(terms) > 0 THEN
        SELECT COALESCE(max(body), 0) INTO total FROM term_statistics(wanted_generation, '{}');
        WITH asked AS (
            SELECT t.*, COALESCE(s.body, 0) AS body, COALESCE(s.title, 0) AS title, COALESCE(s.section, 0) AS section,
                   COALESCE(s.symbols, 0) AS symbols, COALESCE(greatest(s.body, s.title, s.section, s.symbols), 0) AS size
            FROM unnest(terms, weights, body_places, title_places, section_places, symbols_places)
                 AS t (term, weight, body_place, title_place, section_place, symbols_place)
            LEFT JOIN term_statistics(wanted_generation, terms) s ON s.term = t.term
        ), ordered AS (
            SELECT hashtextextended(term, wanted_generation) AS name, size, row_number() OVER (ORDER BY size, term) AS place,
                   sum(size) OVER (ORDER BY size, term) AS spent
            FROM asked WHERE size > 0
        ), placed AS (
            -- Places count from 1 in text. Two terms may share one: then their weights are added.
            SELECT place + 1 AS place, sum(weight) AS weight FROM (
                SELECT body_place AS place, weight * rarity(total, body) * field_weights[1] AS weight
                FROM asked WHERE body > 0
                UNION ALL
                SELECT title_place, weight * rarity(total, title) * field_weights[2] FROM asked WHERE title > 0
                UNION ALL
                SELECT section_place, weight * rarity(total, section) * field_weights[3] FROM asked WHERE section > 0
                UNION ALL
                SELECT symbols_place, weight * rarity(total, symbols) * field_weights[4] FROM asked WHERE symbols > 0
            ) all_fields GROUP BY 1
        ), pairs AS (
            SELECT ARRAY[one.name, other.name] AS names,
                   sum(one.size * other.size / greatest(total, 1)) OVER (
                       ORDER BY one.size * other.size, one.name, other.name) AS spent,
                   row_number() OVER (ORDER BY one.size * other.size, one.name, other.name) AS place
            FROM ordered one JOIN ordered other ON other.place > one.place
            WHERE other.spent > budget
        )
        -- Terms that few chunks have, and pairs of commoner ones that few have together, decide who can be among the
        -- best; all terms decide who is. MaxScore (Turtle and Flood, 1995) with a budget in place of a bound.
        SELECT concat_ws(' OR ',
                   (SELECT format('%s && %L', has, array_agg(name)) FROM ordered WHERE spent <= budget HAVING count(*) > 0),
                   (SELECT string_agg(format('%s @> %L', has, names), ' OR ') FROM pairs
                    WHERE spent <= budget OR place = 1 AND spent <= 10 * budget),
                   (SELECT format('%s && %L', has, array_agg(name)) FROM ordered WHERE place = 1
                    AND NOT EXISTS (SELECT 1 FROM pairs) HAVING count(*) > 0)),
               (SELECT array_agg(name) FROM ordered),
               (SELECT '{' || string_agg(place || ':' || weight::real, ',' ORDER BY place) || '}/1000000000' FROM placed)
        INTO essential, everything, question;
    END IF;

    -- Nothing below is better done by looking at the whole table, whatever the planner knows of it by now.
    PERFORM set_config('enable_seqscan', 'off', true);

    IF question IS NOT NULL AND given_lexical IS NOT NULL THEN
        SELECT COALESCE(array_agg(best.key ORDER BY best.distance, best.key), '{}') INTO lexical_keys FROM (
            SELECT c.key, c.words <#> question::sparsevec AS distance FROM document_chunks c
            WHERE c.key = ANY (given_lexical) AND (allowed IS NULL OR c.key = ANY (allowed))
            AND c.generation = wanted_generation AND c.words <#> question::sparsevec < 0
            ORDER BY 2, 1 LIMIT depth) best;
    ELSIF question IS NOT NULL AND (allowed IS NULL OR NOT few) THEN
        LOOP
            EXECUTE 'SELECT COALESCE(array_agg(key ORDER BY distance, key), ''{}'') FROM (
                         SELECT key, words <#> $1::sparsevec AS distance FROM document_chunks
                         WHERE (' || essential || ')' || inside || '
                         ORDER BY 2, 1 LIMIT ' || depth || ') best'
            INTO lexical_keys USING question, NULL::text, allowed;
            -- Where these do not give enough, every term is looked up.
            EXIT WHEN cardinality(lexical_keys) >= depth OR everything IS NULL;
            essential := format('%s && %L', has, everything);
            everything := NULL;
        END LOOP;
    ELSIF question IS NOT NULL THEN
        SELECT COALESCE(array_agg(best.key ORDER BY best.distance, best.key), '{}') INTO lexical_keys FROM (
            SELECT c.key, c.words <#> question::sparsevec AS distance FROM document_chunks c
            WHERE c.key = ANY (allowed) AND c.generation = wanted_generation AND c.words <#> question::sparsevec < 0
            ORDER BY 2, 1 LIMIT depth) best;
    END IF;

    IF vector IS NOT NULL AND given_dense IS NOT NULL THEN
        SELECT COALESCE(array_agg(best.key ORDER BY best.distance, best.key), '{}') INTO dense_keys FROM (
            SELECT c.key, c.embedding <=> vector AS distance FROM document_chunks c
            WHERE c.key = ANY (given_dense) AND (allowed IS NULL OR c.key = ANY (allowed))
            AND c.generation = wanted_generation AND c.embedding IS NOT NULL
            ORDER BY 2, 1 LIMIT depth) best;
    ELSIF vector IS NOT NULL AND (allowed IS NULL OR NOT few) THEN
        PERFORM set_config('enable_sort', 'off', true);
        PERFORM set_config('hnsw.ef_search', least(greatest(2 * depth, COALESCE(
            NULLIF(current_setting('footnotes.ef_search', true), '')::integer, 100)), 1000)::text, true);
        PERFORM set_config('ivfflat.probes', COALESCE(NULLIF(current_setting('footnotes.probes', true), ''), '20'), true);
        -- An index keeps replaced chunks until it is vacuumed: where these fill a first look, it looks on.
        PERFORM set_config('hnsw.iterative_scan', 'strict_order', true);
        PERFORM set_config('ivfflat.iterative_scan', 'relaxed_order', true);
        EXECUTE format('SELECT COALESCE(array_agg(key ORDER BY distance, key), ''{}'') FROM (
                            SELECT key, embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) AS distance FROM document_chunks
                            WHERE generation = %2$s AND embedding IS NOT NULL%3$s
                            ORDER BY embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) LIMIT $2) best',
                       vector_dims(vector), wanted_generation, inside)
        INTO dense_keys USING vector, depth, allowed;
        PERFORM set_config('enable_sort', 'on', true);
    ELSIF vector IS NOT NULL THEN
        SELECT COALESCE(array_agg(best.key ORDER BY best.distance, best.key), '{}') INTO dense_keys FROM (
            SELECT c.key, c.embedding <=> vector AS distance FROM document_chunks c
            WHERE c.key = ANY (allowed) AND c.generation = wanted_generation AND c.embedding IS NOT NULL
            ORDER BY 2, 1 LIMIT depth) best;
    END IF;

    IF cardinality(wanted_names) > 0 THEN
        EXECUTE 'SELECT COALESCE(array_agg(key), ''{}'') FROM (SELECT key FROM document_chunks
                 WHERE ' || has || ' && $1' || inside || ' ORDER BY key LIMIT $2) defining'
        INTO defining_keys
        USING (SELECT array_agg(hashtextextended(name, wanted_generation)) FROM unnest(wanted_names) name), most_definitions, allowed;
    END IF;

    RETURN QUERY
    WITH listed AS (
        SELECT l.key, max(l.lexical_rank) AS lexical_rank, max(l.dense_rank) AS dense_rank FROM (
            SELECT k.key, k.rank::integer AS lexical_rank, NULL::integer AS dense_rank
            FROM unnest(lexical_keys) WITH ORDINALITY AS k (key, rank)
            UNION ALL
            SELECT k.key, NULL, k.rank::integer FROM unnest(dense_keys) WITH ORDINALITY AS k (key, rank)
            UNION ALL
            SELECT k.key, NULL, NULL FROM unnest(defining_keys) AS k (key)
        ) l GROUP BY l.key
    ), fused AS (
        SELECT listed.*, c.document,
               COALESCE(1.0 / (60 + listed.lexical_rank), 0) + COALESCE(1.0 / (60 + listed.dense_rank), 0) AS rrf
        FROM listed JOIN document_chunks c ON c.key = listed.key
        JOIN documents d ON d.pk = c.document AND d.current = c.version
        WHERE c.generation = wanted_generation
    ), apart AS (
        SELECT fused.*, row_number() OVER (PARTITION BY fused.document ORDER BY fused.rrf DESC, fused.key) AS of_document
        FROM fused
    ), ordered AS (
        SELECT apart.*, row_number() OVER (
            ORDER BY apart.key <> ALL (defining_keys), of_document > per_document, apart.rrf DESC, apart.key) AS place
        FROM apart
    )
    SELECT c.key, o.lexical_rank,
           CASE WHEN question IS NULL THEN NULL ELSE -(c.words <#> question::sparsevec) END,
           o.dense_rank,
           CASE WHEN vector IS NULL THEN NULL ELSE 1 - (c.embedding <=> vector) END,
           o.rrf::double precision, CASE WHEN vector IS NULL THEN NULL ELSE c.embedding END,
           c.id, c.document, c.document_id, c.version, c.chunk_index,
           c.start_offset, c.end_offset, c.page_first, c.page_last, c.line_first, c.line_last, c.headings, c.metadata,
           CASE WHEN o.place <= reading OR o.lexical_rank <= reading OR o.dense_rank <= reading THEN c.content END,
           c.key = ANY (defining_keys), cardinality(used_terms) > 0 AND tsvector_to_array(c.content_tsv) && used_terms
    FROM ordered o JOIN document_chunks c ON c.key = o.key ORDER BY o.rrf DESC, o.key;
END $$;
