"""Several concurrent writers, and one that dies while an index catches up."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter

import pytest

from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.index import IndexUnderTest, check_whole
from footnotes.testing.suite.index_texts import put, text_of

_WRITE = """
import sys
from footnotes.testing.suite.index_texts import put
first = int(sys.argv[1])
kept = []
for number in range(first, first + 5):
    kept.append(put(library, number))
    if number == first + 2:
        library.delete(kept.pop(0))
library.close()
"""
_DIE = """
import importlib, os, signal
module, name = {writer!r}.split(":")
owner = getattr(importlib.import_module(module), name)
plain = owner.apply

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(self, changes, *, position):
    def some():
        for number, change in enumerate(changes):
            if number == {after}:
                die()
            yield change
    plain(self, some(), position=position)
    die()

owner.apply = dying
library.verify()
"""


class Writers:
    """With any writer, both sides have the same content in the end."""

    def test_two_processes_write_while_a_third_searches(self, index: IndexUnderTest) -> None:
        with index.open() as library:
            put(library, 0)
        harness = StoreHarness(index.harness.folder, {**index.harness.settings, "lock_seconds": 60.0})
        code = harness.interpreter_lines() + _WRITE
        words = [sys.executable, "-c", code]
        running = [subprocess.Popen([*words, str(first)], stderr=subprocess.PIPE) for first in (100, 200)]  # noqa: S603
        texts = {f"{n}.md": text_of(n) for n in (0, *range(100, 105), *range(200, 205))}
        seen: Counter[str] = Counter()
        with index.open() as library:
            while any(process.poll() is None for process in running):
                found = library.search("common", mode=index.leg, limit=100, per_document=10)
                assert found.legs[index.leg].status in ("ok", "pending"), found.legs
                assert all(hit.text.strip() in texts[hit.filename] for hit in found.hits)
                seen.update({hit.filename for hit in found.hits})
                time.sleep(0.02)
            outputs = [process.communicate(timeout=60)[1].decode() for process in running]
            assert [process.returncode for process in running] == [0, 0], outputs
            check_whole(index, library)
            assert len(library.documents()) == 1 + 2 * 4
        assert seen["0.md"], "searches must have found something meanwhile"

    @pytest.mark.parametrize("after", [1, 99])
    def test_one_who_dies_while_it_catches_up_is_gone_on_for(self, index: IndexUnderTest, after: int) -> None:
        """Killed amid the changes, and after the last."""
        if index.never_behind:
            pytest.skip(f"{index.name}: {index.never_behind}")
        settings = {**index.harness.settings, **index.in_small_steps}
        harness = StoreHarness(index.harness.folder, settings)
        with index.open(**settings) as library:
            for number in range(3):
                put(library, number)
        index.stop()
        with index.open(**settings) as library:
            for number in range(3, 7):
                put(library, number)
            put(library, 1, extra=" Another text.")
            library.delete(next(document.id for document in library.documents() if document.filename == "0.md"))
        index.start()
        code = harness.interpreter_lines() + _DIE.format(writer=index.writer, after=after)
        died = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)  # noqa: S603
        assert died.returncode == -9, died.stderr.decode()
        with index.open(**settings) as library:
            check_whole(index, library)
            assert len(library.documents()) == 6
