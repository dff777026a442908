"""Finds the modules and packages that a source text imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

IsCode = Callable[[int], bool]
"""Returns whether an offset is code, not part of a string or a comment."""

MOST_IMPORTS = 200
_LONGEST = 200
_M = re.MULTILINE

_PYTHON_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import\b", _M)
_PYTHON_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", _M)
_SCRIPT = re.compile(r"""(?:\bfrom|^[ \t]*import|\brequire\(|\bimport\()\s*["']([^"'\n]{1,200})["']""", _M)
_GO = re.compile(r"""^import\s+(?:\w+\s+|\.\s+)?(?:"([^"\n]+)"|\(([^)]{0,20000})\))""", _M)
_GO_QUOTED = re.compile(r'"([^"\n]+)"')
_DOTTED = re.compile(r"^[ \t]*import\s+(?:static\s+)?([\w.]+)", _M)

_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte"), (_SCRIPT,)),
    "rust": (re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:use|extern\s+crate)\s+:{0,2}([\w:]+)", _M),),
    **dict.fromkeys(("java", "kotlin", "scala"), (_DOTTED,)),
    **dict.fromkeys(("c", "cpp"), (re.compile(r"""^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]""", _M),)),
    "ruby": (re.compile(r"""^[ \t]*require(?:_relative)?[ (]\s*["']([^"'\n]+)["']""", _M),),
    "csharp": (re.compile(r"^[ \t]*(?:global\s+)?using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)\s*;", _M),),
    "php": (
        re.compile(r"^[ \t]*use\s+(?:function\s+|const\s+)?([\w\\]+)", _M),
        re.compile(r"""\b(?:require|include)(?:_once)?\s*\(?\s*["']([^"'\n]+)["']"""),
    ),
    "bash": (re.compile(r"^[ \t]*(?:source|\.)[ \t]+([^\s;&|]+)", _M),),
    "swift": (re.compile(r"^[ \t]*(?:@\w+\s+)?import\s+(?:class\s+|struct\s+|func\s+|enum\s+)?([\w.]+)", _M),),
    "dart": (re.compile(r"""^[ \t]*(?:import|export)\s+["']([^"'\n]+)["']""", _M),),
    "elixir": (re.compile(r"^[ \t]*(?:alias|import|use|require)\s+([A-Z][\w.]*)", _M),),
    "lua": (re.compile(r"""\brequire[ (]+["']([^"'\n]+)["']"""),),
    "protobuf": (re.compile(r"""^[ \t]*import\s+(?:public\s+)?["']([^"'\n]+)["']""", _M),),
}


def imports_of(text: str, language: str, is_code: IsCode) -> list[str]:
    """Return the imported modules in order, each followed by its package."""
    found: dict[str, None] = {}
    for name in _find_names(text, language, is_code):
        for each in (name, *_packages(name, language)):
            if each and len(each) <= _LONGEST:
                found.setdefault(each)
    return list(found)[:MOST_IMPORTS]


def _find_names(text: str, language: str, is_code: IsCode) -> Iterator[str]:
    if language == "python":
        yield from _python(text, is_code)
    elif language == "go":
        for match in _GO.finditer(text):
            if is_code(match.start()):
                yield from ([match[1]] if match[1] else _GO_QUOTED.findall(match[2]))
    for pattern in _PATTERNS.get(language, ()):
        for match in pattern.finditer(text):
            if is_code(_first(match)):
                yield match[1].rstrip(":.")


def _python(text: str, is_code: IsCode) -> Iterator[str]:
    matches = [*_PYTHON_FROM.finditer(text), *_PYTHON_IMPORT.finditer(text)]
    for match in sorted(matches, key=lambda each: each.start()):
        if not is_code(_first(match)):
            continue
        if match.re is _PYTHON_FROM:
            yield match[1]
        else:
            yield from (words[0] for part in match[1].split(",") if (words := part.split()))


def _first(match: re.Match[str]) -> int:
    """Return the first character of a match that is not white space."""
    return match.start() + len(match[0]) - len(match[0].lstrip())


def _packages(name: str, language: str) -> list[str]:
    """Return the packages of a module, as one would install or search for them."""
    if name.startswith("."):
        return []
    if language in ("javascript", "typescript", "tsx", "vue", "svelte"):
        parts = name.split("/")
        return ["/".join(parts[:2])] if name.startswith("@") else [parts[0]]
    if language == "go":
        parts = name.split("/")
        return ["/".join(parts[:3]), parts[-1]] if "." in parts[0] else [parts[0], parts[-1]]
    if language in ("c", "cpp", "protobuf", "dart", "ruby"):
        last = name.rpartition("/")[2]
        return [name.partition("/")[0] if "/" in name else "", last.partition(".")[0]]
    if language in ("java", "kotlin", "scala", "csharp"):
        return [name.rpartition(".")[0], name.partition(".")[0]]
    separator = {"rust": "::", "php": "\\"}.get(language, ".")
    return [name.partition(separator)[0]] if language != "bash" else []
