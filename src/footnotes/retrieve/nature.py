"""Detects from a library's words whether it is source code or prose, because words weigh differently in each."""

from __future__ import annotations

from footnotes.store import SearchView

_IN_MOST = ("return",)
_IN_MANY = ("def", "self", "null", "int", "const", "func", "fn", "void", "static")
_MOST, _MANY = 0.15, 0.1
"""Shares of the chunks. Tax returns contain the first word often too, but hardly any of the others."""


class Nature:
    """Caches the result until the library has about twice or half as many chunks."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], bool] = {}

    def is_code(self, view: SearchView, chunks: int) -> bool:
        key = (view.fingerprint, chunks.bit_length())
        if key not in self._known:
            self._known[key] = _has(view, _IN_MOST, _MOST * chunks) and _has(view, _IN_MANY, _MANY * chunks)
        return self._known[key]


def _has(view: SearchView, terms: tuple[str, ...], least: float) -> bool:
    return any(view.document_frequency(term) >= max(1.0, least) for term in terms)
