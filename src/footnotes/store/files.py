"""Storage for the bytes of originals. We create the names: `<tenant>/<date>/<uuid>`."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from footnotes.errors import SourceUnreadable, StoreError, StoreFull, StoreUnavailable

_BLOCK = 1 << 20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Files(Protocol):
    """Stores files by name."""

    def put(self, path: Path, name: str) -> tuple[str, int]:
        """Copy a file into the storage; return its hash and size."""
        ...

    def find(self, name: str) -> Path | None:
        """Return the local path of the file; None if it does not exist."""
        ...

    def digest(self, name: str) -> str:
        """Return the hash of the stored bytes."""
        ...

    def remove(self, name: str) -> None: ...

    def names(self, tenant: str) -> Iterator[str]:
        """Yield the names of a tenant's files."""
        ...

    def shown(self, name: str) -> str:
        """Return the name of a file as people would look for it."""
        ...


class FolderFiles:
    """Files in a folder, readable only by their owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, path: Path, name: str) -> tuple[str, int]:
        target = self._folder / name
        with opened(path) as source:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                return _copy(source, target)
            except OSError as error:
                raise write_error(error, f"the original of {path.name} cannot be kept") from error

    def find(self, name: str) -> Path | None:
        path = self._folder / name
        return path if path.is_file() else None

    def digest(self, name: str) -> str:
        with (self._folder / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def remove(self, name: str) -> None:
        path = self._folder / name
        try:
            path.unlink(missing_ok=True)
            for folder in (path.parent, path.parent.parent, self._folder):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be removed ({error.strerror})") from error

    def names(self, tenant: str) -> Iterator[str]:
        for path in sorted((self._folder / tenant).rglob("*")):
            if path.is_file():
                yield path.relative_to(self._folder).as_posix()

    def shown(self, name: str) -> str:
        return f"{self._folder.name}/{name}"


def files_of(place: str, folder: Path) -> Files:
    """Return the storage named by the setting `originals`: a bucket, a folder, or by default the library's folder."""
    if "://" in place:
        from footnotes.store.bucket import BucketFiles

        return BucketFiles(place, folder / "fetched")
    return FolderFiles(Path(place).expanduser() if place else folder / "files")


def write_bytes(path: Path, content: bytes) -> None:
    """Write one of the store's own files."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise write_error(error, f"{path.name} cannot be written in {path.parent}") from error


def write_error(error: OSError, sentence: str) -> StoreError:
    """Translate a write error of the system to an error of the tree."""
    kind = StoreFull if error.errno in _NO_ROOM else StoreUnavailable
    return kind(f"{sentence} ({error.strerror})")


def opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise SourceUnreadable(f"{path.name} cannot be read ({error.strerror})") from error


def _copy(source: BinaryIO, target: Path) -> tuple[str, int]:
    """Write the file, private and synced to disk; return its hash and size."""
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        while block := source.read(_BLOCK):
            digest.update(block)
            size += len(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return digest.hexdigest(), size
