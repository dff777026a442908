"""The PostgreSQL store: many servers and workers, one truth."""

from footnotes.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
