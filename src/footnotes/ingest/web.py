"""Web pages as files to ingest: one page, or every page of a sitemap, in batches."""

from __future__ import annotations

import codecs
import fcntl
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from footnotes.errors import DocumentError, ParseError, RobotsDisallowed
from footnotes.fetch.client import Client, Fetched, Rules, Unchanged
from footnotes.fetch.http import decompress, limit_bytes
from footnotes.fetch.url import last_part, parse_url, same_site
from footnotes.ingest.names import as_text, safe_filename
from footnotes.ingest.work import NewSource
from footnotes.parse.catalog import supported, types_by_suffix
from footnotes.parse.types_by_name import HTML, PLAIN
from footnotes.settings import Settings
from footnotes.store.records import Origin
from footnotes.types import Added, Metadata

BATCH_PAGES = 16
MOST_SITEMAPS = 500
_GENERIC = ("", "application/octet-stream", "binary/octet-stream", "application/zip", "application/x-zip-compressed")
_PACKED = ("application/gzip", "application/x-gzip", "application/x-tar", "application/x-bzip2", "application/x-xz")
_TYPES = {"application/xhtml+xml": HTML, "text/xml": "application/xml"}
_FOLDER, _YOUNG_SECONDS = "footnotes-fetched-", 60.0

KnownVersion = Callable[[str], tuple[Added, str | None, str | None] | None]
"""Returns the entity tag and date of a source, to request it conditionally; nothing if it must be read again."""
_GZIP = b"\x1f\x8b"
_START = 2_000
_BLOCK = 1 << 16


@dataclass(slots=True)
class Pages:
    """Fetched pages, and the results of the others. The files are removed with the next batch."""

    sources: list[NewSource] = field(default_factory=list)
    results: list[Added] = field(default_factory=list)
    origins: dict[str, Origin] = field(default_factory=dict)


def accepts(mime: str) -> bool:
    """Return whether a content type is worth reading: text, types with a parser, and archives."""
    mime_type = _TYPES.get(mime, mime)
    textual = mime.startswith("text/") or mime.endswith(("+xml", "+json", "/json", "/xml", "/javascript", "/yaml"))
    return textual or mime_type in _GENERIC or mime_type in _PACKED or supported(mime_type)


def rules_from(settings: Settings) -> Rules:
    return Rules(
        private=settings.fetch_private,
        max_bytes=min(settings.fetch_max_bytes, settings.max_file_bytes),
        seconds=settings.fetch_seconds,
        delay=settings.fetch_delay,
        accepts=accepts,
    )


class Web:
    """Fetches pages by address, for one collection."""

    def __init__(self, settings: Settings, collection: str, metadata: Metadata, known: KnownVersion) -> None:
        self._rules = rules_from(settings)
        self._client = Client(self._rules)
        self._most = settings.fetch_max_pages
        self._collection = collection
        self._metadata = metadata
        self._known = known

    def batches(self, address: str) -> Iterator[Pages]:
        """Return the page of an address; for a sitemap, the pages that it lists."""
        with own_folder() as folder:
            batch, file = Pages(), folder / "page"
            self._take(address, file, batch, is_named=True)
            if not file.exists() or not is_sitemap(file, self._rules.max_bytes):
                yield batch
                return
            try:
                pages, results = self._list_pages(address, file)
            except DocumentError as error:
                yield Pages(results=[Added(address, None, "failed", 0, error.info())])
                return
        yield Pages(results=results)
        for start in range(0, len(pages), BATCH_PAGES):
            with own_folder() as folder:
                batch = Pages()
                for number, page in enumerate(pages[start : start + BATCH_PAGES]):
                    self._take(page, folder / str(number), batch, is_named=False)
                yield batch

    def _take(self, address: str, file: Path, batch: Pages, *, is_named: bool) -> None:
        """Fetch one page into a batch. Pages of a sitemap that robots.txt forbids are skipped."""
        start = time.time_ns()
        try:
            source = parse_url(address).text
            before = self._known(source)
            versions = {} if before is None else {"etag": before[1], "modified": before[2]}
            found = self._client.fetch(source, file, **versions)
        except RobotsDisallowed as error:
            left_out = Added(address, None, "skipped", 0, None, ("not allowed by robots.txt",))
            batch.results.append(Added(address, None, "failed", 0, error.info()) if is_named else left_out)
            return
        except DocumentError as error:
            batch.results.append(Added(as_text(address), None, "failed", 0, error.info()))
            return
        if isinstance(found, Unchanged):
            assert before is not None
            batch.results.append(before[0])
            return
        _transcode(file, found)
        metadata = {"url": found.url.text, **self._metadata}
        batch.sources.append(NewSource(file, source, filename_of(found), self._collection, metadata))
        batch.origins[source] = Origin(source, start, None, found.etag, found.modified)

    def _list_pages(self, address: str, file: Path) -> tuple[list[str], list[Added]]:
        """Return the pages of a sitemap and of nested ones, and what was skipped."""
        home = parse_url(address)
        first = read_sitemap(file, self._rules.max_bytes, self._most + 1)
        pages, results = list(first.pages), list[Added]()
        for further in first.sitemaps[:MOST_SITEMAPS]:
            if len(pages) > self._most:
                break
            try:
                self._client.fetch(further, file)
                pages += read_sitemap(file, self._rules.max_bytes, self._most + 1).pages
            except DocumentError as error:
                results.append(Added(as_text(further), None, "failed", 0, error.info()))
        addresses: dict[str, None] = {}
        for page in dict.fromkeys(pages):
            try:
                if not same_site(home, parse_url(page)):
                    results.append(Added(page, None, "skipped", 0, None, ("a page of another site",)))
                    continue
                addresses.setdefault(parse_url(page).text)
            except DocumentError as error:
                results.append(Added(as_text(page), None, "failed", 0, error.info()))
        if len(addresses) > self._most:
            reason = f"the sitemap lists more than {self._most:,} pages; the rest was left out (fetch_max_pages)"
            results.append(Added(address, None, "skipped", 0, None, (reason,)))
        return list(addresses)[: self._most], results


@contextmanager
def own_folder() -> Iterator[Path]:
    """Create a folder for fetched pages outside of the library, which is not locked while pages are fetched.

    A lock on it ends with the process; folders of dead processes are removed.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        if _age(left) > _YOUNG_SECONDS and (file := _lock(left)) is not None:  # a younger one may be about to be held
            shutil.rmtree(left, ignore_errors=True)
            os.close(file)
    with tempfile.TemporaryDirectory(prefix=_FOLDER) as name:
        file = _lock(Path(name))
        try:
            yield Path(name)
        finally:
            if file is not None:
                os.close(file)


def _age(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return 0.0


def _lock(folder: Path) -> int | None:
    """Take the folder's lock, unless another process has it or it is not ours."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(file).st_uid == os.getuid():
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
    except OSError:
        pass
    os.close(file)
    return None


def filename_of(page: Fetched) -> str:
    """Build a file name for a page, with a suffix for the content type of the response."""
    last = as_text(last_part(page.url)).replace("/", "_").replace("\\", "_").replace("\x00", "")
    name = safe_filename(last) if last else ""
    mime = _TYPES.get(page.mime, page.mime)
    if PurePath(name).suffix.lower() in types_by_suffix() and mime != HTML:
        return name
    end = next((suffix for suffix, known in types_by_suffix().items() if known == mime), "")
    if not end or name.lower().endswith((end, ".htm" if mime == HTML else end)):
        return name or "page"
    return (name or "index") + ("" if mime == PLAIN and PurePath(name).suffix else end)


def _transcode(file: Path, page: Fetched) -> None:
    """Convert text from the character set its server named to UTF-8 with a mark: the file itself does not tell it."""
    if not page.charset or not (page.mime.startswith("text/") or page.mime.endswith("xml")):
        return
    try:
        codec = codecs.lookup(page.charset).name
        if codec in ("utf-8", "ascii"):
            return
        content = file.read_bytes()
        if not content.startswith(codecs.BOM_UTF8):
            file.write_bytes(codecs.BOM_UTF8 + content.decode(codec).encode("utf-8"))
    except (LookupError, UnicodeError):
        return


# ── sitemaps: lists of the pages of a site, and lists of such lists ───────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The addresses of a sitemap: of pages, or of further sitemaps."""

    pages: tuple[str, ...]
    sitemaps: tuple[str, ...]


def is_sitemap(path: Path, max_bytes: int) -> bool:
    """Return whether a file is a sitemap, possibly compressed, by its content."""
    try:
        start = _read(path, max_bytes, most=_START)
    except Exception:
        return False
    return b"<urlset" in start or b"<sitemapindex" in start


def read_sitemap(path: Path, max_bytes: int, most: int) -> Sitemap:
    """Read at most `most` addresses of a sitemap, without network access."""
    from lxml import etree

    pages: list[str] = []
    sitemaps: list[str] = []
    content = io.BytesIO(_read(path, max_bytes))
    try:
        reading = etree.iterparse(content, tag="{*}loc", resolve_entities=False, no_network=True, huge_tree=False)
        for _, element in reading:
            parent = element.getparent()
            kind = "" if parent is None else etree.QName(parent).localname
            if address := (element.text or "").strip():
                found = {"url": pages, "sitemap": sitemaps}.get(kind)
                if found is not None:
                    found.append(address)
            if len(pages) + len(sitemaps) >= most:
                break
            element.clear()
    except etree.XMLSyntaxError as error:
        raise ParseError(f"the sitemap is damaged: {error}") from error
    return Sitemap(tuple(dict.fromkeys(pages)), tuple(dict.fromkeys(sitemaps)))


def _read(path: Path, max_bytes: int, most: int | None = None) -> bytes:
    """Read a file, decompressed, up to `most` bytes."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        blocks: Iterator[bytes] = iter(lambda: file.read(_BLOCK), b"")
        content = io.BytesIO()
        for block in limit_bytes(decompress(blocks) if packed else blocks, max_bytes):
            content.write(block)
            if most is not None and content.tell() >= most:
                break
    return content.getvalue()[:most]
