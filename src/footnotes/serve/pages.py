"""The page: its files out of the package, at addresses that change with their content."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

FOLDER = "page"
PLACEHOLDER, PRELOADS = "/static/@/", "<!--preload-->"
STYLE = "style.css"
_STYLES = ("base", "frame", "answer", "source", "views")  # in the order they build on each other; sent as one
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is sent."""

    body: bytes
    packed: bytes
    kind: str
    tag: str


@dataclass(frozen=True, slots=True)
class Page:
    """All files of the page. `version` names their content: one changed byte changes every address."""

    index: PageFile
    icon: PageFile
    files: Mapping[str, PageFile]
    version: str


def load_page() -> Page:
    """Read the page from the package. Its modules import each other by relative names, so no file needs rewriting."""
    texts = dict(_walk(resources.files("footnotes.serve") / FOLDER, ""))
    digest = hashlib.sha256()
    for name, body in sorted(texts.items()):
        digest.update(name.encode() + b"\0" + body + b"\0")
    version = digest.hexdigest()[:16]
    texts[STYLE] = b"".join(texts.pop(f"styles/{name}.css") for name in _STYLES)
    files = {name: _file(name, body) for name, body in texts.items() if name != "index.html"}
    return Page(_index(texts, version), files["icon.svg"], MappingProxyType(files), version)


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(tuple(_KINDS)):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found


def _index(texts: Mapping[str, bytes], version: str) -> PageFile:
    """The first file. It names every module, so that they are all fetched at once and not one after another."""
    modules = sorted(name for name in texts if name.startswith(("modules/", "vendor/")) and name.endswith(".js"))
    preloads = "\n".join(
        f'<link rel="modulepreload" fetchpriority="low" href="{PLACEHOLDER}{name}">' for name in modules
    )
    text = texts["index.html"].decode().replace(PRELOADS, preloads).replace(PLACEHOLDER, f"/static/{version}/")
    return _file("index.html", text.encode())


def _file(name: str, body: bytes) -> PageFile:
    kind = next(kind for ending, kind in _KINDS.items() if name.endswith(ending))
    return PageFile(body, gzip.compress(body, 9, mtime=0), kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def page_router(page: Page) -> APIRouter:
    """`/` and `/static/…`. Neither needs a key: nothing in them is anybody's."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def index(request: Request) -> Response:
        return _answer(request, page.index, _ASK_AGAIN)

    @router.api_route("/favicon.ico", methods=["GET", "HEAD"])
    async def icon(request: Request) -> Response:
        return _answer(request, page.icon, _ASK_AGAIN)

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
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.body, media_type=file.kind, headers=headers)
