"""Late interaction with answerai-colbert-small-v1 over the first hits: `reranker = "colbert"`.

Khattab and Zaharia, "ColBERT: Efficient and effective passage search via contextualized late interaction over BERT",
SIGIR 2020: for each token of the question the best cosine among the passage's tokens, averaged. It is added to the
fused score at half its weight, both in standard deviations over the hits read: see docs/evaluation.md.
Source code and passages in languages other than English are not read, and keep their place among the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from footnotes.embed.files import COLBERT, VOCABULARY, ModelFiles, own_file, read_weights
from footnotes.embed.hub import find_weights, locate_model
from footnotes.embed.session import batches, cores, open_session, padded, unit_rows
from footnotes.embed.tokens import WordPieceTokenizer
from footnotes.errors import ConfigError, ModelDamaged, ProviderTimeout
from footnotes.remote.deadline import Deadline
from footnotes.settings import Settings
from footnotes.types import Hit, Role

Floats = NDArray[np.float64]
WEIGHT = 0.5
MOST_HITS, LEAST_HITS, MOST_TOKENS = 20, 5, 1_250
"""Limits on the passages read: a token budget makes the time independent of their length."""
KNOWN_BYTES = 64 * 1024**2
"""Room for about a thousand passages of 150 tokens."""
PASSAGE_TOKENS, QUESTION_TOKENS = 256, 64
QUESTION, PASSAGE = 1, 2
"""[unused0] and [unused1]: in training they marked questions and passages."""
_TITLE_WITHIN = 40


class ColbertReranker:
    """Encodes question and passages separately and compares their tokens. The first question loads the model."""

    def __init__(self, files: ModelFiles, *, model: str = "", threads: int = 0) -> None:
        self._files, self._model, self._threads = files, model, threads or cores()
        self._known = KnownPassages()

    @classmethod
    def from_settings(cls, model: str, settings: Settings) -> ColbertReranker:
        """Use the named folder or model of the hub, else the installed package."""
        files = _in_folder(locate_model(model, settings.models_dir)) if model else COLBERT.find()
        return cls(files, model=model, threads=settings.embedder_threads)

    @property
    def name(self) -> str:
        return f"colbert:{self._model}" if self._model else "colbert"

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> list[float]:
        boosts = np.array([hit.scores.boost for hit in hits], dtype=np.float64)
        found = np.array([hit.score for hit in hits], dtype=np.float64) - boosts
        places = [place for place, hit in enumerate(hits[:MOST_HITS]) if _is_read(hit)]
        if not places:
            return [hit.score for hit in hits]
        tokens = self._tokenizer([text_of(hits[place]) for place in places])
        read = places[: _affordable([len(each) for each in tokens])]
        depth = min(len(hits), MOST_HITS) if len(read) == len(places) else places[len(read)]
        query = self._question(question)
        similar = np.full(depth, np.nan)
        similar[read] = [max_similarity(query, each) for each in self._passages(tokens[: len(read)], deadline)]
        return [float(score) for score in blend(found, similar) + boosts]

    def _passages(self, tokens: Sequence[Sequence[int]], deadline: Deadline) -> list[NDArray[np.float32]]:
        """Return the token vectors of each passage, from the cache or computed now."""
        states = [self._known.get(each) for each in tokens]
        new = [row for row, known in enumerate(states) if known is None]
        for batch in batches([len(tokens[row]) for row in new]):
            if deadline.over:
                raise ProviderTimeout("reranking did not finish in time")
            rows = [new[at] for at in batch]
            for row, computed in zip(rows, self._states([_marked(tokens[row], PASSAGE) for row in rows]), strict=True):
                states[row] = self._known.add(tokens[row], computed)
        return [each for each in states if each is not None]

    def _question(self, question: str) -> NDArray[np.float32]:
        (tokens,) = self._tokenizer([question])
        (states,) = self._states([_marked([*tokens[: QUESTION_TOKENS - 1], tokens[-1]], QUESTION)])
        return states

    def _states(self, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Return unit vectors of each text's tokens, without [CLS], the mark and [SEP]."""
        inputs = padded(ids)
        feed = {each.name: inputs[each.name] for each in self._session.get_inputs()}
        (hidden,) = self._session.run([self._output], feed)
        return [unit_rows(row[2 : len(each) - 1]) for row, each in zip(hidden, ids, strict=True)]

    @cached_property
    def _tokenizer(self) -> WordPieceTokenizer:
        return WordPieceTokenizer(self._files.tokenizer, max_tokens=PASSAGE_TOKENS)

    @cached_property
    def _session(self) -> Any:
        return open_session(read_weights(self._files), self._threads, origin=str(self._files.weights))

    @cached_property
    def _output(self) -> str:
        """The name of the output with one vector per token."""
        names = [each.name for each in self._session.get_outputs() if len(each.shape) == 3]
        if not names:
            raise ModelDamaged(f"{self._files.weights} gives no vectors of tokens")
        return str(names[0])


def make(model: str, parts: Any) -> ColbertReranker:
    """Build the named reranker; `parts` has the settings."""
    return ColbertReranker.from_settings(model, parts.settings)


def blend(fused: Floats, similar: Floats) -> Floats:
    """Blend fused scores with token similarities, which have half their weight and are scaled to the fused ones.

    `similar` covers only the first hits; the others stay behind them, in their order. NaN marks a passage that was not
    read; it counts as similar as the others on average.
    """
    first, rest = fused[: len(similar)], fused[len(similar) :]
    similar = np.where(np.isnan(similar), np.nanmean(similar), similar)
    spread = float(similar.std())
    scaled = first if spread < 1e-9 else first.mean() + first.std() * (similar - similar.mean()) / spread
    blended = (first + WEIGHT * scaled) / (1 + WEIGHT)
    return np.concatenate([blended, np.minimum(rest, blended.min(initial=np.inf))])


class KnownPassages:
    """A bounded cache of passage vectors in int8; drops the least recently used."""

    def __init__(self, most_bytes: int = KNOWN_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._kept: OrderedDict[bytes, NDArray[np.int8]] = OrderedDict()
        self._guard = Lock()

    def get(self, tokens: Sequence[int]) -> NDArray[np.float32] | None:
        with self._guard:
            cached = self._kept.get(key := _key(tokens))
            if cached is None:
                return None
            self._kept.move_to_end(key)
        return unit_rows(cached.astype(np.float32))

    def add(self, tokens: Sequence[int], states: NDArray[np.float32]) -> NDArray[np.float32]:
        """Store the vectors and return them as stored, so that a passage always scores the same."""
        rounded = np.rint(states * (127 / max(float(np.abs(states).max(initial=0.0)), 1e-9))).astype(np.int8)
        with self._guard:
            if _key(tokens) not in self._kept:
                self._kept[_key(tokens)] = rounded
                self._bytes += rounded.nbytes
            while self._bytes > self._most and self._kept:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return unit_rows(rounded.astype(np.float32))


def text_of(hit: Hit) -> str:
    """Return the passage below its title and headings, without those it begins with."""
    names = dict.fromkeys(name for name in (hit.title or "", *hit.headings) if name)
    above = [name for name in names if name not in hit.text[: len(name) + _TITLE_WITHIN]]
    return f"{' | '.join(above)}\n{hit.text}" if above else hit.text


def _is_read(hit: Hit) -> bool:
    """Return whether the model reads a hit. It was trained on English; on code the fused order is better."""
    return hit.language in (None, "", "en")


def _key(tokens: Sequence[int]) -> bytes:
    return np.asarray(tokens, dtype=np.int32).tobytes()


def _affordable(lengths: Sequence[int]) -> int:
    """Return how many of the first passages fit the budget."""
    return max(LEAST_HITS, int(np.searchsorted(np.cumsum(lengths), MOST_TOKENS, side="right")))


def _marked(ids: Sequence[int], mark: int) -> list[int]:
    return [ids[0], mark, *ids[1:]]


def _in_folder(folder: Path) -> ModelFiles:
    tokenizer = folder / "tokenizer.json"
    return ModelFiles(find_weights(folder), tokenizer if tokenizer.is_file() else own_file(VOCABULARY), "")


# Late interaction over the embedder's own token vectors: needs no second model.
#
# Khattab and Zaharia, "ColBERT: Efficient and effective passage search via contextualized late interaction over
# BERT", SIGIR 2020: for each token of the question the best cosine among the passage's tokens, averaged. The score
# adds the cosine of the whole passage, and a fifth of its lexical score relative to the best one.


LEXICAL_WEIGHT = 0.2
BATCH = 8
"""Passages read between two checks of the deadline."""


class TokenVectors(Protocol):
    """`LocalEmbedder.token_vectors`."""

    def __call__(self, texts: Sequence[str], *, role: Role) -> list[NDArray[np.float32]]: ...


class LateReranker:
    """Reranks by token vectors, computed for each search."""

    def __init__(self, token_vectors: TokenVectors | None) -> None:
        if token_vectors is None:
            raise ConfigError(
                "the embedder has no vectors of single tokens, which the reranker 'late' needs",
                remedy="Use the local embedder, or another reranker.",
            )
        self._token_vectors = token_vectors

    @property
    def name(self) -> str:
        return "late"

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> list[float]:
        query = self._token_vectors([question], role="query")[0]
        similar: list[float] = []
        for start in range(0, len(hits), BATCH):
            if deadline.over:
                raise ProviderTimeout("reranking did not finish in time")
            texts = [hit.text for hit in hits[start : start + BATCH]]
            similar += [max_similarity(query, tokens) for tokens in self._token_vectors(texts, role="passage")]
        best = max((hit.scores.lexical.score for hit in hits if hit.scores.lexical), default=0.0)
        return [tokens + _whole(hit) + _lexical(hit, best) for tokens, hit in zip(similar, hits, strict=True)]


def max_similarity(query: NDArray[np.float32], passage: NDArray[np.float32]) -> float:
    """Return the mean over the question's tokens of the best cosine among the passage's tokens."""
    if not len(query) or not len(passage):
        return 0.0
    return float((query @ passage.T).max(axis=1).mean())


def _whole(hit: Hit) -> float:
    return hit.scores.dense.score if hit.scores.dense else 0.0


def _lexical(hit: Hit, best: float) -> float:
    return LEXICAL_WEIGHT * hit.scores.lexical.score / best if hit.scores.lexical and best > 0 else 0.0
