-- Every statement of the program runs as a role that owns nothing, and sees the rows of one tenant: the one that the
-- connection was given. Forgetting to say `WHERE user_id = …` somewhere then finds nothing, and leaks nothing.
-- Planners may not look into indexes with most operators before such a rule was tested, which would make searches
-- slow; `search.sql` is therefore run by functions of the owner that test the tenant themselves.

DO $$
DECLARE
    name text;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'footnotes_tenant') THEN
        CREATE ROLE footnotes_tenant NOLOGIN;
    END IF;
    EXECUTE format('GRANT footnotes_tenant TO %I', current_user);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO footnotes_tenant', current_schema());
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO footnotes_tenant', current_schema());
    FOREACH name IN ARRAY ARRAY['users', 'collections', 'generations', 'documents', 'derived', 'sources', 'facets',
                                'versions', 'texts', 'parts', 'document_chunks', 'statistics', 'sketches',
                                'sketch_bands', 'origins', 'originals', 'jobs'] LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO footnotes_tenant', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY one_tenant ON %I TO footnotes_tenant '
                       'USING (user_id = current_setting(''footnotes.user_id'', true)) '
                       'WITH CHECK (user_id = current_setting(''footnotes.user_id'', true))', name);
    END LOOP;
    GRANT SELECT, INSERT ON models TO footnotes_tenant;
END $$;
