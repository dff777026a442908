"""The truth: documents, canonical text, chunks and vectors. A store answers for both legs."""

from footnotes.store.protocol import Store
from footnotes.store.views import SearchView

__all__ = ["SearchView", "Store"]
