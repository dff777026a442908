"""Builds the messages for a model from context and question, by a template that a user can replace.

A template is a text file with the parts `--- system ---` and `--- user ---`. The names in double braces below are
replaced once: braces inside documents, questions or prompts stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

from footnotes.answer.context import Context, heading_of
from footnotes.answer.extractive import ABSTENTION
from footnotes.answer.models import Message
from footnotes.errors import ConfigError
from footnotes.types import Turn

NAMES = (
    "context", "question", "collection_prompt", "abstention", "opening", "closing", "contexts", "query", "metadata",
    "score",
)  # fmt: skip
REQUIRED = (("context", "contexts"), ("question", "query"))
"""A template needs one name of each pair; the second is the one in templates of other tools."""

_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PART = re.compile(r"^--- (system|user) ---[ \t]*\n", re.MULTILINE)
# Tokens that separate turns must not come from a document: <|im_end|>, [INST], </s>, <start_of_turn>.
_CONTROL = re.compile(r"<\|[^|\n]{0,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>", re.IGNORECASE)
# Invisible characters can carry instructions: tags, zero width, directions.
_HIDDEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")


def load_template(path: str = "") -> str:
    """Load the template of the settings, or the one that comes with Footnotes."""
    if not path:
        return load_packaged_template("answer.txt")
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prompt template {path} cannot be read: {error}") from error
    _check(text, path)
    return text


def answer_messages(
    template: str,
    question: str,
    context: Context,
    *,
    collection_prompt: str = "",
    before: Sequence[Turn] = (),
) -> list[Message]:
    """Build the messages that ask a model to answer from the context; `before` is the last exchange."""
    boundary = _boundary(context)
    values = {
        "context": context_text(context, boundary),
        "contexts": context_text(context, boundary),
        "question": escape(question, boundary),
        "query": escape(question, boundary),
        "metadata": escape(_metadata_lines(context), boundary),
        "score": "\n".join(f"[{number}] {each.score:.4f}" for number, each in enumerate(context.passages, 1)),
        "collection_prompt": collection_prompt.strip(),
        "abstention": ABSTENTION,
        "opening": f"<passages {boundary}>",
        "closing": f"</passages {boundary}>",
    }
    system, user = (fill(part, values).strip() for part in split_template(template))
    said = [Message(turn.role, escape(turn.text, boundary)) for turn in before]
    return [Message("system", system), *said, Message("user", user)]


def context_text(context: Context, boundary: str) -> str:
    """Format the passages as data: each under its heading, between lines that nothing inside them can imitate."""
    shown = [
        f"{escape(heading_of(number, passage), boundary)}\n{escape(passage.text, boundary)}"
        for number, passage in enumerate(context.passages, 1)
    ]
    return "\n\n".join((f"<passages {boundary}>", *shown, f"</passages {boundary}>"))


def _metadata_lines(context: Context) -> str:
    """Format the metadata of each passage's document, as a line of JSON each."""
    return "\n".join(
        f"[{number}] {json.dumps(dict(passage.hits[0].metadata), ensure_ascii=False, default=str)}"
        for number, passage in enumerate(context.passages, 1)
    )


def escape(text: str, boundary: str = "") -> str:
    """Escape text so that it cannot end the passages, begin a turn or hide anything."""
    text = _HIDDEN.sub("", text)
    text = _CONTROL.sub(lambda match: match[0][0] + " " + match[0][1:], text)
    return text.replace(boundary, "") if boundary else text


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace the names in a template in one pass, so that inserted text is not replaced again."""
    return _NAME.sub(lambda match: values.get(match[1], match[0]), template)


def split_template(template: str) -> tuple[str, str]:
    """Split a template into its system and user parts."""
    pieces = _PART.split(template)
    parts = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return parts.get("system", ""), parts.get("user", "")


def _boundary(context: Context) -> str:
    """Derive a mark from the passages themselves: no passage can contain the mark that its own text produces."""
    digest = hashlib.sha256()
    for passage in context.passages:
        digest.update(passage.filename.encode("utf-8", "replace") + b"\0" + passage.text.encode("utf-8", "replace"))
    return digest.hexdigest()[:12]


def _check(template: str, path: str) -> None:
    """Raise if a template lacks its parts or names: a model would get nothing to answer from."""
    system, user = split_template(template)
    if not user:
        raise ConfigError(f"the prompt template {path} has no part that begins with the line '--- user ---'")
    names = set(_NAME.findall(system + user))
    for unknown in sorted(names - set(NAMES)):
        known = ", ".join(NAMES)
        raise ConfigError(f"the prompt template {path} uses {{{{{unknown}}}}}, which is no name; known are {known}")
    for pair in REQUIRED:
        if names.isdisjoint(pair):
            raise ConfigError(f"the prompt template {path} does not use {{{{{pair[0]}}}}}")


@lru_cache(maxsize=8)
def load_packaged_template(name: str) -> str:
    """Read a text that comes with Footnotes."""
    return (resources.files("footnotes.answer") / "templates" / name).read_text(encoding="utf-8")
