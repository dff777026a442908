"""Routes declared by annotations on classes and methods: Spring, JAX-RS, NestJS, ASP.NET, Symfony."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
"""Annotations that declare a route also without brackets."""
_PREFIX_ONLY = frozenset(["Controller", "RestController"])
_STANDS_FOR = {"Request": "ANY", "All": "ANY", "Route": "ANY", "Path": "ANY"}


def find_annotated_routes(text: str) -> Iterator[tuple[int, str]]:
    """Yield each route with the path of its class. In JAX-RS path and method are separate annotations."""
    prefix, apart = "", _jaxrs_paths(text)
    for match in _ANNOTATION.finditer(text):
        found = _PATH.search(match["inside"] or "")
        path = found[1] if found else ""
        after = _SKIPPED.match(text, match.end())
        if _CLASS.match(text, after.end() if after else match.end()):
            prefix = path if path or match["name"] in _PREFIX_ONLY else prefix
        elif match["name"] == "Path" and match.start() in apart:
            continue
        elif match["call"] or _ALONE.search(match["name"]):
            for method in _methods(match) if match["name"] not in _PREFIX_ONLY else ():
                yield match.start(), _join_paths(method, prefix, apart.get(match.start(), path))


def _jaxrs_paths(text: str) -> dict[int, str]:
    """The paths of JAX-RS (`@GET @Path("/x")`) by the offset of the method; the offsets of such paths are empty."""
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
    stated = _METHOD.search(match["inside"] or "")
    if stated:
        return _WORD.findall(stated[1] or stated[2])
    name = match["name"].removesuffix("Mapping").removeprefix("Http")
    return [_STANDS_FOR.get(name, name.upper())]


def _join_paths(method: str, prefix: str, path: str) -> str:
    parts = [part.strip("/") for part in (prefix, path) if part.strip("/")]
    return f"{method} /{'/'.join(parts)}"
