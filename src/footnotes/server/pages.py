"""Serves the page: files of the package, at addresses that change with their content."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from footnotes.server.bundle import bundle_modules

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
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if file.tag in known:
        return Response(status_code=304, headers=headers)
    if file.packed is not file.body and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.body, media_type=file.kind, headers=headers)
