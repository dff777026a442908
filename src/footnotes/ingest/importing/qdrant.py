"""Reads a collection of Qdrant over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from footnotes.errors import OptionError
from footnotes.ingest.importing.addresses import Address
from footnotes.ingest.importing.records import SourceRecord
from footnotes.ingest.importing.server import Missing, VectorServer, missing_collection
from footnotes.settings import Settings

PAGE = 256


class QdrantReader:
    """`qdrant://host:6333/COLLECTION`. Reads the selected one of several named vectors, or the only one that fits."""

    def __init__(self, address: Address, settings: Settings, key: str, *, vector: str, dimensions: int) -> None:
        self._address = address
        self._wanted = vector
        self._dimensions = dimensions
        self._path = f"collections/{quote(address.collection, safe='')}"
        self.origin = address.text
        self.notes: list[str] = []
        self._server = VectorServer("Qdrant", address, settings, {"api-key": key} if key else {}, key)
        self._vector: str | None = None

    def __enter__(self) -> QdrantReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def count(self) -> int:
        described = self._describe_collection()
        try:
            sizes = _vector_sizes(described)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self._server.unexpected_answer("a collection whose vectors are not described") from error
        self._vector = self._choose_vector(sizes)
        points = described.get("points_count")
        return points if isinstance(points, int) else 0

    def records(self) -> Iterator[SourceRecord]:
        body: dict[str, object] = {"limit": PAGE, "with_payload": True, "with_vector": self._with_vector()}
        seen: set[str] = set()
        while True:
            points, following = self._page(body)
            yield from points
            if following is None:
                return
            if not points or (page := str(following)) in seen:
                raise self._server.unexpected_answer("pages without end")
            seen.add(page)
            body["offset"] = following

    def _with_vector(self) -> bool | list[str]:
        return [self._vector] if self._vector else self._vector is not None

    def _page(self, body: Mapping[str, object]) -> tuple[list[SourceRecord], object]:
        answer = self._server.post(f"{self._path}/points/scroll", body)
        try:
            page = answer["result"]
            return [self._to_record(point) for point in page["points"]], page["next_page_offset"]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self._server.unexpected_answer(f"{type(error).__name__} in a page of points") from error

    def _to_record(self, point: Mapping[str, Any]) -> SourceRecord:
        vector = point.get("vector")
        if isinstance(vector, Mapping):
            vector = vector.get(self._vector or "")
        return SourceRecord(str(point["id"]), dict(point.get("payload") or {}), None, vector)

    def _describe_collection(self) -> Mapping[str, object]:
        name = self._address.collection
        try:
            if name:
                described = self._server.get(self._path)["result"]
                return dict(described)
        except Missing:
            pass
        except (KeyError, TypeError, ValueError) as error:
            raise self._server.unexpected_answer("a collection that is not described") from error
        raise missing_collection(name, self.origin.rpartition("/")[0], self._names())

    def _names(self) -> list[str]:
        try:
            return [str(each["name"]) for each in self._server.get("collections")["result"]["collections"]]
        except Missing as error:
            raise self._server.unexpected_answer(str(error)) from error
        except (KeyError, TypeError) as error:
            raise self._server.unexpected_answer("a list of collections without names") from error

    def _choose_vector(self, sizes: Mapping[str, int]) -> str | None:
        """Return the name of the vector to read, empty for the unnamed one; None if there is none to import."""
        if self._wanted:
            if self._wanted not in sizes:
                there = ", ".join(name for name in sizes if name) or "none that has a name"
                raise OptionError(f"there is no vector named {self._wanted!r}; available: {there}")
            return self._wanted
        fitting = [name for name, size in sizes.items() if size == self._dimensions]
        if len(sizes) == 1:
            return next(iter(sizes))
        if len(fitting) == 1:
            self.notes.append(f"of the vectors {', '.join(sizes)} only {fitting[0]} can be the library's")
            return fitting[0]
        if sizes:
            self.notes.append(f"there are the vectors {', '.join(sizes)}; name one with --vector to take it over")
        return None


def _vector_sizes(described: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes of dense vectors by name, without multivectors."""
    config = described.get("config") or {}
    vectors = (config.get("params") or {}).get("vectors") or {}
    by_name = {"": vectors} if isinstance(vectors.get("size"), int) else vectors
    return {name: int(each["size"]) for name, each in by_name.items() if not each.get("multivector_config")}
