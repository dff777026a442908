"""A collection of Qdrant, scrolled through over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from footnotes.config import Settings
from footnotes.errors import OptionError
from footnotes.ingest.importing.addresses import Address
from footnotes.ingest.importing.records import Found
from footnotes.ingest.importing.server import Missing, Server, missing_collection

PAGE = 256


class QdrantReader:
    """`qdrant://host:6333/COLLECTION`. Of several named vectors the one asked for, else the only one that can fit."""

    def __init__(self, address: Address, settings: Settings, key: str, *, vector: str, dimensions: int) -> None:
        self._address = address
        self._wanted = vector
        self._dimensions = dimensions
        self._path = f"collections/{quote(address.collection, safe='')}"
        self.origin = address.shown
        self.notes: list[str] = []
        self._server = Server("Qdrant", address, settings, {"api-key": key} if key else {}, key)
        self._vector: str | None = None

    def __enter__(self) -> QdrantReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def count(self) -> int:
        described = self._described()
        try:
            sizes = _vectors(described)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self._server.bad("a collection whose vectors are not described") from error
        self._vector = self._chosen(sizes)
        points = described.get("points_count")
        return points if isinstance(points, int) else 0

    def records(self) -> Iterator[Found]:
        body: dict[str, Any] = {"limit": PAGE, "with_payload": True, "with_vector": self._with_vector()}
        seen: set[str] = set()
        while True:
            points, following = self._page(body)
            yield from points
            if following is None:
                return
            if not points or (named := str(following)) in seen:
                raise self._server.bad("pages without end")
            seen.add(named)
            body["offset"] = following

    def _with_vector(self) -> bool | list[str]:
        return [self._vector] if self._vector else self._vector is not None

    def _page(self, body: Mapping[str, Any]) -> tuple[list[Found], Any]:
        answer = self._server.post(f"{self._path}/points/scroll", body)
        try:
            page = answer["result"]
            return [self._found(point) for point in page["points"]], page["next_page_offset"]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self._server.bad(f"{type(error).__name__} in a page of points") from error

    def _found(self, point: Mapping[str, Any]) -> Found:
        vector = point.get("vector")
        if isinstance(vector, Mapping):
            vector = vector.get(self._vector or "")
        return Found(str(point["id"]), dict(point.get("payload") or {}), None, vector)

    def _described(self) -> Mapping[str, Any]:
        name = self._address.collection
        try:
            if name:
                described = self._server.get(self._path)["result"]
                return dict(described)
        except Missing:
            pass
        except (KeyError, TypeError, ValueError) as error:
            raise self._server.bad("a collection that is not described") from error
        raise missing_collection(name, self.origin.rpartition("/")[0], self._names())

    def _names(self) -> list[str]:
        try:
            return [str(each["name"]) for each in self._server.get("collections")["result"]["collections"]]
        except Missing as error:
            raise self._server.bad(str(error)) from error
        except (KeyError, TypeError) as error:
            raise self._server.bad("a list of collections without names") from error

    def _chosen(self, sizes: Mapping[str, int]) -> str | None:
        """The name of the vector to read, empty for the one without a name; None where there is none to take over."""
        if self._wanted:
            if self._wanted not in sizes:
                there = ", ".join(name for name in sizes if name) or "none that has a name"
                raise OptionError(f"there is no vector named {self._wanted!r}; there are: {there}")
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


def _vectors(described: Mapping[str, Any]) -> dict[str, int]:
    """Dense vectors and their sizes. Sparse ones stand elsewhere; of those that have many rows none is taken."""
    config = described.get("config") or {}
    said = (config.get("params") or {}).get("vectors") or {}
    named = {"": said} if isinstance(said.get("size"), int) else said
    return {name: int(each["size"]) for name, each in named.items() if not each.get("multivector_config")}
