-- Who may use the server's own tables; see `store/postgres/functions/privileges.sql` for the roles.
GRANT USAGE ON SCHEMA footnotes_server TO footnotes_service, footnotes_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA footnotes_server TO footnotes_service;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA footnotes_server TO footnotes_service;
GRANT SELECT ON footnotes_server.keys, footnotes_server.answers, footnotes_server.spending, footnotes_server.jobs,
    footnotes_server.applied, footnotes_server.workers, footnotes_server.counters, footnotes_server.connections,
    footnotes_server.followed TO footnotes_reader;
