"""The languages that embedders support."""

from __future__ import annotations

from footnotes.embed.languages import foreign, known_languages


def test_models_and_what_they_know() -> None:
    assert known_languages("local:minilm-l6") == known_languages("local:bge-small") == ("en",)
    assert known_languages("onnx:intfloat/multilingual-e5-small") == ("*",)
    assert known_languages("fastembed:BAAI/bge-small-en-v1.5") == ("en",)
    assert known_languages("onnx:somebody/something") is None
    assert foreign(["de", "en", "python", "fr"], "local:minilm-l6") == ["de", "fr"]
    assert foreign(["de"], "openai:text-embedding-3-small") == []
