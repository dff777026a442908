"""all-MiniLM-L6-v2 on this machine's processor, through onnxruntime. No network, no torch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.embed import Matrix
from footnotes.embed.files import ModelFiles, find_model, read_weights
from footnotes.embed.tokens import WordPieceTokenizer
from footnotes.errors import EmbedderUnavailable, ModelDamaged
from footnotes.types import Role

DEFAULT_MODEL = "minilm-l6"
BATCH_TOKENS = 1024
"""Padded tokens in one run of the model: more is slower (caches) and takes up to three times the memory."""


class LocalEmbedder:
    """Unit vectors by mean pooling over the model's tokens. The model is loaded at the first text.

    `threads` 0 means one a core. `model_dir` names a folder with `model.onnx` and `vocab.txt` to use instead
    of the installed weights. The model treats questions and passages alike.
    """

    def __init__(
        self, model: str = "", *, threads: int = 0, variant: str = "int8", model_dir: str = "", max_tokens: int = 256
    ) -> None:
        self._model = model or DEFAULT_MODEL
        if self._model != DEFAULT_MODEL and not model_dir:
            raise EmbedderUnavailable(
                f"there is no local model named {self._model!r}",
                remedy=f"Use local:{DEFAULT_MODEL}, or name the folder of {self._model!r} as model_dir.",
            )
        self._threads = threads or _cores()
        self._variant = variant
        self._model_dir = model_dir
        self._max_tokens = max_tokens
        self._loading = Lock()

    @property
    def name(self) -> str:
        return f"local:{self._model}"

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @cached_property
    def fingerprint(self) -> str:
        """Model, variant, revision of the weights, tokens, dimensions."""
        revision = self._files.sha256 or hashlib.sha256(read_weights(self._files)).hexdigest()
        return f"{self.name}/{self._variant}/{revision[:12]}/{self._max_tokens}/{self.dimensions}"

    @cached_property
    def dimensions(self) -> int:
        return 384 if not self._model_dir else int(self._session.get_outputs()[0].shape[-1])

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """One unit vector a text, in the order given."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for rows, hidden, mask in self._runs(texts):
            vectors[rows] = _mean_of_tokens(hidden, mask)
        return vectors

    def count_tokens(self, text: str) -> int:
        """How many of the model's own tokens a text has."""
        return self._tokenizer.count(text)

    def token_vectors(self, texts: Sequence[str], *, role: Role) -> list[Matrix]:
        """The unit vectors of each text's own tokens, without [CLS] and [SEP]: what late interaction compares."""
        found: list[Matrix] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        for rows, hidden, mask in self._runs(texts):
            for row, tokens, count in zip(rows, hidden, mask.sum(axis=1), strict=True):
                found[row] = _unit(tokens[1 : int(count) - 1])
        return found

    def _runs(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Matrix, NDArray[np.int64]]]:
        """The model's output in batches of similar length: (rows of `texts`, token states, mask)."""
        session = self._session
        wanted = [each.name for each in session.get_inputs()]
        ids = self._tokenizer(texts)
        for rows in _batches([len(each) for each in ids]):
            inputs = _padded([ids[row] for row in rows])
            hidden = session.run(None, {name: inputs[name] for name in wanted})[0]
            yield rows, hidden, inputs["attention_mask"]

    @cached_property
    def _files(self) -> ModelFiles:
        return find_model(self._model_dir)

    @cached_property
    def _tokenizer(self) -> WordPieceTokenizer:
        return WordPieceTokenizer(self._files.tokenizer, max_tokens=self._max_tokens)

    @property
    def _session(self) -> Any:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> Any:
        return _open_session(read_weights(self._files), self._threads, origin=str(self._files.weights))


def _open_session(weights: bytes, threads: int, *, origin: str) -> Any:
    """A session that sleeps while it waits: spinning threads starve everything else on a shared machine."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # batches differ in shape: a pattern for each only costs memory
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own classes share no base but this
        raise ModelDamaged(f"{origin} is not a model onnxruntime can load") from error


def _cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows grouped longest first, each group within the token budget once padded."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        size = max(1, BATCH_TOKENS // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def _padded(ids: Sequence[Sequence[int]]) -> dict[str, NDArray[np.int64]]:
    """The model's inputs, padded to the longest of the batch."""
    width = max(len(each) for each in ids)
    tokens = np.zeros((len(ids), width), dtype=np.int64)
    mask = np.zeros_like(tokens)
    for row, each in enumerate(ids):
        tokens[row, : len(each)] = each
        mask[row, : len(each)] = 1
    return {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}


def _mean_of_tokens(hidden: Matrix, mask: NDArray[np.int64]) -> Matrix:
    """Mean pooling, then unit length (Reimers and Gurevych, Sentence-BERT, EMNLP 2019)."""
    weights = mask.astype(np.float32)
    summed = np.matmul(weights[:, None, :], hidden)[:, 0, :]
    return _unit(summed / weights.sum(axis=1, keepdims=True))


def _unit(vectors: Matrix) -> Matrix:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Matrix = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return unit
