"""A library on a server, with the methods of `Library`.

with footnotes.Client("http://localhost:8765", key="…") as library:
    library.add("handbook.pdf")
    print(library.ask("How long is the notice period?"))
"""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

from footnotes.answer import last_answer
from footnotes.answer.asking import as_turns
from footnotes.errors import NotFound, OptionError, SourceUnreadable
from footnotes.fetch.url import is_url
from footnotes.ingest.names import as_text
from footnotes.ingest.walk import Skipped, resolve_path, walk
from footnotes.remote.connection import Connection, build_error
from footnotes.retrieve.where import Where, as_json
from footnotes.types import (
    Added,
    Answer,
    Block,
    Chunk,
    Document,
    ErrorInfo,
    Event,
    Metadata,
    NearDuplicate,
    SearchResult,
)
from footnotes.wire import from_json

if TYPE_CHECKING:
    from footnotes.answer.asking import AskRequest
    from footnotes.ingest.context import CollectionOptions
    from footnotes.ingest.reindexing import ReindexRequest
    from footnotes.retrieve.searcher import SearchRequest

PAGE = 1_000
"""Documents, chunks or texts per request."""
AHEAD = 32
"""Files to upload before waiting for the first job."""
_COUNTS = ("ready", "chunks", "characters", "bytes", "by_status", "near_duplicates", "waiting")

Submitted = Added | str
"""The result of a path, or the id of its job."""


class Client:
    """The library of a key on a server. Thread-safe; close it, or use it as a context manager."""

    def __init__(self, address: str = "http://127.0.0.1:8765", *, key: str = "", timeout: float = 120.0) -> None:
        self._server = Connection(address, key=key, timeout=timeout)
        self._downloads: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, and remove downloaded originals."""
        self._server.close()
        if self._downloads is not None:
            self._downloads.cleanup()
            self._downloads = None

    # ── add

    def add(self, *paths: str | Path, collection: str | None = None, metadata: Metadata | None = None) -> list[Added]:
        """Add local files and folders, and addresses, and wait until they are ingested."""
        return list(self.adding(*paths, collection=collection, metadata=metadata))

    def adding(
        self, *paths: str | Path, collection: str | None = None, metadata: Metadata | None = None
    ) -> Iterator[Added]:
        """Like `add`, but yield each result as soon as it is final."""
        waiting: deque[Submitted] = deque()
        for submitted in chain.from_iterable(self._submit(path, collection, metadata) for path in paths):
            waiting.append(submitted)
            if len(waiting) >= AHEAD:
                yield from self._results(waiting.popleft())
        for submitted in waiting:
            yield from self._results(submitted)

    def _submit(self, path: str | Path, collection: str | None, metadata: Metadata | None) -> Iterator[Submitted]:
        if is_url(str(path)):
            body = {"url": str(path), "collection": collection, "metadata": metadata}
            yield self._server.json("POST", "/v1/documents", json=body)["jobs"][0]["id"]
            return
        folders: dict[str, str] = {}
        try:
            for item in walk(Path(path).expanduser()):
                if isinstance(item, Skipped):
                    yield Added(as_text(item.path), None, "skipped", 0, None, (item.reason,))
                else:
                    source = as_text(resolve_path(item, folders))
                    yield self._upload(item.read_bytes(), as_text(item.name), source, collection, metadata)
        except OSError as error:
            yield Added(as_text(path), None, "failed", 0, SourceUnreadable(f"cannot read {path}: {error}").info())
        except SourceUnreadable as error:
            yield Added(as_text(path), None, "failed", 0, error.info())

    def _upload(
        self, content: bytes, filename: str, source: str, collection: str | None, metadata: Metadata | None
    ) -> str:
        metadata_json = json.dumps(dict(metadata)) if metadata else None
        fields = {"collection": collection, "metadata": metadata_json, "source": source}
        made = self._server.json("POST", "/v1/documents", files={"file": (filename, content)}, data=fields)
        return str(made["jobs"][0]["id"])

    def _results(self, submitted: Submitted) -> Iterator[Added]:
        """Wait for a job, and yield the result of each of its documents."""
        if isinstance(submitted, Added):
            yield submitted
            return
        job = self._job(submitted)
        rows = job["documents"] or [{"document_id": None, "status": "failed", "chunks": 0, "error": job["error"]}]
        for row in rows:
            yield from_json(Added, {**row, "path": row.get("path") or job["name"]})

    def _job(self, job_id: str) -> dict[str, Any]:
        """Wait for a job; reopen a stream that ends early."""
        while True:
            for job in self._server.events("GET", f"/v1/jobs/{job_id}/events"):
                if job.get("state") in ("ready", "failed"):
                    return dict(job)

    def add_text(
        self,
        text: str | bytes,
        *,
        filename: str,
        collection: str | None = None,
        metadata: Metadata | None = None,
        source: str | None = None,
    ) -> Added:
        """Add a text or the bytes of a file under a name. The same `source` again replaces it."""
        content = text.encode("utf-8", "replace") if isinstance(text, str) else text
        job = self._upload(content, filename, source or f"text:{filename}", collection, metadata)
        return next(self._results(job))

    def add_texts(
        self,
        texts: Sequence[str],
        *,
        filenames: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        metadata: Metadata | Sequence[Metadata] | None = None,
        collection: str | None = None,
    ) -> list[Added]:
        """Add many texts at once; return their results in the same order."""
        each = [metadata or {}] * len(texts) if isinstance(metadata, Mapping | None) else list(metadata)
        for name, values in (("filenames", filenames), ("sources", sources), ("metadata", each)):
            if values is not None and len(values) != len(texts):
                raise OptionError(f"got {len(values)} {name} for {len(texts)} texts")
        rows = [{"text": text, "metadata": dict(own)} for text, own in zip(texts, each, strict=True)]
        for name, given in (("filename", filenames), ("source", sources)):
            for row, value in zip(rows, given or (), strict=False):
                row[name] = value
        jobs: list[str] = []
        for start in range(0, len(rows), PAGE):
            body = {"texts": rows[start : start + PAGE], "collection": collection}
            jobs += [job["id"] for job in self._server.json("POST", "/v1/texts", json=body)["jobs"]]
        return [next(self._results(job)) for job in jobs]

    # ── find

    def search(self, query: str, **choices: Unpack[SearchRequest]) -> SearchResult:
        """Return the best chunks for a question, with the rank and score in each leg."""
        weights = choices.get("weights")
        body = {
            "query": query,
            **choices,
            "where": as_json(choices.get("where")),
            "weights": None if weights is None else [float(one) for one in weights],
        }
        return from_json(SearchResult, self._server.json("POST", "/v1/search", json=body))

    def ask(self, question: str, **choices: Unpack[AskRequest]) -> Answer:
        """Answer a question from the documents, with a footnote for each sentence; abstain without support.

        A server accepts the settings `model`, `strict`, `temperature` and `max_tokens` for one question.
        """
        return last_answer(self.ask_stream(question, **choices))

    def ask_stream(self, question: str, **choices: Unpack[AskRequest]) -> Iterator[Event]:
        """Like `ask`, but yield events as they happen. The last is `done`, or `error` with the answer so far."""
        body = {
            "question": question,
            **choices,
            "where": as_json(choices.get("where")),
            "history": [{"role": turn.role, "text": turn.text} for turn in as_turns(choices.get("history", ()))],
        }
        for event in self._server.events("POST", "/v1/ask", json=body):
            yield from_json(Event, event)

    # ── look

    def documents(
        self, *, where: Where | None = None, collection: str | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Document]:
        """Return the documents of the library, in the order they were added."""
        wanted = as_json(where)
        query = {"collection": collection, "where": wanted if wanted is None else json.dumps(wanted)}
        rows = self._pages("/v1/documents", "documents", query, limit, offset)
        return [from_json(Document, row) for row in rows]

    def _pages(
        self, path: str, name: str, query: Mapping[str, object], limit: int | None = None, offset: int = 0
    ) -> list[object]:
        found: list[object] = []
        start: int | None = offset
        while start is not None and (limit is None or len(found) < limit):
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self._server.json("GET", path, params={**query, "limit": size, "offset": start})
            found += page[name]
            start = page["next_offset"]
        return found

    def document(self, document_id: str) -> Document:
        return from_json(Document, self._server.json("GET", f"/v1/documents/{_part(document_id)}"))

    def text(self, document_id: str, start: int = 0, end: int | None = None) -> str:
        """Return the canonical text of a document, or a span of it."""
        span = {"start": start, "end": end}
        return str(self._server.json("GET", f"/v1/documents/{_part(document_id)}/text", params=span)["text"])

    def blocks(self, document_id: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
        """Return the blocks of a document that overlap a span of its canonical text, without their headings."""
        span = {"start": start, "end": end, "limit": 10_000}
        for row in self._server.json("GET", f"/v1/documents/{_part(document_id)}/blocks", params=span)["blocks"]:
            yield from_json(Block, row)

    def find(self, document_id: str, words: str, limit: int = 500) -> list[tuple[int, int, int | None]]:
        """Find words in a document, ignoring case and line breaks; return start, end and page of each."""
        places = self._server.json("GET", f"/v1/documents/{_part(document_id)}/find", params={"q": words})["places"]
        return [(place["start"], place["end"], place["page"]) for place in places[:limit]]

    def chunks(self, document_id: str) -> list[Chunk]:
        return [
            from_json(Chunk, row) for row in self._pages(f"/v1/documents/{_part(document_id)}/chunks", "chunks", {})
        ]

    def near_duplicates(self) -> dict[str, NearDuplicate]:
        """Return near-duplicates: the id of each, with the similar document of its collection."""
        found = {document.id: document.near_duplicate_of for document in self.documents()}
        return {document_id: near for document_id, near in found.items() if near is not None}

    def original(self, document_id: str) -> Path:
        """Download the original of a document to a folder that is removed when the client is closed."""
        if self._downloads is None:
            self._downloads = tempfile.TemporaryDirectory(prefix="footnotes-")
        found = self.document(document_id)
        file = Path(self._downloads.name) / found.id
        self._server.save(f"/v1/documents/{found.id}/content", file)
        return file

    def collections(self) -> list[dict[str, Any]]:
        """Return the collections with their options and number of documents."""
        return list(self._server.json("GET", "/v1/collections")["collections"])

    def check_collection(self, name: str) -> None:
        """Raise if the collection does not exist."""
        if name not in {row["name"] for row in self.collections()}:
            raise NotFound(f"there is no collection {name!r}")

    def set_collection(self, name: str, **options: Unpack[CollectionOptions]) -> None:
        """Set a collection's chunker and system prompt; they apply to documents added from now on."""
        self._server.json("PUT", f"/v1/collections/{_part(name)}", json=dict(options))

    def counts(self) -> dict[str, Any]:
        """Count the documents, chunks, characters and bytes of the library."""
        status = self.status()
        return {name: status[name] for name in _COUNTS}

    def count_outdated(self) -> int:
        """Return the number of documents made by an older parser, or with another chunker or model."""
        return int(self.status()["outdated"])

    def status(self) -> dict[str, Any]:
        """Return the contents and models of the library."""
        return dict(self._server.json("GET", "/v1/status"))

    @property
    def generation(self) -> int | None:
        """The number of the current generation."""
        number = self.status()["generation"]
        return None if number is None else int(number)

    @property
    def index_failure(self) -> ErrorInfo | None:
        """Return why the remote index missed the last changes; it catches up when it is back."""
        error = (self.status()["index"] or {}).get("error")
        return from_json(ErrorInfo, error) if error else None

    # ── change

    def delete(
        self,
        *document_ids: str,
        source: str | Path | None = None,
        collection: str | None = None,
        checksum: str | None = None,
    ) -> list[str]:
        """Delete documents by id, source, checksum or collection, with the collection. Return the deleted ids."""
        if not document_ids and source is None and checksum is None and collection is not None:
            return list(self._server.json("DELETE", f"/v1/collections/{_part(collection)}")["deleted"])
        ids = [*document_ids, *self._ids_of(source, collection, checksum)]
        gone = [self._server.json("DELETE", f"/v1/documents/{_part(one)}")["deleted"] for one in dict.fromkeys(ids)]
        return [document_id for some in gone for document_id in some]

    def _ids_of(self, source: str | Path | None, collection: str | None, checksum: str | None) -> list[str]:
        if source is None and checksum is None:
            return []
        names = set() if source is None else {as_text(source), as_text(Path(source).expanduser().resolve())}
        found = [
            document.id
            for document in self.documents(collection=collection)
            if document.source in names or (checksum is not None and document.file_hash == checksum)
        ]
        if not found:
            raise NotFound(f"no document came from {as_text(source)}" if source else "no document has the checksum")
        return found

    def reindex(self, **options: Unpack[ReindexRequest]) -> dict[str, object]:
        """Build the next generation from stored text beside the current one, switch, and wait for the switch."""
        job = self._job(self._server.json("POST", "/v1/reindex", json=dict(options))["id"])
        if failed := job["error"]:
            raise build_error(failed["code"], failed["message"], failed["remedy"])
        rows = job["documents"]
        return {
            "generation": self.generation,
            "documents": sum(row["documents"] or 0 for row in rows),
            "embedded": sum(row["chunks"] for row in rows),
        }


def _part(name: str) -> str:
    """Quote an id or a name as one part of a path, including `..`."""
    return quote(name, safe="").replace(".", "%2E")
