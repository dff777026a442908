"""Late interaction with answerai-colbert-small-v1 over the first hits: `reranker = "colbert"`.

Khattab and Zaharia, "ColBERT: Efficient and effective passage search via contextualized late interaction over BERT",
SIGIR 2020: for each token of the question the best cosine among the passage's tokens, averaged. It is added to the
fused score at half its weight, both in standard deviations of the hits that were read: see docs/evaluation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.embed.files import COLBERT, VOCABULARY, ModelFiles, own_file, read_weights
from footnotes.embed.hub import find_weights, locate_model
from footnotes.embed.session import batches, cores, open_session, padded, unit_rows
from footnotes.embed.tokens import WordPieceTokenizer
from footnotes.errors import ModelDamaged, ProviderTimeout
from footnotes.remote.deadline import Deadline
from footnotes.retrieve.rerankers.late import max_similarity
from footnotes.settings import Settings
from footnotes.types import Hit

Floats = NDArray[np.float64]
WEIGHT = 0.5
MOST_HITS, LEAST_HITS, MOST_TOKENS = 20, 5, 1_500
"""Passages are read until so many tokens are: about 80 ms on two cores, whether they are short or long."""
PASSAGE_TOKENS, QUESTION_TOKENS = 256, 64
QUESTION, PASSAGE = 1, 2
"""[unused0] and [unused1], which the model was taught to see before a question and before a passage."""
_TITLE_WITHIN = 40


class ColbertReranker:
    """Reads question and passages apart and compares their tokens. Loaded at the first question."""

    def __init__(self, files: ModelFiles, *, model: str = "", threads: int = 0) -> None:
        self._files, self._model, self._threads = files, model, threads or cores()

    @classmethod
    def from_settings(cls, model: str, settings: Settings) -> ColbertReranker:
        """A folder or a name on the hub where one is given, else the installed package."""
        files = _in_folder(locate_model(model, settings.models_dir)) if model else COLBERT.find()
        return cls(files, model=model, threads=settings.embedder_threads)

    @property
    def name(self) -> str:
        return f"colbert:{self._model}" if self._model else "colbert"

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> list[float]:
        fused = np.array([hit.scores.fused for hit in hits], dtype=np.float64)
        tokens = self._tokenizer([shown(hit) for hit in hits[:MOST_HITS]])
        tokens = tokens[: _affordable([len(each) for each in tokens])]
        asked = self._question(question)
        similar = np.zeros(len(tokens))
        for rows in batches([len(each) for each in tokens]):
            if deadline.over:
                raise ProviderTimeout("reranking did not finish in time")
            states = self._states([_marked(tokens[row], PASSAGE) for row in rows])
            similar[rows] = [max_similarity(asked, each) for each in states]
        boosts = [hit.scores.boost for hit in hits]
        return [float(score) + boost for score, boost in zip(blend(fused, similar), boosts, strict=True)]

    def _question(self, question: str) -> NDArray[np.float32]:
        (tokens,) = self._tokenizer([question])
        (states,) = self._states([_marked([*tokens[: QUESTION_TOKENS - 1], tokens[-1]], QUESTION)])
        return states

    def _states(self, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """The unit vectors of each text's tokens, without [CLS], the mark and [SEP]."""
        inputs = padded(ids)
        wanted = {each.name: inputs[each.name] for each in self._session.get_inputs()}
        (hidden,) = self._session.run([self._output], wanted)
        return [unit_rows(row[2 : len(each) - 1]) for row, each in zip(hidden, ids, strict=True)]

    @cached_property
    def _tokenizer(self) -> WordPieceTokenizer:
        return WordPieceTokenizer(self._files.tokenizer, max_tokens=PASSAGE_TOKENS)

    @cached_property
    def _session(self) -> Any:
        return open_session(read_weights(self._files), self._threads, origin=str(self._files.weights))

    @cached_property
    def _output(self) -> str:
        """The output with a vector a token."""
        names = [each.name for each in self._session.get_outputs() if len(each.shape) == 3]
        if not names:
            raise ModelDamaged(f"{self._files.weights} gives no vectors of tokens")
        return str(names[0])


def make(model: str, parts: Any) -> ColbertReranker:
    """The reranker of a name; `parts` has the settings."""
    return ColbertReranker.from_settings(model, parts.settings)


def blend(fused: Floats, similar: Floats) -> Floats:
    """Fused scores with the likeness of tokens at half their weight, on the scale of the fused ones.

    `similar` is known of the first alone; those behind stay behind, in their order.
    """
    first, rest = fused[: len(similar)], fused[len(similar) :]
    spread = float(similar.std())
    heard = first if spread < 1e-9 else first.mean() + first.std() * (similar - similar.mean()) / spread
    blended = (first + WEIGHT * heard) / (1 + WEIGHT)
    return np.concatenate([blended, np.minimum(rest, blended.min(initial=np.inf))])


def shown(hit: Hit) -> str:
    """The passage below its title and headings, unless it begins with them."""
    names = dict.fromkeys(name for name in (hit.title or "", *hit.headings) if name)
    above = [name for name in names if name not in hit.text[: len(name) + _TITLE_WITHIN]]
    return f"{' | '.join(above)}\n{hit.text}" if above else hit.text


def _affordable(lengths: Sequence[int]) -> int:
    """How many of the first passages are read."""
    return max(LEAST_HITS, int(np.searchsorted(np.cumsum(lengths), MOST_TOKENS, side="right")))


def _marked(ids: Sequence[int], mark: int) -> list[int]:
    return [ids[0], mark, *ids[1:]]


def _in_folder(folder: Path) -> ModelFiles:
    tokenizer = folder / "tokenizer.json"
    return ModelFiles(find_weights(folder), tokenizer if tokenizer.is_file() else own_file(VOCABULARY), "")
