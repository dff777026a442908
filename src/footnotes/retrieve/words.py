"""Parses filter words such as `layer:domain symbol:validate_token path:src/auth/**`.

Only the words below are filters, alone or inside a question; `title:x` or `tenant:b` stay plain text.
"""

from __future__ import annotations

import re

from footnotes.types import AllOf, AnyOf, Condition, Filter, Not

WORDS = ("layer", "symbol", "imports", "path", "type", "language", "entry_point", "section", "slug")

_WORD = re.compile(rf'(?<!\S)({"|".join(WORDS)}):(?:"([^"\n]+)"|([^\s"]\S*))(?!\S)')
_ENDS_A_SENTENCE = "?!.,;"
_WILD = re.compile(r"[*?]")
_SET = re.compile(r"[\[\]]")


def split_words(text: str) -> tuple[str, Filter | None]:
    """Return a question without its filter words, and their filter. If nothing else is left, search for their values.

    Punctuation at the end of a sentence is not part of the value: `… in layer:domain?`.
    """
    found = [_key_and_value(match, in_text=True) for match in _WORD.finditer(text)]
    found = [(key, value) for key, value in found if value]
    if not found:
        return text, None
    rest = " ".join(_WORD.sub(" ", text).split())
    values = " ".join(_WILD.sub(" ", value) for _, value in found)
    return rest or " ".join(values.split()) or text, _all([word_filter(key, value) for key, value in found])


def leading_words(text: str) -> tuple[list[Filter], str]:
    """Return the filters and the rest of a text that begins with filter words; no filters for other texts."""
    text = text.strip()
    if not _WORD.match(text):
        return [], text
    found = [word_filter(*_key_and_value(match, in_text=False)) for match in _WORD.finditer(text)]
    return found, " ".join(_WORD.sub(" ", text).split())


def word_filter(key: str, value: str) -> Filter:
    """Parse one word. In paths `*` stays inside a folder, `**` does not; an import also matches its submodules."""
    if key in ("symbol", "entry_point"):
        value = value.removesuffix("()") or value
    if _WILD.search(value):
        return _path_filter(value) if key == "path" else Condition(key, "glob", value)
    if key == "path" and value.endswith("/"):
        return Condition(key, "glob", f"{value}*")
    exact = Condition(key, "eq", value)
    if key != "imports" or _SET.search(value):
        return exact
    return AnyOf((exact, *(Condition(key, "glob", f"{value}{joint}*") for joint in (".", "/", "::"))))


def _path_filter(pattern: str) -> Filter:
    """Build a glob whose `*` stays in a folder: a plain one crosses folders, so exclude paths with more slashes.

    If the pattern has a `**`, every `*` may cross folders.
    """
    if "**" not in pattern:
        deeper = "*" + "/*" * (pattern.count("/") + 1)
        return AllOf((Condition("path", "glob", pattern), Not(Condition("path", "glob", deeper))))
    forms = {pattern.replace("**/", "*/"), pattern.replace("**/", "")}
    globs = [Condition("path", "glob", re.sub(r"\*+", "*", form)) for form in sorted(forms)]
    return globs[0] if len(globs) == 1 else AnyOf(tuple(globs))


def _key_and_value(match: re.Match[str], *, in_text: bool) -> tuple[str, str]:
    key, quoted, bare = match.groups()
    if quoted is not None:
        return key, quoted
    return key, bare.rstrip(_ENDS_A_SENTENCE) if in_text else bare


def _all(filters: list[Filter]) -> Filter:
    return filters[0] if len(filters) == 1 else AllOf(tuple(filters))
