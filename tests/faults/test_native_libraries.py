"""Native libraries get on with each other, whichever is loaded first: the order depends on what a user does first."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

LIBRARIES = ("apsw", "tantivy", "usearch.index", "onnxruntime", "tokenizers", "pypdfium2")


@pytest.mark.parametrize("pair", list(itertools.permutations(LIBRARIES, 2)), ids=" then ".join)
def test_any_two_load_in_any_order(pair: tuple[str, str]) -> None:
    first, second = pair
    done = subprocess.run([sys.executable, "-c", f"import {first}, {second}"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-500:]
