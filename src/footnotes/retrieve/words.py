"""`layer:domain symbol:validate_token path:src/auth/**` → filters.

Exactly the words below are read so, in a filter and inside a question; `title:x` or `tenant:b` stay plain text.
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
    """A question without its filter words, and what they say. One that has nothing else is asked by their values.

    A mark that ends a sentence is none of the value: `… in layer:domain?`.
    """
    found = [_key_and_value(match, in_text=True) for match in _WORD.finditer(text)]
    found = [(key, value) for key, value in found if value]
    if not found:
        return text, None
    rest = " ".join(_WORD.sub(" ", text).split())
    named = " ".join(_WILD.sub(" ", value) for _, value in found)
    return rest or " ".join(named.split()) or text, _all([word_filter(key, value) for key, value in found])


def leading_words(written: str) -> tuple[list[Filter], str]:
    """The filters of a text that begins with filter words, and the rest of it; none where it does not."""
    written = written.strip()
    if not _WORD.match(written):
        return [], written
    found = [word_filter(*_key_and_value(match, in_text=False)) for match in _WORD.finditer(written)]
    return found, " ".join(_WORD.sub(" ", written).split())


def word_filter(key: str, value: str) -> Filter:
    """One word as a filter. `*` stays inside a folder of a path, `**` does not; an import is also what is inside it."""
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
    """Globs know one `*`, which crosses folders. What has as many slashes as the pattern was matched without that.

    Beside a `**`, every `*` may cross folders.
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
