"""Models of a folder are run as their own files say: expected vectors are computed by hand from the token states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import footnotes
from footnotes.embed.checked import embed_all
from footnotes.embed.make import make_embedder
from footnotes.embed.onnx import OnnxEmbedder
from footnotes.errors import ConfigError, DimensionMismatch, EmbedderUnavailable, ModelDamaged
from footnotes.settings import Settings
from small_models import states_of, unit, write_model

MODULES = [
    {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]
PROMPTS = {"prompts": {"query": "query: ", "document": "passage: "}, "similarity_fn_name": "cosine"}
ASKED = ("[CLS]", "query", ":", "cats", "purr", "[SEP]")
TOLD = ("[CLS]", "passage", ":", "dogs", "bark", "loudly", "[SEP]")


def pooling(mode: str) -> dict[str, Any]:
    return {"word_embedding_dimension": 8, f"pooling_mode_{mode}": True}


@pytest.mark.parametrize(
    ("mode", "pool"),
    [
        ("mean_tokens", lambda states: states.mean(axis=0)),
        ("cls_token", lambda states: states[0]),
        ("lasttoken", lambda states: states[-1]),
        ("max_tokens", lambda states: states.max(axis=0)),
    ],
)
def test_pooling_and_prefixes_are_the_models_own(tmp_path: Path, mode: str, pool: Any) -> None:
    files = {
        "modules.json": MODULES,
        "1_Pooling/config.json": pooling(mode),
        "config_sentence_transformers.json": PROMPTS,
    }
    embedder = make_embedder(Settings(embedder=f"onnx:{write_model(tmp_path / 'model', files)}", embedder_threads=1))
    (asked,) = embedder.embed(["cats purr"], role="query")
    told = embedder.embed(["dogs bark loudly", "cats"], role="passage")  # of different lengths: padding counts nothing
    np.testing.assert_allclose(asked, unit(pool(states_of(*ASKED))), atol=1e-6)
    np.testing.assert_allclose(told[0], unit(pool(states_of(*TOLD))), atol=1e-6)
    short = states_of("[CLS]", "passage", ":", "cats", "[SEP]")
    np.testing.assert_allclose(told[1], unit(pool(short)), atol=1e-6)


def test_a_pooled_output_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = write_model(
        tmp_path / "m", {"1_Pooling/config.json": pooling("cls_token")}, weights="onnx/model.onnx", kind="pooled"
    )
    (vector,) = OnnxEmbedder(folder, threads=1).embed(["cats purr"], role="passage")
    expected = unit(states_of("[CLS]", "cats", "purr", "[SEP]").max(axis=0))
    np.testing.assert_allclose(vector, expected, atol=1e-6)


def test_long_texts_are_cut_where_the_model_says(tmp_path: Path) -> None:
    files = {"sentence_bert_config.json": {"max_seq_length": 4}, "tokenizer_config.json": {"model_max_length": 512}}
    embedder = OnnxEmbedder(write_model(tmp_path / "m", files), threads=1)
    assert embedder.max_tokens == 4
    cut, short = embedder.embed(["cats purr dogs bark", "cats purr"], role="passage")
    np.testing.assert_allclose(cut, short)
    assert embedder.count_tokens("cats purr dogs bark") == 6
    for config, tokens in (({"model_max_length": 1e30}, 512), ({"model_max_length": 100}, 100)):
        other = write_model(tmp_path / str(tokens), {"tokenizer_config.json": config})
        assert OnnxEmbedder(other).max_tokens == tokens


def test_matryoshka_dimensions(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", {"config.json": {"matryoshka_dimensions": [4, 8]}})
    whole, cut = OnnxEmbedder(folder, threads=1), OnnxEmbedder(folder, threads=1, dimensions=4)
    long, short = (one.embed(["cats"], role="query")[0] for one in (whole, cut))
    np.testing.assert_allclose(short, unit(long[:4]), atol=1e-6)
    assert whole.fingerprint != cut.fingerprint
    with pytest.raises(DimensionMismatch, match="not made for 5") as refused:
        OnnxEmbedder(folder, dimensions=5).embed(["cats"], role="query")
    assert "4, 8" in refused.value.remedy


def test_what_changes_vectors_changes_the_fingerprint_and_the_place_does_not(tmp_path: Path) -> None:
    first, second = (OnnxEmbedder(write_model(tmp_path / name, {})) for name in ("a", "b"))
    assert first.fingerprint == second.fingerprint
    third = OnnxEmbedder(write_model(tmp_path / "c", {"footnotes.json": {"pooling": "cls", "query_prefix": "query: "}}))
    assert third.fingerprint != first.fingerprint
    (vector,) = third.embed(["cats"], role="query")
    np.testing.assert_allclose(vector, unit(states_of("[CLS]")[0]), atol=1e-6)


def test_known_models_that_say_nothing_of_themselves(tmp_path: Path) -> None:
    said = OnnxEmbedder(write_model(tmp_path / "bge-small-en-v1.5", {})).description
    assert said.pooling == "cls" and said.query_prefix.startswith("Represent this sentence")
    named = OnnxEmbedder(write_model(tmp_path / "m", {"config.json": {"_name_or_path": "intfloat/e5-small-v2"}}))
    assert (named.description.query_prefix, named.description.passage_prefix) == ("query: ", "passage: ")


def test_dot_product_models_need_the_length_of_their_vectors(tmp_path: Path) -> None:
    dot = {"config_sentence_transformers.json": {"similarity_fn_name": "dot"}}
    with pytest.raises(ConfigError, match="by the dot product"):
        OnnxEmbedder(write_model(tmp_path / "a", dot)).embed(["cats"], role="query")
    told = OnnxEmbedder(write_model(tmp_path / "b", {**dot, "footnotes.json": {"largest_norm": 9.0}}), threads=1)
    vectors = embed_all(told, ["cats purr", "dogs"], role="passage")
    assert vectors.shape == (2, 9)
    normalised = [*MODULES, {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
    unitary = OnnxEmbedder(write_model(tmp_path / "c", {**dot, "modules.json": normalised}))
    assert unitary.metric == "cosine"


def test_what_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="there is no folder"):
        make_embedder(Settings(embedder="onnx:/nowhere/at/all"))
    with pytest.raises(EmbedderUnavailable, match="holds no ONNX files"):
        OnnxEmbedder(tmp_path).embed(["x"], role="query")
    dense = [*MODULES, {"idx": 2, "path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    with pytest.raises(ModelDamaged, match="dense layer"):
        OnnxEmbedder(write_model(tmp_path / "dense", {"modules.json": dense})).embed(["x"], role="query")
    folder = write_model(tmp_path / "bad", {})
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelDamaged, match="cannot be read as JSON"):
        OnnxEmbedder(folder).embed(["x"], role="query")


def test_a_library_is_searched_with_such_a_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", {"config_sentence_transformers.json": PROMPTS})
    with footnotes.open(tmp_path / "library", embedder=f"onnx:{folder}", mode="dense") as library:
        library.add_texts(["cats purr", "dogs bark loudly"])
        assert library.search("cats").hits[0].text == "cats purr"
        assert json.loads(json.dumps(library.status()["embedder"])) == f"onnx:{folder}"
