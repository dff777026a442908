"""A cross-encoder on this machine: a folder with `model.onnx` and `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from footnotes.embed.hub import find_weights
from footnotes.errors import ConfigError, EmbedderUnavailable, ModelDamaged, ProviderTimeout
from footnotes.remote.deadline import Deadline
from footnotes.types import Hit

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MAX_TOKENS = 512
QUESTION_CHARACTERS = 1_000
"""Longer questions are cut: they would leave no room for the passage, and the tokenizer raises on that."""
BATCH = 8
_BOTH = "Name a folder with model.onnx and tokenizer.json as rerank_model_dir."


class OnnxReranker:
    """Reads question and passage together and returns one score. The first question loads the model."""

    def __init__(self, folder: str, *, threads: int = 0) -> None:
        self._folder, self._threads = Path(folder).expanduser(), threads
        if not (self._folder / "tokenizer.json").is_file():
            raise ConfigError(f"{self._folder} has no tokenizer.json", remedy=_BOTH)
        try:
            self._weights = find_weights(self._folder)
        except EmbedderUnavailable as error:
            raise ConfigError(error.message, remedy=_BOTH) from error

    @property
    def name(self) -> str:
        return f"onnx:{self._folder.name}"

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> list[float]:
        scores: list[float] = []
        for start in range(0, len(hits), BATCH):
            if deadline.over:
                raise ProviderTimeout("reranking did not finish in time")
            scores += self._batch([(question[:QUESTION_CHARACTERS], hit.text) for hit in hits[start : start + BATCH]])
        return scores

    def _batch(self, pairs: list[tuple[str, str]]) -> list[float]:
        encoded = self._tokenizer.encode_batch(pairs)
        arrays = {
            "input_ids": [each.ids for each in encoded],
            "attention_mask": [each.attention_mask for each in encoded],
            "token_type_ids": [each.type_ids for each in encoded],
        }
        input_names = {each.name for each in self._session.get_inputs()}
        inputs = {name: np.array(rows, dtype=np.int64) for name, rows in arrays.items() if name in input_names}
        logits = np.asarray(self._session.run(None, inputs)[0], dtype=np.float64).reshape(len(pairs), -1)
        # Two outputs mean "irrelevant, relevant"; a single one is the relevance.
        return [float(row[-1] - row[0]) if len(row) > 1 else float(row[0]) for row in logits]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        tokenizer.enable_padding()
        return tokenizer

    @cached_property
    def _session(self) -> InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path = str(self._weights)
        try:
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own errors share no other base
            raise ModelDamaged(f"{path} is not a model onnxruntime can load") from error
