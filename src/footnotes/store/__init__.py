"""Stores: documents, canonical text, chunks and vectors. A store serves both legs of a search."""

from footnotes.store.protocol import Store
from footnotes.store.views import SearchView

__all__ = ["SearchView", "Store"]
