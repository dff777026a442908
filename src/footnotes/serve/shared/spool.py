"""Bytes on their way from a server to a worker, in a folder both can reach."""

from __future__ import annotations

from pathlib import Path


class Spool:
    """Names are made by us, never by a client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def drop(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
