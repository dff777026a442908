"""The packaged models, run on this machine's processor by onnxruntime. No network, no torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from footnotes.embed import Matrix, fast
from footnotes.embed.bert import load_channels, multiplies_exactly, rebuild
from footnotes.embed.description import ModelDescription
from footnotes.embed.files import PACKAGED, ModelFiles, code_model, find_model, read_weights
from footnotes.embed.session import POOL, batches, cores, open_session, padded, unit_rows
from footnotes.embed.tokens import WordPieceTokenizer
from footnotes.errors import EmbedderUnavailable
from footnotes.settings import Settings
from footnotes.types import Role

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
import re

DEFAULT_MODEL = "minilm-l6"


class LocalOptions(TypedDict, total=False):
    """The options that embedders of local models share."""

    threads: int
    variant: str
    models_dir: str


def local_options(settings: Settings) -> LocalOptions:
    return {
        "threads": settings.embedder_threads,
        "variant": settings.embedder_variant,
        "models_dir": settings.models_dir,
    }


class LocalEmbedder:
    """Unit vectors, pooled from token states as the model was trained to. The first text loads the model.

    `threads` 0 means one per core. `model_dir` names a folder with `model.onnx` and `vocab.txt` to use instead of the
    installed weights; such a model reads `max_tokens` and pools by the mean.

    `minilm-l6` multiplies as integers where the processor does so exactly, and as floats elsewhere or with the
    `variant` "float". For other models the variant "fast" is built once and cached in `models_dir`; "fast-questions"
    uses it for questions, and the shipped weights for passages. With `minilm-l6`, Python passages have weights of their
    own. All these vectors share one space and are compared with the same question vector, so the fingerprint is the
    same (docs/decisions/0019).
    """

    def __init__(
        self,
        model: str = "",
        *,
        threads: int = 0,
        variant: str = "int8",
        model_dir: str = "",
        models_dir: str = "~/.cache/footnotes/models",
        max_tokens: int = 256,
    ) -> None:
        self._model = model or DEFAULT_MODEL
        if self._model not in PACKAGED and not model_dir:
            raise EmbedderUnavailable(
                f"there is no local model named {self._model!r}",
                remedy=f"Use local:{' or local:'.join(PACKAGED)}, or name the folder of {self._model!r} as model_dir.",
            )
        self._threads = threads or cores()
        self._variant = variant
        self._model_dir = model_dir
        self._models_dir = Path(models_dir)
        self._max_tokens = max_tokens if model_dir else PACKAGED[self._model].description.max_tokens
        self._loading = Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> LocalEmbedder:
        return cls(name.partition(":")[2], model_dir=settings.model_dir, **local_options(settings))

    @property
    def name(self) -> str:
        return f"local:{self._model}"

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @property
    def background(self) -> float | None:
        return None if self._model_dir else PACKAGED[self._model].description.background

    @property
    def least_words(self) -> float:
        return ModelDescription().least_words if self._model_dir else PACKAGED[self._model].description.least_words

    @cached_property
    def fingerprint(self) -> str:
        """Model, variant, revision of the weights, tokens and dimensions."""
        revision = self._files.sha256 or hashlib.sha256(read_weights(self._files)).hexdigest()
        variant = f"fast-{fast.VERSION}" if self._variant == "fast" else "int8"  # of passages, whose vectors are stored
        return f"{self.name}/{variant}/{revision[:12]}/{self._max_tokens}/{self.dimensions}"

    @cached_property
    def dimensions(self) -> int:
        return 384 if not self._model_dir else int(self._session("passage").get_outputs()[0].shape[-1])

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """Return one unit vector per text, in the given order."""
        description = self._files.description
        prefix = description.query_prefix if role == "query" else description.passage_prefix
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        code = [row for row, text in enumerate(texts) if is_python(text)] if self._reads_code(role) else []
        prose = sorted(set(range(len(texts))) - set(code))
        for chosen, is_code in ((prose, False), (code, True)):
            if not chosen:
                continue
            session = self._code_session if is_code else self._session(role)
            for rows, hidden, mask in self._runs([prefix + texts[row] for row in chosen], session):
                vectors[[chosen[row] for row in rows]] = unit_rows(POOL[description.pooling](hidden, mask))
        return vectors

    def _reads_code(self, role: Role) -> bool:
        return role == "passage" and self._is_minilm

    @property
    def _is_minilm(self) -> bool:
        return self._model == DEFAULT_MODEL and not self._model_dir

    def count_tokens(self, text: str) -> int:
        """Count a text's tokens in the model's own vocabulary."""
        return self._tokenizer.count(text)

    def token_vectors(self, texts: Sequence[str], *, role: Role) -> list[Matrix]:
        """Return unit vectors of each text's tokens, without [CLS] and [SEP], for late interaction."""
        found: list[Matrix] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        for rows, hidden, mask in self._runs(texts, self._session(role)):
            for row, tokens, count in zip(rows, hidden, mask.sum(axis=1), strict=True):
                found[row] = unit_rows(tokens[1 : int(count) - 1])
        return found

    def _runs(
        self, texts: Sequence[str], session: InferenceSession
    ) -> Iterator[tuple[list[int], Matrix, NDArray[np.int64]]]:
        """Yield the model's output in batches of similar length: (rows of `texts`, token states, mask)."""
        input_names = [each.name for each in session.get_inputs()]
        ids = self._tokenizer(texts)
        for rows in batches([len(each) for each in ids]):
            inputs = padded([ids[row] for row in rows])
            hidden = session.run(None, {name: inputs[name] for name in input_names})[0]
            yield rows, hidden, inputs["attention_mask"]

    @cached_property
    def _files(self) -> ModelFiles:
        return find_model(self._model, self._model_dir)

    @cached_property
    def _tokenizer(self) -> WordPieceTokenizer:
        return WordPieceTokenizer(self._files.tokenizer, max_tokens=self._max_tokens)

    def _session(self, role: Role) -> InferenceSession:
        """Return the model for texts of a role; the first of them loads it."""
        is_fast = self._variant == "fast" or (self._variant == "fast-questions" and role == "query")
        is_fast = is_fast and not self._is_minilm  # which is faster as it is
        with self._loading:
            return self._fast if is_fast else self._shipped

    @cached_property
    def _shipped(self) -> InferenceSession:
        return self._opened(self._files, read_weights(self._files))

    @cached_property
    def _fast(self) -> InferenceSession:
        return self._opened(self._files, fast.fast_weights(self._files, self._models_dir.expanduser()))

    @property
    def _code_session(self) -> InferenceSession:
        with self._loading:
            return self._loaded_for_code

    @cached_property
    def _loaded_for_code(self) -> InferenceSession:
        files = code_model()
        return self._opened(files, read_weights(files))

    def _opened(self, files: ModelFiles, weights: bytes) -> InferenceSession:
        if self._is_minilm:
            integers = self._variant != "float" and multiplies_exactly()
            weights = rebuild(weights, load_channels() if integers else None)
        return open_session(weights, self._threads, origin=str(files.weights))


# ── detects Python: its passages are embedded by weights trained on functions ─────────────────────────────────


_DEFINES = re.compile(r"^[ \t]*(?:async def|def|class) +\w+.*[:(,]\s*$", re.MULTILINE)
_STATEMENT = re.compile(
    r"^\s*(?:(?:async )?(?:def|for|with) .*|(?:class|if|elif|while|except|else|try|finally)\b.*:|@\w.*"
    r"|(?:return|raise|yield|import|from|assert|del|pass|break|continue)\b[^.]*"
    r"|[\w.\[\]'\", ]+ [-+*/|&]?= .*|.*[)\]},({\[]|\"\"\".*)\s*$"
)
_LEAST = 0.35
"""The least share of lines that are statements: a function may be shorter than its docstring, but prose has fewer."""
_MOST_CHARACTERS = 4_000


def is_python(text: str) -> bool:
    """Return whether a text holds a definition and enough of its lines are statements."""
    text = text[:_MOST_CHARACTERS]
    if ("def " not in text and "class " not in text) or not _DEFINES.search(text):
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(_STATEMENT.match(line) is not None for line in lines) >= _LEAST * len(lines)
