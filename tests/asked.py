"""A library to ask, with a scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder
from provider import ScriptedProvider

HANDBOOK = (
    "# Work\n\n## Notice\n\nThe notice period is three months.\n\n## Holidays\n\nStaff have 28 days of paid holiday.\n"
)
CANTEEN = "The canteen opens at noon. The cook is Maria Rossi. Maria Rossi was born in Bologna in 1971.\n"


def opened(folder: Path, provider: ScriptedProvider | None = None, **changes: Any) -> Library:
    if provider is not None:
        changes = {"model": "openai:test", "openai_base_url": provider.base_url} | changes
    library = Library(folder / "library", settings=Settings(**changes), embedder=HashingEmbedder())
    library.add_text(HANDBOOK, filename="handbook.md")
    library.add_text(CANTEEN, filename="canteen.txt")
    return library
