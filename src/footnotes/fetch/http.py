"""One request and its answer, over a connection whose address was checked; the body is counted while it is read."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from footnotes.errors import DocumentTooLarge, FetchFailed
from footnotes.fetch.address import connect
from footnotes.fetch.url import Url

_BLOCK = 1 << 16


class Deadline:
    """The time a page has, all its redirects together."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise FetchFailed("the page took longer than fetch_seconds allows")
        return left


class _TimedSocket:
    """A socket as `http.client` uses it, each of whose steps has only the time that is left of the deadline."""

    def __init__(self, inner: socket.socket, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(self._deadline.left())
        self._inner.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._inner, self._deadline))

    def close(self) -> None:
        """Closed by whoever opened it: `http.client` would do it before the body is read."""


class _TimedReader(io.RawIOBase):
    def __init__(self, inner: socket.socket, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._inner.settimeout(self._deadline.left())
        return self._inner.recv_into(buffer)


class _Connection(http.client.HTTPConnection):
    """Connects where `connect` lets it. Connecting, TLS, headers and body share one deadline."""

    def __init__(self, url: Url, deadline: Deadline, private: bool) -> None:
        super().__init__(url.host, url.port)
        self._url = url
        self._until = deadline
        self._private = private
        self._opened: socket.socket | None = None

    def connect(self) -> None:
        self._opened = connect(self._url.host, self._url.port, left=self._until.left, private=self._private)
        if self._url.scheme == "https":
            self._opened.settimeout(self._until.left())
            self._opened = _secured(self._opened, self._url.host)
        self.sock = _TimedSocket(self._opened, self._until)

    def end(self) -> None:
        self.close()
        if self._opened is not None:
            self._opened.close()


def _secured(bare: socket.socket, host: str) -> socket.socket:
    return ssl.create_default_context().wrap_socket(bare, server_hostname=host)


class Response:
    """An answer whose body is still to be read."""

    def __init__(self, url: Url, raw: http.client.HTTPResponse) -> None:
        self._url = url
        self._raw = raw
        self.status = raw.status

    def header(self, name: str) -> str:
        return (self._raw.getheader(name) or "").strip()

    def body(self, max_bytes: int) -> Iterator[bytes]:
        """The body, unpacked; neither what comes nor what it unpacks to is more than `max_bytes`."""
        encoding = self.header("content-encoding").lower() or "identity"
        if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise FetchFailed(f"the server packed the page as {encoding[:40]!r}, which was not asked for")
        received = counted(self._received(), max_bytes)
        with _translated(self._url):
            yield from received if encoding == "identity" else counted(gunzipped(received), max_bytes)

    def _received(self) -> Iterator[bytes]:
        while block := self._raw.read1(_BLOCK):
            yield block
        if self._raw.length:
            raise FetchFailed("the server broke off in the middle of the page")


@contextmanager
def request(url: Url, headers: Mapping[str, str], *, deadline: Deadline, private: bool) -> Iterator[Response]:
    """Ask for a page once; redirects are the caller's to follow."""
    with _translated(url):
        connection = _Connection(url, deadline, private)
    try:
        with _translated(url):
            connection.request("GET", url.target, headers={"Connection": "close", **headers})
            raw = connection.getresponse()
        with raw:
            yield Response(url, raw)
    finally:
        connection.end()


@contextmanager
def _translated(url: Url) -> Iterator[None]:
    """What goes wrong on the way leaves as an error of the tree."""
    try:
        yield
    except (OSError, http.client.HTTPException, zlib.error, ValueError) as error:
        raise FetchFailed(f"{url.host} did not answer as it should ({type(error).__name__}: {error})") from error


def gunzipped(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Packed bytes unpacked, never much at once: a small block may unpack to a thousand times as much."""
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip or zlib, as its first bytes say
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
        raise FetchFailed("the packed page ends too early")


def counted(blocks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    size = 0
    for block in blocks:
        size += len(block)
        if size > max_bytes:
            remedy = "Raise fetch_max_bytes in the settings if it is meant."
            raise DocumentTooLarge(f"the page is larger than {max_bytes:,} bytes", remedy=remedy)
        yield block
