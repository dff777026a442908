"""Chroma serves the dense leg, from a server or a folder: see `database`."""

from footnotes.index.chroma.database import ChromaDatabase, ChromaIndex

__all__ = ["ChromaDatabase", "ChromaIndex"]
