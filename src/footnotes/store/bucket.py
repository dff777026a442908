"""Originals in an S3-compatible bucket, through `obstore`. Credentials come from the provider's usual places."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from footnotes.errors import MissingExtra, StoreUnavailable
from footnotes.store.files import opened

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_BLOCK = 1 << 20
_KEPT_SECONDS = 3_600.0
"""A file downloaded for display is removed when the next one is downloaded after this time."""


class BucketFiles:
    """Files in a bucket, under a prefix. Files are downloaded to a local folder to be read."""

    def __init__(self, address: str, fetched: Path) -> None:
        self._address = address
        self._fetched = fetched
        self._store = _open(address)

    def put(self, path: Path, name: str) -> tuple[str, int]:
        digest, size = hashlib.sha256(), 0
        with opened(path) as source:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
            source.seek(0)
            with _translated("written"):
                self._store.put(name, source)
        return digest.hexdigest(), size

    def find(self, name: str) -> Path | None:
        self._forget_old()
        target = self._fetched / name.replace("/", "-")
        if target.is_file():
            return target
        self._fetched.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".part")
        try:
            with _translated("read"), partial.open("wb") as file:
                for block in self._store.get(name).stream():
                    file.write(bytes(block))
            partial.replace(target)
        except FileNotFoundError:
            return None
        finally:
            partial.unlink(missing_ok=True)
        return target

    def digest(self, name: str) -> str:
        digest = hashlib.sha256()
        with _translated("read"):
            for block in self._store.get(name).stream():
                digest.update(bytes(block))
        return digest.hexdigest()

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError), _translated("removed"):
            self._store.delete(name)
        (self._fetched / name.replace("/", "-")).unlink(missing_ok=True)

    def names(self, tenant: str) -> Iterator[str]:
        with _translated("listed"):
            for batch in self._store.list(prefix=f"{tenant}/"):
                yield from sorted(str(item["path"]) for item in batch)

    def shown(self, name: str) -> str:
        return f"{self._address.rstrip('/')}/{name}"

    def _forget_old(self) -> None:
        before = time.time() - _KEPT_SECONDS
        for path in self._fetched.glob("*") if self._fetched.is_dir() else ():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()


def _open(address: str) -> ObjectStore:
    try:
        from obstore.store import from_url
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "originals in a bucket need the package 'obstore'", remedy='pip install "footnotes[postgres]"'
        ) from error
    with _translated("opened"):
        return from_url(address)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Translate all errors of a bucket, except that a file is missing."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreUnavailable(
            f"the bucket of originals cannot be {what} ({message})", remedy="Check the setting originals and its keys."
        ) from error
