"""The two models themselves run here, where their packages are installed."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from footnotes.embed import multilingual
from footnotes.embed.embedders import Embedders
from footnotes.embed.local import LocalEmbedder
from footnotes.embed.multilingual import MultilingualEmbedder, is_english
from footnotes.errors import EmbedderUnavailable, ModelDamaged
from footnotes.settings import Settings

PASSAGES = ["The notice period is three months.", "Katzen schnurren leise.", "Die Kündigungsfrist beträgt drei Monate."]
installed = pytest.mark.skipif(
    find_spec("onnxruntime_extensions") is None or find_spec("memory") is None,
    reason=f"the multilingual model is not installed: {multilingual.USE.install}",
)


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder(threads=1)


@installed
def test_english_is_compared_as_the_english_model_does(embedder: MultilingualEmbedder) -> None:
    question, english = "How long is the notice period?", LocalEmbedder(threads=1)
    passages = embedder.embed(PASSAGES, role="passage")
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    cosines = embedder.gain * (embedder.embed([question], role="query")[0] @ passages.T)
    expected = english.embed([question], role="query")[0] @ english.embed(PASSAGES, role="passage").T
    np.testing.assert_allclose(cosines, expected, atol=1e-3)


@installed
@pytest.mark.parametrize(
    "question", ["Wie lang ist die Kündigungsfrist?", "¿Cuánto dura el plazo de preaviso?", "通知期有多长？"]
)
def test_a_question_in_another_language_finds_passages_in_any(embedder: MultilingualEmbedder, question: str) -> None:
    english, cats, german = embedder.embed([question], role="query")[0] @ embedder.embed(PASSAGES, role="passage").T
    assert min(english, german) > cats + 0.15


@installed
def test_hostile_texts_are_embedded_too(embedder: MultilingualEmbedder) -> None:
    vectors = embedder.embed(["", "\x00\ud800", "字" * 5_000], role="passage")
    assert np.isfinite(vectors).all() and vectors.shape == (3, 896)


@pytest.mark.parametrize("question", ["notice period", "How long?", "BM25", "résumé format", "def main():"])
def test_what_speaks_for_no_other_language_is_english(question: str) -> None:
    assert is_english(question)


@pytest.mark.parametrize("question", ["Wie lang?", "¿Quién?", "多长", "كم", "Почему", "Où est la gare ?"])
def test_what_speaks_for_another_is_not(question: str) -> None:
    assert not is_english(question)


@installed
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbedderUnavailable, match="no multilingual model named 'other'"):
        MultilingualEmbedder("other")
    monkeypatch.setattr(multilingual, "USE", replace(multilingual.USE, package="no-such-package"))
    with pytest.raises(EmbedderUnavailable, match="no-such-package is missing"):
        MultilingualEmbedder().embed(["Wie lang?"], role="query")


@installed
def test_changed_weights_are_never_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "USE", replace(multilingual.USE, sha256="0" * 64))
    with pytest.raises(ModelDamaged, match="sha256 differs"):
        MultilingualEmbedder().embed(["Wie lang?"], role="query")


def test_what_its_cosines_mean_is_known_without_running_it() -> None:
    found = Embedders(Settings(embedder="multilingual:use"), lambda _: None).cosines("multilingual:use")
    assert (found.background, found.gain) == (0.0, pytest.approx(2**0.5))


def test_the_english_half_is_of_the_variant_that_is_set() -> None:
    fast = MultilingualEmbedder.from_settings("multilingual:use", Settings(embedder_variant="fast"))
    assert "/fast-" in fast.fingerprint and "/fast-" not in MultilingualEmbedder().fingerprint
