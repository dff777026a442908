"""The truth: documents, canonical text, chunks and vectors. A store answers for both legs."""

from footnotes.store.protocol import Origins, Store
from footnotes.store.views import SearchView

__all__ = ["Origins", "SearchView", "Store"]
