"""Finds entry points of programs: HTTP routes of the common frameworks, commands, and `main`.

`GET /users/{id}`, `WS /chat`, `ANY /admin/` if it accepts any method; `cli:add`; `main`. Regular expressions find
candidates; the syntax tree tells whether they are code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from footnotes.analyse.imports import IsCode

# Routes declared by annotations on classes and methods: Spring, JAX-RS, NestJS, ASP.NET, Symfony.


_ANNOTATION = re.compile(
    r"(?:@|#\[|\[)(?P<name>(?:Get|Post|Put|Patch|Delete|Request)Mapping|Http(?:Get|Post|Put|Patch|Delete)|Controller|"
    r"RestController|Get|Post|Put|Patch|Delete|Head|Options|All|Route|Path|GET|POST|PUT|PATCH|DELETE)\b"
    r"(?P<call>\((?P<inside>[^()]{0,1000})\))?"
)
_PATH = re.compile(r"""(?:^|[,(]|\b(?:path|value|name)\s*[=:])\s*[{\[]?\s*["'`]([^"'`\n]*)["'`]""")
_METHOD = re.compile(r"""RequestMethod\.(\w+)|methods\s*:\s*\[([^\]]*)\]""")
_WORD = re.compile(r"[A-Z]{3,7}")
_CLASS = re.compile(r"[^{;(]{0,300}?\b(?:class|interface|object)\b")
_SKIPPED = re.compile(r"\s{0,200}(?:(?:@|#?\[)[\w.\\]{1,100}(?:\([^()]{0,1000}\))?\]?\s{0,200}){0,10}\]?\s{0,200}")
_ALONE = re.compile(r"Mapping\Z|\AHttp|\A[A-Z]+\Z")
"""Annotations that declare a route even without brackets."""
_PREFIX_ONLY = frozenset(["Controller", "RestController"])
_STANDS_FOR = {"Request": "ANY", "All": "ANY", "Route": "ANY", "Path": "ANY"}


def find_annotated_routes(text: str) -> Iterator[tuple[int, str]]:
    """Yield each route with the path of its class. In JAX-RS path and method are separate annotations."""
    prefix, paths = "", _jaxrs_paths(text)
    for match in _ANNOTATION.finditer(text):
        found = _PATH.search(match["inside"] or "")
        path = found[1] if found else ""
        after = _SKIPPED.match(text, match.end())
        if _CLASS.match(text, after.end() if after else match.end()):
            prefix = path if path or match["name"] in _PREFIX_ONLY else prefix
        elif match["name"] == "Path" and match.start() in paths:
            continue
        elif match["call"] or _ALONE.search(match["name"]):
            for method in _methods(match) if match["name"] not in _PREFIX_ONLY else ():
                yield match.start(), _join_paths(method, prefix, paths.get(match.start(), path))


def _jaxrs_paths(text: str) -> dict[int, str]:
    """Map offsets of JAX-RS methods (`@GET @Path("/x")`) to paths, and offsets of these `@Path`s to ""."""
    found: dict[int, str] = {}
    between = r"(?:@\w{1,100}(?:\([^()]{0,1000}\))?\s{0,200}){0,10}?"
    verbs, path = "GET|POST|PUT|PATCH|DELETE", r"""@(Path)\(\s{0,20}["']([^"'\n]{0,300})["']\s{0,20}\)"""
    for match in re.finditer(rf"@({verbs})\b\s{{0,200}}" + between + path, text):
        found[match.start()], found[match.start(2) - 1] = match[3], ""
    for match in re.finditer(path + r"\s{0,200}" + between + rf"@({verbs})\b", text):
        if match.start() not in found:
            found[match.start(3) - 1], found[match.start()] = match[2], ""
    return found


def _methods(match: re.Match[str]) -> list[str]:
    method = _METHOD.search(match["inside"] or "")
    if method:
        return _WORD.findall(method[1] or method[2])
    name = match["name"].removesuffix("Mapping").removeprefix("Http")
    return [_STANDS_FOR.get(name, name.upper())]


def _join_paths(method: str, prefix: str, path: str) -> str:
    parts = [part.strip("/") for part in (prefix, path) if part.strip("/")]
    return f"{method} /{'/'.join(parts)}"


MOST_ENTRY_POINTS = 500
_M = re.MULTILINE
_METHODS = "get|post|put|patch|delete|head|options"
_ANY_METHOD = re.compile(rf"""["']({_METHODS})["']""", re.IGNORECASE)
_SCRIPTS = ("javascript", "typescript", "tsx", "vue", "svelte")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """An entry point of a program, and the offset of its declaration."""

    name: str
    start: int


Found = Iterator[tuple[int, str]]
Finder = Callable[[str], Found]


def entry_points_of(text: str, language: str, is_code: IsCode) -> list[EntryPoint]:
    """Return the entry points of a source text, in order of declaration."""
    found = {
        (at, name): EntryPoint(name, at)
        for finder in _FINDERS.get(language, ())
        for at, name in finder(text)
        if len(name) <= 200 and is_code(at)
    }
    return sorted(found.values(), key=lambda each: (each.start, each.name))[:MOST_ENTRY_POINTS]


def _route(method: str, *parts: str) -> str:
    """Join a method with the path prefix and the route's own path."""
    path = "/" + "/".join(part.strip("/") for part in parts if part.strip("/"))
    return f"{method.upper()} {path}{'/' if parts[-1].endswith('/') and path != '/' else ''}"


# ── Python

_DECORATED = re.compile(
    rf"@(?P<on>\w{{1,100}}(?:\.\w{{1,100}}){{0,8}})\.(?P<verb>{_METHODS}|websocket|api_route|route)\(\s*"
    r"""(?:(?:path|rule)\s*=\s*)?[rf]?["'](?P<path>[^"'\n]*)["'](?P<rest>[^@]{0,400}?\)\s*\n)?"""
)
_ROUTER = re.compile(
    r"\b(\w{1,100})\s{0,20}(?::[^=\n]{1,200})?=\s{0,20}(?:\w{1,100}\.){0,5}(?:APIRouter|Blueprint|APIBlueprint)\(([^)]{0,2000})\)"
)
_PREFIX = re.compile(r"""(?:url_)?prefix\s*=\s*["']([^"'\n]+)["']""")
_ROUTE_CALL = re.compile(
    r"""(?:\b(?P<kind>Route|WebSocketRoute|Mount)|\.(?P<add>add_api_route|add_url_rule|add_route|add_websocket_route))"""
    r"""\(\s*["'](?P<path>/[^"'\n]*)["'](?P<rest>[^\n]{0,400}(?:\n[^\n]{0,200}?methods[^\n]{0,200})?)"""
)
_AIOHTTP = re.compile(rf"""\.(?:add_|(?<=web\.))({_METHODS})\(\s*["'](/[^"'\n]*)["']""")
_DJANGO = re.compile(r"""\b(?:re_path|path|url)\(\s*r?["']\^?([^"'\n]*?)\$?["']\s*,""")
_COMMAND = re.compile(
    r"""@(?:\w{1,100}\.){0,8}(?:command|group)\b(?:\(\s*(?:name\s*=\s*)?(?:["'](?P<name>[\w:-]+)["'])?)?"""
)
_NEXT_FUNCTION = re.compile(r"\bdef\s+(\w+)")
_ADD_PARSER = re.compile(r"""\.add_parser\(\s*["']([\w:-]+)["']""")
_PYTHON_MAIN = re.compile(r"""^if\s+__name__\s*==\s*["']__main__["']""", _M)
_COMMAND_END = re.compile(r"_(?:command|cmd|group|grp)\Z")


def _python_routes(text: str) -> Found:
    has_routers = "APIRouter" in text or "Blueprint" in text
    routers = _ROUTER.finditer(text) if has_routers else iter(())
    prefixes = {match[1]: option[1] for match in routers if (option := _PREFIX.search(match[2]))}
    for match in _DECORATED.finditer(text):
        prefix, path, verb = prefixes.get(match["on"], ""), match["path"], match["verb"]
        if not path.startswith("/") and (path or not prefix):
            continue  # `@mock.patch("a.b")` is not a route
        if verb == "websocket":
            yield match.start(), _route("WS", prefix, path)
        elif verb in ("route", "api_route"):
            for method in _ANY_METHOD.findall(match["rest"] or "") or ["GET"]:
                yield match.start(), _route(method, prefix, path)
        else:
            yield match.start(), _route(verb, prefix, path)
    for match in _AIOHTTP.finditer(text):
        yield match.start(), _route(match[1], match[2])
    yield from _called_routes(text)


def _called_routes(text: str) -> Found:
    may_be = any(word in text for word in ("Route(", "Mount(", ".add_"))
    for match in _ROUTE_CALL.finditer(text) if may_be else ():
        if "WebSocket" in (match["kind"] or "") or "websocket" in (match["add"] or ""):
            yield match.start(), _route("WS", match["path"])
        elif match["kind"] == "Mount":
            yield match.start(), _route("ANY", match["path"])
        else:
            for method in _ANY_METHOD.findall(match["rest"].partition(")")[0]) or ["GET"]:
                yield match.start(), _route(method, match["path"])
    if "urlpatterns" in text:
        for match in _DJANGO.finditer(text):
            yield match.start(), _route("ANY", match[1])


def _python_commands(text: str) -> Found:
    for match in _COMMAND.finditer(text):
        name = match["name"]
        if name is None and (function := _NEXT_FUNCTION.search(text, match.end(), match.end() + 4_000)):
            name = _COMMAND_END.sub("", function[1]).replace("_", "-")
        if name:
            yield match.start(), f"cli:{name}"
    yield from _each(_ADD_PARSER, "cli:")(text)
    yield from ((match.start(), "main") for match in _PYTHON_MAIN.finditer(text))


# ── other languages

_EXPRESS = re.compile(
    rf"""(?<![\w$.])(?P<on>[\w$]+)\.(?P<verb>{_METHODS}|all)\(\s*["'`](?P<path>/[^"'`\n]*)["'`]\s*,""", re.ASCII
)
_CLIENTS = frozenset(["axios", "http", "https", "client", "request", "agent", "fetch", "$http", "cy", "nock"])
_GO_ROUTE = re.compile(
    r"""\b(?P<on>\w+)\.(?P<verb>GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|Any|Get|Post|Put|Patch|Delete|Head|Options)"""
    r"""\(\s*"(?P<path>/[^"\n]*)"\s*,"""
)
_GO_GROUP = re.compile(r"""\b(\w{1,100})\s{0,20}:?=\s{0,20}(\w{1,100})\.(?:Group|Route|PathPrefix)\(\s*"(/[^"\n]*)\"""")
_GO_HANDLE = re.compile(r"""\bHandle(?:Func)?\(\s*"(?:(GET|POST|PUT|PATCH|DELETE|HEAD) )?([^"\s]*/[^"\n]*)"\s*,""")
_AXUM = re.compile(r"""\.route\(\s*"(/[^"\n]*)"\s*,(?P<rest>(?:(?!\.route\()[^;#]){0,200})""")
_AXUM_METHOD = re.compile(rf"\b({_METHODS}|any)\(")
_ATTRIBUTE = re.compile(rf"""#\[(?:\w+::)*({_METHODS})\(\s*"([^"\n]+)\"""")
_SINATRA = re.compile(
    rf"""^[ \t]*({_METHODS})[ \t]+["'](?:(/[^"'\n]*)["']|([^"'\n]+)["'](?=[ \t]*,[ \t]*to:|[ \t]*=>))""", _M
)
_LARAVEL = re.compile(rf"""(?:Route::|\$(?:app|router|group)->)({_METHODS}|any)\(\s*["']([^"'\n]*)["']""")
_MINIMAL = re.compile(r"""\.Map(Get|Post|Put|Patch|Delete)\(\s*"([^"\n]*)\"""")
_COMMANDER = re.compile(r"""\.command\(\s*["'`]([\w:-]+)""")
_COBRA = re.compile(r"""\bUse:\s*"([\w:-]+)""")


def _script_routes(text: str) -> Found:
    for match in _EXPRESS.finditer(text):
        if match["on"] not in _CLIENTS:
            verb = "ANY" if match["verb"] == "all" else match["verb"]
            yield match.start(), _route(verb, match["path"])


def _go_routes(text: str) -> Found:
    prefixes: dict[str, str] = {}
    for match in _GO_GROUP.finditer(text):
        prefixes[match[1]] = prefixes.get(match[2], "") + match[3]
    for match in _GO_ROUTE.finditer(text):
        yield match.start(), _route(match["verb"], prefixes.get(match["on"], ""), match["path"])
    for match in _GO_HANDLE.finditer(text):
        yield match.start(), _route(match[1] or "ANY", match[2])


def _rust_routes(text: str) -> Found:
    for match in _AXUM.finditer(text):
        for method in dict.fromkeys(_AXUM_METHOD.findall(match["rest"])) or ["ANY"]:
            yield match.start(), _route(method, match[1])
    for match in _ATTRIBUTE.finditer(text):
        yield match.start(), _route(match[1], match[2])


def _verb_and_path(pattern: re.Pattern[str]) -> Finder:
    def finder(text: str) -> Found:
        for match in pattern.finditer(text):
            first = match.start() + len(match[0]) - len(match[0].lstrip())
            yield first, _route(match[1], next((group for group in match.groups()[1:] if group), ""))

    return finder


def _each(pattern: re.Pattern[str], prefix: str) -> Finder:
    return lambda text: ((match.start(), prefix + match[1]) for match in pattern.finditer(text))


def _main(pattern: str) -> Finder:
    compiled = re.compile(pattern, _M)
    return lambda text: ((match.start(), "main") for match in compiled.finditer(text))


_JAVA_MAIN = _main(r"\bstatic\s+void\s+main\s*\(")
_FINDERS: dict[str, tuple[Finder, ...]] = {
    "python": (_python_routes, _python_commands),
    **dict.fromkeys(
        _SCRIPTS,
        (_script_routes, find_annotated_routes, _each(_COMMANDER, "cli:"), _main(r"\brequire\.main\s*===?\s*module")),
    ),
    "go": (_go_routes, _each(_COBRA, "cli:"), _main(r"^func\s+main\s*\(\s*\)")),
    "rust": (_rust_routes, _main(r"^(?:pub\s+)?(?:async\s+)?fn\s+main\s*\(")),
    "java": (find_annotated_routes, _JAVA_MAIN),
    "kotlin": (find_annotated_routes, _main(r"^(?:suspend\s+)?fun\s+main\s*\(")),
    "scala": (find_annotated_routes, _main(r"\bdef\s+main\s*\(|\bextends\s+App\b")),
    "csharp": (find_annotated_routes, _verb_and_path(_MINIMAL), _main(r"\bstatic\s+(?:async\s+)?[\w<>]+\s+Main\s*\(")),
    "ruby": (_verb_and_path(_SINATRA),),
    "php": (_verb_and_path(_LARAVEL), find_annotated_routes),
    **dict.fromkeys(("c", "cpp"), (_main(r"^(?:int|void)\s+main\s*\("),)),
    "dart": (_main(r"^(?:void\s+)?main\s*\("),),
    "swift": (_main(r"^@main\b"),),
}
