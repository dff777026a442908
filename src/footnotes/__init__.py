"""Footnotes answers questions from your own documents, with a footnote for every sentence.

import footnotes

with footnotes.open("~/notes") as library:
    library.add("handbook.pdf")
    print(library.ask("How long is the notice period?"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from footnotes.aio import AsyncLibrary
    from footnotes.client import Client
    from footnotes.library import Library
    from footnotes.settings import Settings

__version__ = "0.1.0"
__all__ = ["AsyncLibrary", "Client", "Library", "Settings", "__version__", "connect", "open"]


def open(folder: str | Path | None = None, **settings: Any) -> Library:  # noqa: A001 - it reads well as footnotes.open
    """The library in a folder, made when there is none. Keyword arguments are settings."""
    from footnotes.library import Library
    from footnotes.settings import load

    return Library(folder, settings=load(_folder(folder), **settings))


def connect(folder: str | Path | None = None, **settings: Any) -> AsyncLibrary:
    """As `open`, for use with `async with`."""
    from footnotes.aio import AsyncLibrary
    from footnotes.settings import load

    return AsyncLibrary(folder, settings=load(_folder(folder), **settings))


def _folder(folder: str | Path | None) -> Path | None:
    from pathlib import Path

    return None if folder is None else Path(folder).expanduser()


def __getattr__(name: str) -> object:
    # Heavy parts load when they are first named, so that `import footnotes` stays quick.
    if name == "Library":
        from footnotes.library import Library

        return Library
    if name == "AsyncLibrary":
        from footnotes.aio import AsyncLibrary

        return AsyncLibrary
    if name == "Client":
        from footnotes.client import Client

        return Client
    if name == "Settings":
        from footnotes.settings import Settings

        return Settings
    raise AttributeError(f"module 'footnotes' has no attribute {name!r}")
