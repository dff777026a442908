"""Vectors of another program are compared with those of the embedder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from footnotes.embed import Matrix
from footnotes.errors import EmbedderUnavailable
from footnotes.ingest.importing.reading import OTHER_SIZE, SAMPLE, UNUSABLE, is_same_model, pack_vector
from footnotes.library import Library
from footnotes.settings import settings_from
from footnotes.testing.embedder import HashingEmbedder
from footnotes.types import Role
from importing import json_file, many, with_vectors


class Lengthy(HashingEmbedder):
    """Compares by dot product, so that the length of a vector counts."""

    metric = "dot"
    largest_norm = 4.0

    def embed(self, texts: Any, *, role: Role) -> Matrix:
        lengths = np.array([[1.0 + len(text) % 3] for text in texts], dtype=np.float32)
        return super().embed(texts, role=role) * lengths


def stored(library: Library) -> dict[str, Any]:
    """The vectors in the store by the texts of their chunks."""
    store = library._store
    side, found = store.copy_side("local"), {}
    for document in library.documents():
        texts = {chunk.id: chunk.text for chunk in library.chunks(document.id)}
        for batch in side.chunks(document.id):
            found.update({texts[chunk.draft.id]: np.frombuffer(chunk.vector or b"", dtype="<f2") for chunk in batch})
    return found


def test_vectors_are_taken_over_as_they_are_and_nothing_but_the_sample_is_embedded(
    counted: Library, embedder: HashingEmbedder, tmp_path: Path
) -> None:
    given = with_vectors(many(200))
    done = counted.import_from(json_file(tmp_path, given))
    assert (done.vectors.taken_over, done.vectors.embedded, done.vectors.known) == (200, 0, 0)
    assert done.vectors.reasons == {} and "cosine of 1.0000" in done.notes[0]
    assert embedder.texts == SAMPLE
    found = stored(counted)
    for record in given:
        vector = np.array(record["embedding"], dtype=np.float32)
        unit = (vector / np.linalg.norm(vector.astype(np.float64))).astype(np.float16)
        assert np.array_equal(found[record["page_content"]], unit)
    assert [document.status for document in counted.documents()] == ["ready"]
    result = counted.search("item150 box1050", mode="dense")
    assert "item150" in result.hits[0].text and result.legs["dense"].status == "ok"
    assert counted.verify().ok


def test_another_model_of_the_same_dimensions_is_found_out_by_the_sample(
    counted: Library, embedder: HashingEmbedder, tmp_path: Path
) -> None:
    given = many(50)
    turned = [{**record, "embedding": record["embedding"][::-1]} for record in with_vectors(given)]
    for options in ({}, {"model": "hashing:64"}):
        done = counted.import_from(json_file(tmp_path, turned), collection=str(options), **options)
        (reason,) = done.vectors.reasons
        assert done.vectors.taken_over == 0 and "makes other vectors" in reason and "cosine" in reason
    assert done.vectors.reasons[reason] == 50
    first_sample, others, second_sample = SAMPLE, 50 - SAMPLE, SAMPLE
    assert embedder.texts == first_sample + others + second_sample  # what the first sample made is kept


def test_vectors_that_cannot_be_compared_are_made_anew(counted: Library, tmp_path: Path) -> None:
    given = with_vectors(many(8))
    given[1]["embedding"] = [0.0] * 64
    given[2]["embedding"] = [1e300] * 64
    given[3]["embedding"] = given[3]["embedding"][:-1]
    given[4]["embedding"] = ["a"] * 64
    given[5]["embedding"] = []
    done = counted.import_from(json_file(tmp_path, given))
    assert (done.vectors.taken_over, done.vectors.embedded) == (3, 5)
    assert done.vectors.reasons == {UNUSABLE: 2, OTHER_SIZE: 1}
    assert counted.verify().ok


def test_lengths_count_where_the_model_compares_by_them(tmp_path: Path) -> None:
    given = many(6)
    embedder = Lengthy()
    raw = embedder.embed([record["page_content"] for record in given], role="passage")
    exact = [{**record, "embedding": [float(x) for x in row]} for record, row in zip(given, raw, strict=True)]
    unit = [
        {**record, "embedding": [float(x) for x in row / np.linalg.norm(row)]}
        for record, row in zip(given, raw, strict=True)
    ]
    for number, (records_given, taken) in enumerate(((exact, 6), (unit, 0))):
        settings = settings_from({})
        with Library(tmp_path / f"library{number}", settings=settings, embedder=Lengthy()) as library:
            assert library.import_from(json_file(tmp_path, records_given)).vectors.taken_over == taken
            assert library.verify().ok


class Broken(HashingEmbedder):
    def embed(self, texts: Any, *, role: Role) -> Matrix:
        raise EmbedderUnavailable("the model is away")


def test_without_the_embedder_texts_are_found_by_their_words_and_the_rest_is_made_later(tmp_path: Path) -> None:
    source = json_file(tmp_path, many(5))
    settings = settings_from({})
    with Library(tmp_path / "library", settings=settings, embedder=Broken()) as library:
        with pytest.raises(EmbedderUnavailable):
            library.import_from(source)
        (document,) = library.documents()
        assert document.status == "queued" and document.error is not None
        assert library.search("item3", mode="lexical").hits
    with Library(tmp_path / "library", settings=settings, embedder=HashingEmbedder()) as library:
        library.resume()
        assert [document.status for document in library.documents()] == ["ready"] and library.verify().ok


def test_names_of_one_model() -> None:
    assert is_same_model("all-MiniLM-L6-v2", "local:minilm-l6")
    assert is_same_model("sentence-transformers/all-MiniLM-L6-v2", "local:minilm-l6")
    assert is_same_model("text-embedding-3-small", "openai:text-embedding-3-small")
    assert is_same_model("nomic-embed-text:latest", "ollama:nomic-embed-text:latest")
    assert not is_same_model("text-embedding-3-large", "openai:text-embedding-3-small")
    assert not is_same_model("all-MiniLM-L12-v2", "local:minilm-l6")


def test_what_is_no_vector() -> None:
    for given in (None, "abc", [], [[1.0], [2.0]], ["x"], [None, {}], 5):
        assert pack_vector(given) is None  # type: ignore[arg-type]
    assert pack_vector([1, 2.5]) == np.array([1, 2.5], dtype="<f4").tobytes()
