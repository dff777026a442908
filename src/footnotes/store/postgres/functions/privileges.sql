-- version 2
-- Who may do what. Run by every `footnotes migrate`: roles are no part of a dump, and what refers to one that is missing is
-- not restored; whatever was lost is made again here, and what is there stays as it is.
--
-- footnotes_tenant    every statement of the program: the rows of one tenant, the one its connection was given
-- footnotes_service   a server: as footnotes_tenant, and the server's own tables
-- footnotes_reader    a server that only reads: the rows of one tenant, and the keys
DO $privileges$
DECLARE
    name text;
    tables CONSTANT text[] := ARRAY[
        'users', 'collections', 'generations', 'documents', 'derived', 'sources', 'facets', 'versions', 'texts', 'parts',
        'document_chunks', 'statistics', 'sketches', 'sketch_bands', 'origins', 'originals', 'jobs', 'index_changes',
        'shelves', 'remembered', 'conversations', 'turns', 'turn_documents'];
    own CONSTANT text := 'user_id = current_setting(''footnotes.user_id'', true)';
BEGIN
    FOREACH name IN ARRAY ARRAY['footnotes_tenant', 'footnotes_service', 'footnotes_reader'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
        IF NOT pg_has_role(current_user, name, 'SET') THEN
            EXECUTE format('GRANT %I TO %I', name, current_user);
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), name);
    END LOOP;
    IF NOT pg_has_role('footnotes_service', 'footnotes_tenant', 'SET') THEN
        GRANT footnotes_tenant TO footnotes_service;
    END IF;
    IF NOT pg_has_role('footnotes_service', 'footnotes_reader', 'SET') THEN
        GRANT footnotes_reader TO footnotes_service;
    END IF;
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO footnotes_tenant', current_schema());
    FOREACH name IN ARRAY tables LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO footnotes_tenant', name);
        EXECUTE format('GRANT SELECT ON %I TO footnotes_reader', name);
        IF NOT (SELECT relrowsecurity FROM pg_class WHERE oid = name::regclass) THEN
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        END IF;
        IF NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = name::regclass AND polname = 'one_tenant') THEN
            EXECUTE format('CREATE POLICY one_tenant ON %I TO footnotes_tenant USING (%s) WITH CHECK (%s)', name, own, own);
        END IF;
        IF NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = name::regclass AND polname = 'one_tenant_read') THEN
            EXECUTE format('CREATE POLICY one_tenant_read ON %I FOR SELECT TO footnotes_reader USING (%s)', name, own);
        END IF;
    END LOOP;
    -- Which tenants and generations there are, and by which version their words were made.
    FOREACH name IN ARRAY ARRAY['users', 'generations'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = name::regclass AND polname = 'all_tenants') THEN
            EXECUTE format('CREATE POLICY all_tenants ON %I FOR SELECT TO footnotes_service USING (true)', name);
        END IF;
    END LOOP;
    GRANT SELECT, INSERT ON models TO footnotes_tenant;
    GRANT SELECT ON models TO footnotes_reader;
    GRANT SELECT ON library TO footnotes_tenant, footnotes_reader;
    GRANT SELECT ON footnotes_schema, footnotes_functions TO footnotes_service, footnotes_reader;
    GRANT EXECUTE ON FUNCTION living, is_behind, is_served_outside, logged_now TO footnotes_tenant;
    REVOKE ALL ON FUNCTION search_chunks FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION search_chunks TO footnotes_tenant, footnotes_reader;
END $privileges$;
