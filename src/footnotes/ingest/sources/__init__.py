"""Sources to follow: buckets, file servers, repositories, mailboxes, sites, feeds, databases and exports.

A source lists entries and reads one entry; `sync.py` does everything else for all sources. Each kind is one file, found
by the scheme of an address through the entry points `footnotes.sources`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from footnotes.ingest.sources.address import Address
from footnotes.types import Metadata

__all__ = ["Address", "BaseSource", "Content", "Entry", "LeftOut", "Source"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a source. `key` names it for good inside its source; `stamp` changes whenever the item changes.

    `metadata` is added to every document of the entry. The stamp must cover both content and metadata: an entry with
    the same stamp is not read again.
    """

    key: str
    stamp: str
    size: int | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item that is there but not ingested now, and why. Documents of it, and below it, stay."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Content:
    """A file of an entry. The first has no `part`; for further ones, such as attachments, `part` is the name."""

    path: Path
    filename: str
    part: str = ""
    metadata: Metadata = field(default_factory=dict)
    mime: str = ""


class Source(Protocol):
    """A source to sync, opened by `opened(address)`. Any exception means that the source is unreachable.

    `root` is the address that names its documents: `root/key`. It never contains a secret. `name` is the name of the
    source itself: two sources with one root know only their own documents. A listing that is not `complete` has only
    the newest entries: missing ones are not deleted. With `stamps_are_hashes`, two entries with one stamp have the same
    content, so a rename is detected without reading.
    """

    root: str
    name: str
    complete: bool
    stamps_are_hashes: bool
    known: Mapping[str, str]
    """The stamps that the library has, by key; set before anything is listed."""

    @classmethod
    def opened(cls, address: Address) -> Source: ...

    def version(self) -> str | None:
        """Return a text that changes whenever the source does; None if the source cannot tell without listing."""

    def entries(self) -> Iterator[Entry | LeftOut]:
        """List every entry. An incomplete listing must raise, so nothing is deleted."""

    def prepare(self, entries: Sequence[Entry]) -> None:
        """Prepare to read these entries next, for example with one request."""

    def read(self, entry: Entry, folder: Path) -> Iterable[Content]:
        """Write an entry to files in an empty folder. Raises `FileNotFoundError` if it is gone since the listing."""

    def close(self) -> None: ...


class BaseSource(ABC):
    """The common part of most sources. A subclass adds `entries` and `read`."""

    complete: bool = True
    stamps_are_hashes: bool = False

    def __init__(self, address: Address) -> None:
        self.known: Mapping[str, str] = {}
        self.root = self.name = address.text
        self.address = address
        self.limit = address.settings.max_file_bytes

    @classmethod
    def opened(cls, address: Address) -> Self:
        address.check_options(*cls.options())
        return cls(address)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """Return the options of this kind of source."""
        return ()

    @classmethod
    def check_rights(cls, address: Address) -> None:
        """Raise, without a connection, if an untrusted address names what only the server's operator may reach."""
        address.check_named_host()

    def version(self) -> str | None:
        return None

    @abstractmethod
    def entries(self) -> Iterator[Entry | LeftOut]: ...

    def prepare(self, entries: Sequence[Entry]) -> None:  # noqa: B027
        pass

    @abstractmethod
    def read(self, entry: Entry, folder: Path) -> Iterable[Content]: ...

    def close(self) -> None:  # noqa: B027
        pass
