"""The languages of embedding models, by model name, so that users learn when a model does not know theirs."""

from __future__ import annotations

from collections.abc import Iterable

from footnotes.text.languages import STEMMERS

ALL = "*"
_KNOWN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("multilingual", (ALL,)),
    ("bge-m3", (ALL,)),
    ("arctic-embed-l-v2", (ALL,)),
    ("arctic-embed-m-v2", (ALL,)),
    ("embeddinggemma", (ALL,)),
    ("qwen3-embedding", (ALL,)),
    ("jina-embeddings-v3", (ALL,)),
    ("labse", (ALL,)),
    ("text-embedding-3", (ALL,)),
    ("gemini-embedding", (ALL,)),
    ("cohere:embed-v4", (ALL,)),
    ("hashing", (ALL,)),
    ("local:minilm-l6", ("en",)),
    ("minilm-l6", ("en",)),
    ("local:bge-small", ("en",)),
    ("pair:", ("en",)),
    ("-base-de", ("de", "en")),
    ("-base-es", ("es", "en")),
    ("-base-zh", ("zh", "en")),
    ("-zh-v1.5", ("zh",)),
    ("-en", ("en",)),
    ("arctic-embed", ("en",)),
    ("nomic-embed-text", ("en",)),
    ("mxbai-embed-large", ("en",)),
    ("gte-small", ("en",)),
    ("gte-base", ("en",)),
    ("gte-large", ("en",)),
    ("e5-", ("en",)),
)
"""Parts of names; the first match wins. If none matches, the languages are unknown."""


def known_languages(embedder: str) -> tuple[str, ...] | None:
    """Return the ISO codes of a model's languages, `("*",)` for very many; None if unknown."""
    name = embedder.lower()
    return next((languages for part, languages in _KNOWN if part in name), None)


def foreign(languages: Iterable[str], embedder: str) -> list[str]:
    """Return the languages that a model is known not to support. Programming languages do not count."""
    supported = known_languages(embedder)
    if supported is None or ALL in supported:
        return []
    return sorted({one for one in languages if is_language(one) and one not in supported})


def is_language(code: object) -> bool:
    return isinstance(code, str) and (code in STEMMERS or (len(code) == 2 and code.isalpha()))
