"""The PostgreSQL store: many servers and workers, one truth."""
