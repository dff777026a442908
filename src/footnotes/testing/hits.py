"""Hits over texts in a test, for tests of rerankers and of the answer stage."""

from __future__ import annotations

from footnotes.types import Hit, Metadata, Scores


def make_hit(
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    document: str = "handbook.md",
    score: float = 1.0,
    headings: tuple[str, ...] = (),
    pages: tuple[int, int] | None = None,
    metadata: Metadata | None = None,
    title: str = "",
) -> Hit:
    """A hit over `text[start:end]` of a document whose canonical text is `text`."""
    end = len(text) if end is None else end
    return Hit(
        chunk_id=f"{document}:{start}",
        document_id=document,
        filename=document,
        title=title,
        collection="default",
        text=text[start:end],
        start=start,
        end=end,
        pages=pages,
        headings=headings,
        index=0,
        metadata=metadata or {},
        score=score,
        scores=Scores(None, None, score),
    )
