"""Collections taken over from servers and files nobody can trust: an error that says so, or all that is good."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import SourceUnreadable
from footnotes.library import Library
from libraries import quick_library

DESCRIBED = {"result": {"points_count": 1, "config": {"params": {"vectors": {"size": 4}}}}}
MOST_CALLS = 50
"""An import that has asked so often will never end."""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with quick_library(tmp_path / "library") as opened:
        yield opened


@contextmanager
def answering(answer: Callable[[str, int], Any]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers each path, and the number of the call, with some JSON; its address, and what was asked."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            paths.append(self.path)
            body = json.dumps(answer(self.path, len(paths))).encode() if len(paths) < MOST_CALLS else b"enough"
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", paths
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "config",
    ["x", {"params": "x"}, {"params": {"vectors": "x"}}, {"params": {"vectors": [1]}},
     {"params": {"vectors": {"a": {"size": "x"}}}}, {"params": {"vectors": {"a": 7}}}],
)  # fmt: skip
def test_a_qdrant_that_describes_nonsense(library: Library, config: Any) -> None:
    with (
        answering(lambda path, call: {"result": {"config": config}}) as (place, _),
        pytest.raises(SourceUnreadable, match="does not respond like Qdrant"),
    ):
        library.import_from(f"qdrant://{place}/c", collection="c")
    assert library.documents() == []


@pytest.mark.parametrize("kind", ["same", "circle", "empty"])
def test_a_qdrant_without_a_last_page(library: Library, kind: str) -> None:
    def answer(path: str, call: int) -> Any:
        if not path.endswith("/scroll"):
            return DESCRIBED
        points = [] if kind == "empty" else [{"id": call, "payload": {"text": f"Text {call}."}}]
        following = {"same": 7, "circle": call % 3, "empty": call}[kind]
        return {"result": {"points": points, "next_page_offset": following}}

    with answering(answer) as (place, paths):
        with pytest.raises(SourceUnreadable, match="pages without end"):
            library.import_from(f"qdrant://{place}/c", collection="c")
        assert len(paths) < 10
    assert library.documents() == []


def test_a_chroma_without_a_last_page(library: Library) -> None:
    page = {"ids": [f"r{n}" for n in range(256)], "documents": ["A text."] * 256}
    with answering(lambda path, call: page if path.endswith("/get") else {"id": "c"}) as (place, paths):
        with pytest.raises(SourceUnreadable, match="the same page again and again"):
            library.import_from(f"chroma://{place}/c", collection="c")
        assert len(paths) < 10


def test_a_chroma_whose_documents_are_no_texts_and_whose_id_is_a_path(library: Library) -> None:
    page = {"ids": ["a", "b"], "documents": [{"a": 1}, "A text."], "metadatas": [None, {}]}
    with answering(lambda path, call: page if path.endswith("/get") else {"id": "../../c?x="}) as (place, paths):
        done = library.import_from(f"chroma://{place}/c", collection="c")
    assert (done.records, done.added) == (2, 1)
    assert paths[-1].endswith("/collections/..%2F..%2Fc%3Fx%3D/get")


def test_sources_that_are_no_addresses(library: Library, tmp_path: Path) -> None:
    sources = ["http://[::1", "http://[x]/y", "../../etc/passwd", "file:///etc/shadow", "http://169.254.169.254/"]
    given = [{"text": f"Text {n}.", "metadata": {"source": source}} for n, source in enumerate(sources)]
    (tmp_path / "records.json").write_text(json.dumps(given), encoding="utf-8")
    assert library.import_from(f"json:{tmp_path / 'records.json'}", collection="c").added == len(sources)
    assert all("/" not in document.filename for document in library.documents())
