"""Vectors that come with a collection: taken over when they are those of the library's embedder, whatever is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.library import Library
from footnotes.testing.embedder import HashingEmbedder
from importing import json_file, many, records, with_vectors


def test_an_unchanged_text_is_never_embedded_twice(counted: Library, embedder: HashingEmbedder, tmp_path: Path) -> None:
    counted.import_from(json_file(tmp_path, many(40)))
    assert embedder.texts == 40
    again = [{**record, "metadata": {"source": "elsewhere"}} for record in many(40)]
    done = counted.import_from(json_file(tmp_path, again))
    assert done.added == 1 and embedder.texts == 40
    assert (done.vectors.taken_over, done.vectors.embedded, done.vectors.known) == (0, 0, 40)


def test_one_foreign_vector_in_the_sample_is_enough(counted: Library, tmp_path: Path) -> None:
    given = with_vectors(many(20))
    given[7]["embedding"] = given[8]["embedding"]
    done = counted.import_from(json_file(tmp_path, given))
    assert (done.vectors.taken_over, done.vectors.embedded) == (0, 20)


@pytest.mark.parametrize("model", ["openai:text-embedding-3-small", "hashing:32"])
def test_a_model_that_is_not_the_librarys_is_not_even_compared(
    counted: Library, embedder: HashingEmbedder, tmp_path: Path, model: str
) -> None:
    done = counted.import_from(json_file(tmp_path, with_vectors(many(5))), model=model)
    (reason,) = done.vectors.reasons
    assert model in reason and "hashing:64" in reason
    assert done.vectors.embedded == 5 and embedder.texts == 5


def test_other_dimensions_are_named(counted: Library, tmp_path: Path) -> None:
    done = counted.import_from(json_file(tmp_path, with_vectors(many(5), dimensions=32)), model="hashing:64")
    assert list(done.vectors.reasons) == ["they have 32 dimensions; those of hashing:64 have 64"]
    assert done.vectors.embedded == 5 and counted.verify().ok


def test_a_text_the_model_did_not_read_to_its_end_gets_a_vector_of_all_of_it(counted: Library, tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(400))
    given = with_vectors([*many(4), *records({"long.pdf": [long]})])
    done = counted.import_from(json_file(tmp_path, given))
    assert (done.vectors.taken_over, done.vectors.embedded) == (4, 1)
    assert "only the beginning" in next(iter(done.vectors.reasons))
