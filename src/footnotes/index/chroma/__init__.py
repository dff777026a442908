"""Chroma serves the dense leg, from a server or a folder: see `database`."""

from footnotes.index.chroma.database import ChromaDatabase, ChromaShelf

__all__ = ["ChromaDatabase", "ChromaShelf"]
