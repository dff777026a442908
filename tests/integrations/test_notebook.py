"""The notebook of the documentation runs, and prints what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parent.parent.parent / "docs" / "notebooks" / "frameworks.ipynb"


def shown(notebook: Any) -> list[str]:
    """What the cells of a notebook printed and gave."""
    outputs = [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]
    printed = [one.text for one in outputs if one.output_type == "stream" and one.name == "stdout"]
    return printed + [one.data["text/plain"] for one in outputs if one.output_type == "execute_result"]


def test_the_notebook_shows_what_it_prints() -> None:
    written = nbformat.read(NOTEBOOK, as_version=4)
    again = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(again, timeout=300, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    assert shown(again) == shown(written) != []
