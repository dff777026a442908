"""MiniLM in a graph of our own: as floats the same vectors, as integers nearly, whatever stands beside a text."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from footnotes.embed import Matrix, bert
from footnotes.embed.files import ModelFiles, code_model, find_model, own_file, read_weights
from footnotes.embed.local import LocalEmbedder
from footnotes.embed.session import mean_of_tokens, open_session, padded, unit_rows
from footnotes.embed.tokens import WordPieceTokenizer

TEXTS = (
    "How long is the notice period?",
    "Employment ends three months after it was terminated in writing. " * 6,
    "def total(rows):\n    return sum(row.amount for row in rows)\n",
    "Ärzte und Patienten: 12.5 mg/l (p < 0.01), 日本語の文書.",
)
FILES = {"prose": find_model("minilm-l6", ""), "code": code_model()}


def vectors(weights: bytes, texts: tuple[str, ...] = TEXTS) -> Matrix:
    session = open_session(weights, 1, origin="test")
    assert isinstance(session, onnxruntime.InferenceSession)
    tokens = WordPieceTokenizer(own_file("bert-uncased-vocab.txt"), max_tokens=256)(texts)
    inputs = padded(tokens)
    names = [each.name for each in session.get_inputs()]
    return unit_rows(
        mean_of_tokens(session.run(None, {each: inputs[each] for each in names})[0], inputs["attention_mask"])
    )


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_floats_give_the_vectors_of_the_file(files: ModelFiles) -> None:
    """The code's file is multiplied in blocks of integers by onnxruntime itself: it is a little further away."""
    weights = read_weights(files)
    near = (vectors(bert.rebuild(weights, None)) * vectors(weights)).sum(axis=1)
    assert (near > (0.99999 if files is FILES["prose"] else 0.999)).all()


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_integers_give_nearly_the_same(files: ModelFiles) -> None:
    weights = read_weights(files)
    near = (vectors(bert.rebuild(weights, bert.load_channels())) * vectors(bert.rebuild(weights, None))).sum(axis=1)
    assert (near > 0.998).all()
    assert (near < 0.99999).all()


@pytest.mark.parametrize("is_integer", [True, False])
def test_what_is_built_is_valid(is_integer: bool) -> None:
    channels = bert.load_channels() if is_integer else None
    model = onnx.load_from_string(bert.rebuild(read_weights(FILES["prose"]), channels))
    onnx.checker.check_model(model)
    operators = [node.op_type for node in model.graph.node]
    assert operators.count("MatMulIntegerToFloat") == (24 if is_integer else 0)
    assert len(model.graph.initializer) == len({each.name for each in model.graph.initializer})


def test_a_vector_does_not_depend_on_the_texts_beside_it() -> None:
    weights = bert.rebuild(read_weights(FILES["prose"]), bert.load_channels())
    together = vectors(weights)
    for row, text in enumerate(TEXTS):
        assert together[row] @ vectors(weights, (text,))[0] > 0.9998


def test_integers_are_used_only_where_they_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the fingerprint is the same: all these vectors are compared with one another."""
    texts = list(TEXTS)
    usual, floats = LocalEmbedder(threads=1), LocalEmbedder(threads=1, variant="float")
    monkeypatch.setattr("footnotes.embed.local.multiplies_exactly", lambda: False)
    elsewhere = LocalEmbedder(threads=1)
    expected = floats.embed(texts, role="passage")
    np.testing.assert_array_equal(elsewhere.embed(texts, role="passage"), expected)
    monkeypatch.setattr("footnotes.embed.local.multiplies_exactly", lambda: True)
    near = (usual.embed(texts, role="passage") * expected).sum(axis=1)
    assert (near < 0.99999).all()
    assert usual.fingerprint == floats.fingerprint == elsewhere.fingerprint


def test_exactness_is_asked_of_onnxruntime() -> None:
    assert bert.multiplies_exactly() in (True, False)
