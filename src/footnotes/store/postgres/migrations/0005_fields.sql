-- Title, sections and names are fields of their own beside the text, and chunks are found by the names they define.
--
-- `content_tsv` holds the terms of the text with weight D, those of the title with A, of what stands above the chunk with B
-- and of the names it lists with C; and `=name`, without a weight, for every name it defines. `lexemes` says by which
-- version the words of a generation were made: what an older one made is made again from the texts by whoever migrates.

ALTER TABLE document_chunks RENAME heading_length TO title_length;
ALTER TABLE document_chunks ADD section_length integer NOT NULL DEFAULT 0, ADD symbols_length integer NOT NULL DEFAULT 0;
ALTER TABLE statistics RENAME heading TO title;
ALTER TABLE statistics ADD section bigint NOT NULL DEFAULT 0, ADD symbols bigint NOT NULL DEFAULT 0;
DROP INDEX statistics_of_term;
CREATE INDEX statistics_of_term ON statistics (generation, term) INCLUDE (body, title, section, symbols);
ALTER TABLE generations RENAME heading_average TO title_average;
ALTER TABLE generations ADD section_average real, ADD symbols_average real, ADD lexemes text NOT NULL DEFAULT '';

DROP FUNCTION IF EXISTS search_chunks;  -- of databases that had it before it was put in place by itself
DROP FUNCTION term_statistics;
ALTER TYPE found_chunk ADD ATTRIBUTE defines boolean, ADD ATTRIBUTE uses boolean;

-- In how many chunks each term stands, by field, and how many chunks there are: ' chunks' among the terms.
CREATE FUNCTION term_statistics(wanted_generation bigint, terms text[])
    RETURNS TABLE (term text, body bigint, title bigint, section bigint, symbols bigint) LANGUAGE sql STABLE
    AS $$
        SELECT s.term, sum(s.body)::bigint, sum(s.title)::bigint, sum(s.section)::bigint, sum(s.symbols)::bigint
        FROM statistics s
        WHERE s.generation = wanted_generation AND s.term = ANY (terms || ' chunks'::text) GROUP BY s.term
    $$;
