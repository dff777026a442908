"""Lists the documents and sections behind footnotes, each once."""

from __future__ import annotations

from collections.abc import Callable

from footnotes.types import Answer, AnswerSource, Citation, Hit


def sources_of(answer: Answer, checksum_of: Callable[[str], str]) -> tuple[AnswerSource, ...]:
    """Return the sources of an answer's footnotes, in their order."""
    found = {}
    for citation in answer.citations:
        section = next((hit.heading for hit in answer.hits if _holds(hit, citation)), None)
        place = (citation.document_id, section, citation.page)
        if place not in found:
            checksum = checksum_of(citation.document_id)
            found[place] = AnswerSource(
                citation.document_id, citation.filename, section=section, page=citation.page, checksum=checksum
            )
    return tuple(found.values())


def _holds(hit: Hit, citation: Citation) -> bool:
    return hit.document_id == citation.document_id and hit.start <= citation.start < hit.end
