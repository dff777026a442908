"""`footnotes show --original`: the file a document was made from, written back."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.errors import OptionError

if TYPE_CHECKING:
    from footnotes.engine import Library
    from footnotes.types import Document


def write_original(library: Library, document: Document, target: str, as_json: bool) -> None:
    """Copy the kept original to a file that is not there yet, or to standard output."""
    kept = library.original(document.id)
    if target == "-":
        with kept.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        return
    try:
        with kept.open("rb") as file, Path(target).open("xb") as written:
            shutil.copyfileobj(file, written)
    except OSError as error:
        remedy = "Name a file that is not there yet, in a folder that is."
        raise OptionError(f"{target} cannot be written ({error.strerror})", remedy=remedy) from error
    said = {"document_id": document.id, "file": target, "bytes": kept.stat().st_size}
    click.echo(json.dumps(said) if as_json else f"wrote {said['bytes']:,} bytes to {target}")
