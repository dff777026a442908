-- Chunks are found by numbers that stand for a term of a generation: they are compared in one step whatever the
-- database's collation, and take half the time to index. A generation belongs to one tenant, as do its numbers; where
-- two terms should share one, a chunk too many is scored.
CREATE FUNCTION term_keys(generation bigint, terms tsvector) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT array_agg(hashtextextended(term, generation)) FROM unnest(tsvector_to_array(terms)) term $$;
CREATE INDEX chunks_by_term_key ON document_chunks USING gin (term_keys(generation, content_tsv));
DROP INDEX chunks_by_term;
DROP FUNCTION generation_terms;
