"""Qdrant serves the dense leg, the lexical one, or both: see `database`."""

from footnotes.index.qdrant.database import QdrantDatabase, QdrantShelf

__all__ = ["QdrantDatabase", "QdrantShelf"]
