"""The PostgreSQL store: many servers and workers on one database."""

from footnotes.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
