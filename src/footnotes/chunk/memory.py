"""What a model once decided, kept in a folder: one small file for each question, named by its hash."""

from __future__ import annotations

import os
from pathlib import Path


class FolderMemory:
    """Remembers answers for as long as the folder stands. Holds no text of a document."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> str | None:
        try:
            return (self._folder / key).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def put(self, key: str, value: str) -> None:
        """Written whole or not at all; what cannot be written is asked again next time."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft = self._folder / f"{key}.{os.getpid()}"
            draft.write_text(value, encoding="utf-8")
            draft.replace(self._folder / key)
        except OSError:
            return
