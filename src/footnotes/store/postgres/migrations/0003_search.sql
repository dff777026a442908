-- Both legs of a search, and all that is known of what they found, in one call.
--
-- The function is the owner's, because planners use most indexes only for those who may see every row; it therefore
-- tests itself that the generation belongs to the tenant of the connection, and looks at that generation alone.
-- Chunks of versions that are still being written stand under the negative number of their generation.

CREATE TYPE found_chunk AS (
    key bigint, lexical_rank integer, lexical_score double precision, dense_rank integer, dense_score double precision,
    rrf double precision, embedding halfvec,
    id text, document bigint, document_id text, version bigint, chunk_index integer,
    start_offset bigint, end_offset bigint, page_first integer, page_last integer, line_first bigint, line_last bigint,
    headings jsonb, metadata jsonb, content text
);

-- In how many chunks each term stands, and how many chunks there are: (term, body, heading), ' chunks' among them.
CREATE FUNCTION term_statistics(wanted_generation bigint, terms text[])
    RETURNS TABLE (term text, body bigint, heading bigint) LANGUAGE sql STABLE
    AS $$
        SELECT s.term, sum(s.body)::bigint, sum(s.heading)::bigint FROM statistics s
        WHERE s.generation = wanted_generation AND s.term = ANY (terms || ' chunks'::text) GROUP BY s.term
    $$;

-- What a term weighs in a question: ln(1 + (N - n + 0.5) / (n + 0.5)), as in Lucene.
CREATE FUNCTION rarity(chunks double precision, with_term double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT ln(1 + greatest(chunks - with_term + 0.5, 0.5) / (with_term + 0.5)) $$;

CREATE FUNCTION search_chunks(
    wanted_generation bigint,        -- of the connection's tenant, or nothing is found
    terms text[],                    -- the question's terms, as often as it says them in `weights`; empty for no words
    weights double precision[],
    body_places integer[],           -- where the weights of the terms stand in `words`
    heading_places integer[],
    heading_boost double precision,
    vector halfvec,                  -- the question's vector; NULL for no dense leg
    depth integer,                   -- how many chunks each leg lists
    allowed bigint[],                -- the keys a filter lets through; NULL for no filter
    budget integer,                  -- about how many chunks the lexical leg may score
    reading integer,                 -- of how many of the best of each leg and of both the text is read
    per_document integer             -- how many of them may be of one document
) RETURNS SETOF found_chunk LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 100
    SET search_path FROM CURRENT
    AS $$
DECLARE
    exactly CONSTANT integer := 20000;   -- a filter that lets so few through is looked at chunk by chunk
    question text;
    essential text;
    everything text[];
    has CONSTANT text := 'generation_terms(generation, content_tsv)';
    total double precision;
    lexical_keys bigint[] := '{}';
    dense_keys bigint[] := '{}';
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
            SELECT t.term, t.weight, t.body_place, t.heading_place, COALESCE(s.body, 0) AS body,
                   COALESCE(s.heading, 0) AS heading, greatest(COALESCE(s.body, 0), COALESCE(s.heading, 0)) AS size
            FROM unnest(terms, weights, body_places, heading_places) AS t (term, weight, body_place, heading_place)
            LEFT JOIN term_statistics(wanted_generation, terms) s ON s.term = t.term
        ), ordered AS (
            SELECT wanted_generation || ' ' || term AS name, size, row_number() OVER (ORDER BY size, term) AS place,
                   sum(size) OVER (ORDER BY size, term) AS spent
            FROM asked WHERE size > 0
        ), placed AS (
            -- Places count from 1 in text. Two terms may share one: then their weights are added.
            SELECT place + 1 AS place, sum(weight) AS weight FROM (
                SELECT body_place AS place, weight * rarity(total, body) AS weight FROM asked WHERE body > 0
                UNION ALL
                SELECT heading_place, weight * rarity(total, heading) * heading_boost FROM asked WHERE heading > 0
            ) both_fields GROUP BY 1
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

    IF question IS NOT NULL AND (allowed IS NULL OR NOT few) THEN
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

    IF vector IS NOT NULL AND (allowed IS NULL OR NOT few) THEN
        PERFORM set_config('enable_sort', 'off', true);
        PERFORM set_config('hnsw.ef_search', least(greatest(2 * depth, 100), 1000)::text, true);
        PERFORM set_config('hnsw.iterative_scan', CASE WHEN allowed IS NULL THEN 'off' ELSE 'strict_order' END, true);
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

    RETURN QUERY
    WITH listed AS (
        SELECT l.key, max(l.lexical_rank) AS lexical_rank, max(l.dense_rank) AS dense_rank FROM (
            SELECT k.key, k.rank::integer AS lexical_rank, NULL::integer AS dense_rank
            FROM unnest(lexical_keys) WITH ORDINALITY AS k (key, rank)
            UNION ALL
            SELECT k.key, NULL, k.rank::integer FROM unnest(dense_keys) WITH ORDINALITY AS k (key, rank)
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
        SELECT apart.*, row_number() OVER (ORDER BY of_document > per_document, apart.rrf DESC, apart.key) AS place
        FROM apart
    )
    SELECT c.key, o.lexical_rank,
           CASE WHEN question IS NULL THEN NULL ELSE -(c.words <#> question::sparsevec) END,
           o.dense_rank,
           CASE WHEN vector IS NULL THEN NULL ELSE 1 - (c.embedding <=> vector) END,
           o.rrf::double precision, CASE WHEN vector IS NULL THEN NULL ELSE c.embedding END,
           c.id, c.document, c.document_id, c.version, c.chunk_index,
           c.start_offset, c.end_offset, c.page_first, c.page_last, c.line_first, c.line_last, c.headings, c.metadata,
           CASE WHEN o.place <= reading OR o.lexical_rank <= reading OR o.dense_rank <= reading THEN c.content END
    FROM ordered o JOIN document_chunks c ON c.key = o.key ORDER BY o.rrf DESC, o.key;
END $$;

REVOKE ALL ON FUNCTION search_chunks FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_chunks TO footnotes_tenant;
