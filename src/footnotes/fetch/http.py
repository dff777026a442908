"""One request over a connection with a checked address; the size of the body is limited while it is read."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from footnotes.errors import DocumentTooLarge, FetchFailed
from footnotes.fetch.address import connect
from footnotes.fetch.url import Url
from footnotes.remote.deadline import Deadline

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BLOCK = 1 << 16
LONGEST_STEP = 86_400.0


class PageDeadline(Deadline):
    """The deadline of a page with all its redirects."""

    def left(self) -> float:
        if self.over:
            raise FetchFailed("the page took longer than fetch_seconds allows")
        return self.remaining(LONGEST_STEP)


class _TimedSocket:
    """A socket for `http.client`; every step gets the time that remains until the deadline."""

    def __init__(self, inner: socket.socket, deadline: PageDeadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(self._deadline.left())
        self._inner.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._inner, self._deadline))

    def close(self) -> None:
        """Do nothing: `http.client` would close it before the body is read. `_Connection.end` closes it."""


class _TimedReader(io.RawIOBase):
    def __init__(self, inner: socket.socket, deadline: PageDeadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        self._inner.settimeout(self._deadline.left())
        return self._inner.recv_into(buffer)


class _Connection(http.client.HTTPConnection):
    """Connects to allowed addresses. Connecting, TLS, headers and body share one deadline."""

    def __init__(self, url: Url, deadline: PageDeadline, private: bool) -> None:
        super().__init__(url.host, url.port)
        self._url = url
        self._until = deadline
        self._private = private
        self._opened: socket.socket | None = None

    def connect(self) -> None:
        self._opened = connect(self._url.host, self._url.port, left=self._until.left, private=self._private)
        if self._url.scheme == "https":
            self._opened.settimeout(self._until.left())
            self._opened = _wrap_tls(self._opened, self._url.host)
        self.sock = _TimedSocket(self._opened, self._until)

    def end(self) -> None:
        self.close()
        if self._opened is not None:
            self._opened.close()


def _wrap_tls(bare: socket.socket, host: str) -> socket.socket:
    return ssl.create_default_context().wrap_socket(bare, server_hostname=host)


class Response:
    """A response whose body is not read yet."""

    def __init__(self, url: Url, raw: http.client.HTTPResponse) -> None:
        self._url = url
        self._raw = raw
        self.status = raw.status

    def header(self, name: str) -> str:
        return (self._raw.getheader(name) or "").strip()

    def body(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the decompressed body; at most `max_bytes` before and after decompression."""
        encoding = self.header("content-encoding").lower() or "identity"
        if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise FetchFailed(f"the server sent the unsupported encoding {encoding[:40]!r}")
        received = limit_bytes(self._read_blocks(), max_bytes)
        with _translate_errors(self._url):
            yield from received if encoding == "identity" else limit_bytes(decompress(received), max_bytes)

    def _read_blocks(self) -> Iterator[bytes]:
        while block := self._raw.read1(_BLOCK):
            yield block
        if self._raw.length:
            raise FetchFailed("the server closed the connection before the end of the page")


@contextmanager
def request(url: Url, headers: Mapping[str, str], *, deadline: PageDeadline, private: bool) -> Iterator[Response]:
    """Request a page once, without following redirects."""
    with _translate_errors(url):
        connection = _Connection(url, deadline, private)
    try:
        with _translate_errors(url):
            connection.request("GET", url.target, headers={"Connection": "close", **headers})
            raw = connection.getresponse()
        with raw:
            yield Response(url, raw)
    finally:
        connection.end()


@contextmanager
def _translate_errors(url: Url) -> Iterator[None]:
    """Translate errors of the connection to errors of the tree."""
    try:
        yield
    except (OSError, http.client.HTTPException, zlib.error, ValueError) as error:
        raise FetchFailed(f"{url.host} sent an invalid response ({type(error).__name__}: {error})") from error


def decompress(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip or zlib in small steps: a small block may expand a thousandfold."""
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip or zlib, by its first bytes
    for block in blocks:
        while block:
            if data := unpack.decompress(block, _BLOCK):
                yield data
            block = unpack.unconsumed_tail
        if unpack.eof:
            return
    if rest := unpack.flush():
        yield rest
    if not unpack.eof:
        raise FetchFailed("the compressed page is truncated")


def limit_bytes(blocks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    size = 0
    for block in blocks:
        size += len(block)
        if size > max_bytes:
            remedy = "Raise fetch_max_bytes in the settings if you trust the page."
            raise DocumentTooLarge(f"the page is larger than {max_bytes:,} bytes", remedy=remedy)
        yield block
