"""Qdrant serves the dense leg, the lexical leg, or both: see `database`."""

from footnotes.index.qdrant.database import QdrantDatabase, QdrantIndex

__all__ = ["QdrantDatabase", "QdrantIndex"]
