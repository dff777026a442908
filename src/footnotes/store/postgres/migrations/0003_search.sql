-- What a search gives back of a chunk, and the statistics it needs. The search itself, a function of the owner, is in
-- `functions/search_chunks.sql`: it is put in place whenever it has changed, after all migrations. Chunks of versions
-- that are still being written stand under the negative number of their generation.

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
