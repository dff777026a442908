"""What a process that was killed had acknowledged, and whether a library still has it."""

from __future__ import annotations

from footnotes.library import Library
from footnotes.types import Document


class Oracle:
    """What the victim acknowledged, over all its lives; what it only began may have happened or not."""

    def __init__(self, *, lists_interrupted: bool = False) -> None:
        self.sure: dict[str, set[str]] = {}
        self._lists_interrupted = lists_interrupted
        """PostgreSQL lists what was begun and never complete as failed; a folder forgets it."""

    def read(self, output: str) -> None:
        for line in output.splitlines():
            parts = line.split()
            if not parts or parts[0] in ("g", "!", "done"):
                continue
            kind, name = parts[0], parts[1]
            if kind == "?":
                self.sure.setdefault(name, {"gone"}).add(parts[2])
            elif kind == "+":
                self.sure[name] = {parts[2]}
            else:
                self.sure[name] = {"gone"}

    def check(self, library: Library) -> None:
        assert library.verify().ok
        found = self._found(library)
        assert {d.status for d in found.values()} <= {"ready", "queued"}, "nothing is in a running state"
        assert all(d.error and d.error.code == "interrupted" for d in found.values() if d.status == "queued")
        for name, possible in self.sure.items():
            state = "gone"
            if name in found:
                first = library.text(found[name].id, 0, 60).split()[1]
                state = first.partition("v")[2]
                # Parts of a marker are words too: a shorter chunk of another document may stand before this one.
                hits = library.search(first, mode="lexical", limit=50, per_document=1).hits
                its_own = [hit for hit in hits if hit.document_id == found[name].id and first in hit.text]
                assert its_own, f"{name} is listed but not found"
            assert state in possible, f"{name} is {state}, acknowledged was {possible}"
            self.sure[name] = {state}
        assert set(found) <= set(self.sure)

    def check_resumed(self, library: Library) -> None:
        library.resume()
        assert {d.status for d in self._found(library).values()} <= {"ready"}
        assert not any(job.holder or job.stage not in ("ready", "failed") for job in library.jobs())
        self.check(library)

    def _found(self, library: Library) -> dict[str, Document]:
        """The documents by their sources, without those that were begun and never acknowledged."""
        found = library.documents()
        if self._lists_interrupted:
            found = [d for d in found if d.status != "failed" or d.error is None or d.error.code != "interrupted"]
        return {d.source: d for d in found}
