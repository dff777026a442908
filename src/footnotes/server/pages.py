"""Serves the page: files of the package, at addresses that change with their content."""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footnotes.server.strict import run_off_loop

FOLDER = "page"
PLACEHOLDER, ICON = "/static/@/", "@icon"
STYLE, SCRIPT, ADD_SCRIPT = "style.css", "page.js", "add.js"
_FIRST = "modules/main.js"
_STYLES = ("base", "frame", "answer", "source", "views")  # in the order they build on each other; sent as one
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".json": "application/json",
}
_COMPRESSED = (".woff2",)
_FOR_EVER = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_IMPORT = re.compile(r'^import\s*(?:\{([^}]*)\}\s*from\s*)?"([^"]+)";[ \t]*\n', re.MULTILINE)
_LAZY_IMPORT = re.compile(r'\bawait import\("(\./[^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const)\b)", re.MULTILINE)
_NAME = re.compile(r"^export (?:async )?(?:function\*?|class|const) ([A-Za-z_$][\w$]*)", re.MULTILINE)
_LIST = re.compile(r"\bexport\s*\{([^}]*)\};?\s*$")
SMALLEST = 1_000
"""Smaller bodies are not compressed."""
_LEVEL = 5
_MEDIA_TYPES = ("application/json", "text/plain", "text/html", "text/markdown")


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file with its headers."""

    body: bytes
    packed: bytes
    kind: str
    tag: str


@dataclass(frozen=True, slots=True)
class Page:
    """All files of the page. `version` names their content: one changed byte changes every address."""

    index: PageFile
    add: PageFile
    icon: PageFile
    files: Mapping[str, PageFile]
    version: str


def load_page() -> Page:
    """Read the page from the package. Its modules become one file, and its style sheets another."""
    texts = dict(_walk(resources.files("footnotes.server") / FOLDER, ""))
    digest = hashlib.sha256()
    for name, body in sorted(texts.items()):
        digest.update(name.encode() + b"\0" + body + b"\0")
    version = digest.hexdigest()[:16]
    texts[STYLE] = b"".join(texts.pop(f"styles/{name}.css") for name in _STYLES)
    modules = {name: text.decode() for name, text in texts.items() if name.endswith(".js") and name != ADD_SCRIPT}
    texts[SCRIPT] = bundle_modules(_FIRST, modules).encode()
    icon = f"data:image/svg+xml,{quote(texts['icon.svg'])}"  # in the first file: one request less
    index, add = (
        _file(name, texts.pop(name).decode().replace(PLACEHOLDER, f"/static/{version}/").replace(ICON, icon).encode())
        for name in ("index.html", "add.html")
    )
    files = {name: _file(name, body) for name, body in texts.items()}
    return Page(index, add, files["icon.svg"], MappingProxyType(files), version)


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(tuple(_KINDS)):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found


def _file(name: str, body: bytes) -> PageFile:
    kind = next(kind for ending, kind in _KINDS.items() if name.endswith(ending))
    packed = body if name.endswith(_COMPRESSED) else gzip.compress(body, 9, mtime=0)
    return PageFile(body, packed, kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def page_router(page: Page) -> APIRouter:
    """Serve `/`, `/add` and `/static/…`. They need no key: they contain no documents."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def index(request: Request) -> Response:
        return _answer(request, page.index, _REVALIDATE)

    @router.api_route("/add", methods=["GET", "HEAD"])
    async def add(request: Request) -> Response:
        return _answer(request, page.add, _REVALIDATE)

    @router.api_route("/favicon.ico", methods=["GET", "HEAD"])
    async def icon(request: Request) -> Response:
        return _answer(request, page.icon, _REVALIDATE)

    @router.api_route("/static/{version}/{name:path}", methods=["GET", "HEAD"])
    async def static(request: Request, version: str, name: str) -> Response:
        if version != page.version or name not in page.files:
            raise HTTPException(404)
        return _answer(request, page.files[name], _FOR_EVER)

    return router


def _answer(request: Request, file: PageFile, caching: str) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": caching, "Vary": "Accept-Encoding"}
    tags = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if file.tag in tags:
        return Response(status_code=304, headers=headers)
    if file.packed is not file.body and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.body, media_type=file.kind, headers=headers)


# Bundle the modules of the page into one file: a browser sends one request instead of fifty.
#
# Each module becomes a function that is awaited once and returns its exports. The server builds the file when it
# starts, from unmodified modules: there is no build step.


def bundle_modules(first: str, modules: Mapping[str, str]) -> str:
    """Bundle `first` and its imports as one module. Raises `ValueError` if modules import each other in a cycle.

    Lazy imports (`await import(…)`) come after everything else: they exist by the time they are needed.
    """
    wrapped: dict[str, str] = {}
    later = [first]
    for name in later:
        _add(name, modules, wrapped, ())
        later += [one for path in wrapped for one in _lazy_imports(path, modules[path]) if one not in later]
    return "const modules = Object.create(null);\n" + "".join(wrapped.values())


def _add(name: str, modules: Mapping[str, str], wrapped: dict[str, str], above: tuple[str, ...]) -> None:
    if name in wrapped:
        return
    if name in above:
        raise ValueError(f"the modules {' -> '.join((*above, name))} import each other")
    for found in _IMPORT.finditer(modules[name]):
        needed = _resolve(name, found.group(2))
        imported = {_alias(one)[0] for one in (found.group(1) or "").split(",") if one.strip()}
        if missing := imported - _exports(modules[needed]).keys():
            raise ValueError(f"{needed} does not export {', '.join(sorted(missing))}, which {name} imports")
        _add(needed, modules, wrapped, (*above, name))
    wrapped[name] = _wrap_module(name, modules[name])


def _lazy_imports(name: str, text: str) -> list[str]:
    return [_resolve(name, one) for one in _LAZY_IMPORT.findall(text)]


def _exports(text: str) -> dict[str, str]:
    """Return the exports of a module: exported name → own name."""
    export_list = _LIST.search(text)
    pairs = [_alias(pair) for pair in export_list.group(1).split(",")] if export_list else []
    return {one: one for one in _NAME.findall(text)} | {known: own for own, known in pairs}


def _wrap_module(name: str, text: str) -> str:
    exports = _exports(text)
    body = _IMPORT.sub(lambda found: _import_line(name, found), _LIST.sub("", text))
    body = _LAZY_IMPORT.sub(lambda found: f'modules["{_resolve(name, found.group(1))}"]', body)
    body = _EXPORT.sub("", body)
    exports_text = ", ".join(f"{known}: {own}" for known, own in exports.items())
    return f'modules["{name}"] = await (async () => {{\n{body}\nreturn {{ {exports_text} }};\n}})();\n'


def _import_line(name: str, found: re.Match[str]) -> str:
    names = ", ".join(": ".join(dict.fromkeys(_alias(one))) for one in (found.group(1) or "").split(",") if one.strip())
    return f'const {{ {names} }} = modules["{_resolve(name, found.group(2))}"];\n'


def _alias(pair: str) -> tuple[str, str]:
    """`a as b` → (a, b); `a` → (a, a)."""
    one, _, other = pair.strip().partition(" as ")
    return one, other or one


def _resolve(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


# ── compresses whole responses for clients that accept gzip. Streams pass unchanged ───────────────────────────


class Compress:
    """An ASGI middleware. Pictures, originals, streams and compressed bodies pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _accepts_gzip(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        pending: list[Message] = []

        async def send_compressed(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_compressible(message):
                pending.append(message)  # its length is not known yet
                return
            if pending:
                message = await _compress(pending[0], message)
                await send(pending.pop())
            await send(message)

        await self._app(scope, receive, send_compressed)


def _accepts_gzip(headers: Headers) -> bool:
    offers = [part.replace(" ", "").lower() for part in headers.get("accept-encoding", "").split(",")]
    return any(part == "gzip" or (part.startswith("gzip;") and not part.endswith(("q=0", "q=0.0"))) for part in offers)


def _is_compressible(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return headers.get("content-type", "").startswith(_MEDIA_TYPES) and "content-encoding" not in headers


async def _compress(start: Message, first: Message) -> Message:
    """Compress the first part of a body if it is the whole body, and set the headers accordingly."""
    body: bytes = first.get("body", b"")
    if first.get("more_body", False) or len(body) < SMALLEST:
        return first
    packed = await run_off_loop(len(body), gzip.compress, body, _LEVEL)
    headers = MutableHeaders(scope=start)
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(packed))
    headers.add_vary_header("Accept-Encoding")
    return {**first, "body": packed}
