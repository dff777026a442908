"""Work that fails, waits, is interrupted and is continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from footnotes.embed import Matrix
from footnotes.errors import EmbedderUnavailable, InvalidVector, NotFound
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.texts import TRAVEL, numbered


class BrokenEmbedder(HashingEmbedder):
    """Works only when allowed to."""

    broken = True

    def embed(self, texts: Any, *, role: Any) -> Matrix:
        if self.broken:
            raise EmbedderUnavailable("it is broken for a test")
        return super().embed(texts, role=role)


class Working:
    """Work that cannot be done now is reported, waits, and is done later."""

    def test_a_file_that_cannot_be_read_stops_nobody(self, harness: StoreHarness, tmp_path: Path) -> None:
        (tmp_path / "empty.txt").write_text("")
        (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
        (tmp_path / "good.txt").write_text(TRAVEL)
        with harness.open() as library:
            added = {Path(item.path).name: item for item in library.add(tmp_path)}
            assert added["good.txt"].status == "ready"
            assert added["broken.pdf"].status == "failed" and added["broken.pdf"].error
            failed = [document for document in library.documents() if document.status == "failed"]
            assert [document.filename for document in failed] == ["broken.pdf"] and failed[0].error
            with pytest.raises(NotFound):
                library.text(failed[0].id)
            jobs = {Path(job.source).name: job.stage for job in library.jobs() if job.run}
            assert jobs == {"good.txt": "ready", "broken.pdf": "failed", "empty.txt": "failed"}
            assert all(not job.holder for job in library.jobs())
            (tmp_path / "broken.pdf").write_text("Not a PDF at all, but a text.")
            library.add(tmp_path / "broken.pdf")
            assert library.verify().ok

    def test_texts_are_found_while_their_vectors_wait(self, harness: StoreHarness) -> None:
        embedder = BrokenEmbedder()
        with harness.open(embedder=embedder) as library:
            added = library.add_text(TRAVEL, filename="a.txt")
            assert added.status == "failed" and added.error and added.error.code == "embedder_unavailable"
            (document,) = library.documents()
            assert document.status == "queued" and document.error and library.status()["waiting"] == 1
            assert library.search("train", mode="lexical").hits
        embedder.broken = False
        with harness.open(embedder=embedder) as library:
            library.resume()
            assert [document.status for document in library.documents()] == ["ready"]
            assert library.search("train", mode="dense").hits and library.verify().ok

    def test_nothing_is_embedded_twice(self, harness: StoreHarness) -> None:
        embedder = HashingEmbedder()
        with harness.open(embedder=embedder, chunker="window", chunker_options={"size": 200, "overlap": 0}) as library:
            paragraphs = [numbered(n, 30) for n in range(8)]
            library.add_text("\n\n".join(paragraphs), filename="a.txt", source="s")
            before = embedder.texts
            library.add_text("\n\n".join(paragraphs), filename="a.txt", collection="other", source="o")
            assert embedder.texts == before
            before = embedder.texts
            library.add_text("\n\n".join([*paragraphs, numbered(99, 30)]), filename="a.txt", source="s")
            assert embedder.texts - before <= 3
            assert library.verify().ok

    def test_vectors_that_are_none_are_refused(self, harness: StoreHarness) -> None:
        class Wrong(HashingEmbedder):
            def embed(self, texts: Any, *, role: Any) -> Matrix:
                return np.full((len(texts), self.dimensions), np.nan, dtype=np.float32)

        with harness.open(embedder=Wrong()) as library:
            added = library.add_text(TRAVEL, filename="a.txt")
            assert added.error is not None and added.error.code == InvalidVector.code
            assert library.status()["waiting"] == 1 and library.search("train").degraded
