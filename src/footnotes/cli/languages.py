"""The languages of a library's documents, and whether its embedder supports them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from footnotes.embed.languages import foreign, is_language, known_languages

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.types import Added

MOST_LOOKED_AT = 1_000
REMEDY = "run `footnotes config set embedder multilingual` and `footnotes reindex` to use a model that does"


def language_state(library: Library) -> dict[str, object]:
    """Count documents by language, and list the languages that the embedder does not support."""
    languages = (document.metadata.get("language") for document in library.documents())
    counts = Counter(str(one) for one in languages if is_language(one))
    supported = known_languages(library.settings.embedder)
    return {
        "documents": dict(counts.most_common()),
        "embedder_knows": None if supported is None else list(supported),
        "unknown_to_embedder": foreign(counts, library.settings.embedder),
    }


def language_text(state: dict[str, Any]) -> str:
    counts = ", ".join(f"{language} {number:,}" for language, number in state["documents"].items())
    if lacking := state["unknown_to_embedder"]:
        return f"{counts}; the embedder does not support {', '.join(lacking)}: {REMEDY}"
    if state["embedder_knows"] is None:
        return f"{counts}; the embedder does not state which of them it supports"
    return counts


def note_languages(library: Library, stream: Iterator[Added]) -> Iterator[Added]:
    """Yield results; then print a note on new languages that the embedder does not support."""
    ids: list[str] = []
    for added in stream:
        if added.document_id and added.status in ("ready", "indexing", "replaced") and len(ids) < MOST_LOOKED_AT:
            ids.append(added.document_id)
        yield added
    languages = [library.document(document_id).metadata.get("language") for document_id in ids]
    counts = Counter(str(one) for one in languages if one)
    first = [
        language
        for language in foreign(counts, library.settings.embedder)
        if len(library.documents(where={"language": language}, limit=counts[language] + 1)) <= counts[language]
    ]
    if first:
        named = f"the language{'' if len(first) == 1 else 's'} {', '.join(map(repr, first))}"
        text = f"note: these are the first texts in {named}, which the embedder {library.settings.embedder} "
        text += "does not support: searches find them by words, but hardly by meaning"
        click.secho(f"{text}. {REMEDY[:1].upper()}{REMEDY[1:]}.", fg="yellow", err=True)
