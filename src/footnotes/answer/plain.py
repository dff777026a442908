"""Text without its markup: what a reader of a page sees of Markdown and HTML."""

from __future__ import annotations

import re

_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*(?:\s+\"[^\"]*\")?\)(?:\{[^}\n]*\})?")
_REFERENCE = re.compile(r"\[([^\]\n]+)\]\[[^\]\n]*\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>|<!--.*?-->|<[a-z]+ \w+=\"[^<>]*\Z", re.DOTALL)
_ATTRIBUTES = re.compile(r"\s*\{\s*[.#:][^{}\n]{0,120}\}")
_EMPHASIS = re.compile(
    r"(?<![\w*\\])(\*\*\*|\*\*|\*)(?=\S)(.+?)(?<=\S)\1(?![\w*])|(?<![\w_])(__|_)(?=\S)([^_\n]+?)(?<=\S)\3(?![\w_])"
)
_ADMONITION = re.compile(r"^\s*(?:/{3,}|:{3,}|!{3})\s*(?:\w+\s*)?(?:\|\s*)?", re.MULTILINE)
_LEAD = re.compile(r"^\s*(?:#{1,6}\s+|>+\s?|[-*+]\s+)+", re.MULTILINE)
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f]+\\s?")


def plain_text(text: str) -> str:
    """The text without links' addresses, tags, marks of emphasis, of headings and of lists; code keeps its marks."""
    text = _TAG.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _REFERENCE.sub(r"\1", text)
    text = _ATTRIBUTES.sub("", _ADMONITION.sub("", text))
    text = _LEAD.sub("", text)
    for _ in range(2):
        text = _EMPHASIS.sub(lambda match: match[2] or match[4] or "", text)
    return " ".join(_EMOJI.sub("", text).split())
