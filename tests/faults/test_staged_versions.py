"""Versions staged while the indexes could not be written, and bytes that became another document meanwhile."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from libraries import quick_library
from oracle import Oracle
from torture.judge import command, environment, judge


@pytest.mark.parametrize(("seed", "descriptors"), [(310_004, 8), (310_024, 4)])
def test_a_library_is_whole_after_syncs_that_ran_out_of_descriptors(
    tmp_path: Path, seed: int, descriptors: int
) -> None:
    """The seeds are those with which a staged version had the bytes of another document when it could be shown."""
    folder, oracle = tmp_path / "library", Oracle()
    words = command(folder, "sync", seed, "--descriptors", str(descriptors))
    ended = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
    assert "! store_unavailable" in ended.stdout, "nothing failed: the trial says nothing"
    oracle.read(ended.stdout)
    judge(folder, oracle, seed)
    with quick_library(folder) as library:
        library.resume()
        assert library.verify().ok and {document.status for document in library.documents()} == {"ready"}
