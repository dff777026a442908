-- Queries of the schema's owner, and of a writer's connection.

-- name: hold_generations(user_id)
SELECT pg_try_advisory_lock(4610, hashtext($1))

-- name: release_generations(user_id)
SELECT pg_advisory_unlock(4610, hashtext($1))

-- name: next_holder()
SELECT nextval('holders')

-- name: be_alive(holder)
-- A writer is alive as long as the connection that holds this lock.
SELECT pg_advisory_lock(4607, $1)

-- name: living()
SELECT living() AS holder

-- name: hold_index(generation)
SELECT pg_try_advisory_lock(4608, ($1::bigint % 2147483648)::integer)

-- name: release_index(generation)
SELECT pg_advisory_unlock(4608, ($1::bigint % 2147483648)::integer)

-- name: index_methods()
SELECT amname AS method FROM pg_am WHERE amtype = 'i'

-- name: may_build_indexes()
-- Only the owner may build indexes. Servers with fewer privileges leave it to others.
SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = 'document_chunks'::regclass

-- name: is_index_valid(name)
-- False for an incomplete index, NULL for none.
SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)

-- name: set_index_failure(generation, failure)
UPDATE generations SET index_failure = $2 WHERE pk = $1

-- name: lock_schema()
-- Several servers may start at once. The lock is released with the connection.
SELECT pg_advisory_lock(46070001)

-- name: make_schema_table()
CREATE TABLE IF NOT EXISTS footnotes_schema (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())

-- name: has_schema()
SELECT to_regclass('footnotes_schema') IS NOT NULL

-- name: schema_version()
SELECT COALESCE(max(version), 0) FROM footnotes_schema

-- name: known_functions()
SELECT name, version, digest FROM footnotes_functions

-- name: lost_tables(tables)
SELECT name FROM unnest($1::text[]) name WHERE to_regclass(name) IS NULL ORDER BY name

-- name: lost(tables, roles)
-- Missing objects of this schema version: a restored dump, for example, has no roles.
SELECT 'role ' || name AS what FROM unnest($2::text[]) name
    WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = name)
UNION ALL
SELECT 'policy ' || policy || ' on ' || name
    FROM unnest($1::text[]) name, unnest(ARRAY['one_tenant', 'one_tenant_read']) policy
    WHERE NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = to_regclass(name) AND polname = policy)
UNION ALL
SELECT 'row security of ' || name FROM unnest($1::text[]) name
    WHERE NOT (SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass(name))
UNION ALL
SELECT 'privileges of footnotes_tenant on ' || name FROM unnest($1::text[]) name
    WHERE EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'footnotes_tenant')
    AND NOT has_table_privilege('footnotes_tenant', to_regclass(name), 'SELECT, INSERT, UPDATE, DELETE')
UNION ALL
SELECT 'function search_chunks' WHERE to_regproc('search_chunks') IS NULL
