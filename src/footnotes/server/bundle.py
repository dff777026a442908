"""Bundle the modules of the page into one file: a browser sends one request instead of fifty.

Each module becomes a function that is awaited once and returns its exports. The server builds the file when it starts,
from unmodified modules: there is no build step.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import\s*(?:\{([^}]*)\}\s*from\s*)?"([^"]+)";[ \t]*\n', re.MULTILINE)
_LAZY_IMPORT = re.compile(r'\bawait import\("(\./[^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const)\b)", re.MULTILINE)
_NAME = re.compile(r"^export (?:async )?(?:function\*?|class|const) ([A-Za-z_$][\w$]*)", re.MULTILINE)
_LIST = re.compile(r"\bexport\s*\{([^}]*)\};?\s*$")


def bundle_modules(first: str, modules: Mapping[str, str]) -> str:
    """Bundle `first` and its imports as one module. Raises `ValueError` if modules import each other in a cycle.

    Lazy imports (`await import(…)`) come after everything else: they exist by the time they are needed.
    """
    made: dict[str, str] = {}
    later = [first]
    for name in later:
        _add(name, modules, made, ())
        later += [one for known in made for one in _lazy_imports(known, modules[known]) if one not in later]
    return "const modules = Object.create(null);\n" + "".join(made.values())


def _add(name: str, modules: Mapping[str, str], made: dict[str, str], above: tuple[str, ...]) -> None:
    if name in made:
        return
    if name in above:
        raise ValueError(f"the modules {' -> '.join((*above, name))} import each other")
    for found in _IMPORT.finditer(modules[name]):
        needed = _resolve(name, found.group(2))
        wanted = {_alias(one)[0] for one in (found.group(1) or "").split(",") if one.strip()}
        if missing := wanted - _exports(modules[needed]).keys():
            raise ValueError(f"{needed} does not export {', '.join(sorted(missing))}, which {name} imports")
        _add(needed, modules, made, (*above, name))
    made[name] = _wrap_module(name, modules[name])


def _lazy_imports(name: str, text: str) -> list[str]:
    return [_resolve(name, one) for one in _LAZY_IMPORT.findall(text)]


def _exports(text: str) -> dict[str, str]:
    """The exports of a module: exported name → own name."""
    listed = _LIST.search(text)
    pairs = [_alias(pair) for pair in listed.group(1).split(",")] if listed else []
    return {one: one for one in _NAME.findall(text)} | {known: own for own, known in pairs}


def _wrap_module(name: str, text: str) -> str:
    exports = _exports(text)
    body = _IMPORT.sub(lambda found: _import_line(name, found), _LIST.sub("", text))
    body = _LAZY_IMPORT.sub(lambda found: f'modules["{_resolve(name, found.group(1))}"]', body)
    body = _EXPORT.sub("", body)
    returned = ", ".join(f"{known}: {own}" for known, own in exports.items())
    return f'modules["{name}"] = await (async () => {{\n{body}\nreturn {{ {returned} }};\n}})();\n'


def _import_line(name: str, found: re.Match[str]) -> str:
    names = ", ".join(": ".join(dict.fromkeys(_alias(one))) for one in (found.group(1) or "").split(",") if one.strip())
    return f'const {{ {names} }} = modules["{_resolve(name, found.group(2))}"];\n'


def _alias(pair: str) -> tuple[str, str]:
    """`a as b` → (a, b); `a` → (a, a)."""
    one, _, other = pair.strip().partition(" as ")
    return one, other or one


def _resolve(name: str, wanted: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), wanted))
