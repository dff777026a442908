"""Runs our own small models: does evidence support a claim, does a sentence answer a question?

Three files of int8 weights come with the package, made by the scripts in `training/`. Each is checked against its
sha256 and loaded at the first question that needs it. No network, no torch.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footnotes.answer.encode import Encoded, encode_claim, encode_window
from footnotes.embed.tokens import WordPieceTokenizer
from footnotes.errors import ModelDamaged

Logits = NDArray[np.float32]
SECOND, READ_TWICE = "chooser-12", 3
"""The chooser of twice as many layers, and how many windows it reads: those in which the first one finds the likeliest
sentences. The two err apart: the mean of their log odds is better than either."""
SHA256 = {
    "verifier": "0f99586ea00b44ce10db9f930f77862a5eb83102d78a5e618dac31ace3d9fcd4",
    "chooser": "d3fa63bb77092da996fbfe0720d540ebd9e9020f6fd4061ef37e845ce1642402",
    "chooser-12": "878fd8ccb437addf1c79901855ddaa86a2ba237de02479750f1242b3fa42f521",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The likelihoods that evidence supports a claim, does not, or contradicts it; their sum is 1."""

    supported: float
    unsupported: float
    contradicted: float


@dataclass(frozen=True, slots=True)
class Window:
    """A run of sentences to choose from, under a title."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """How likely a window answers, and how likely each of its sentences does. Sentences that did not fit get 0."""

    passage: float
    sentences: tuple[float, ...]


class Reader:
    """Loads each model once, at its first use. Safe to use from several threads."""

    def __init__(self, *, threads: int = min(2, os.cpu_count() or 1)) -> None:
        self._threads = threads
        self._sessions: dict[str, object] = {}
        self._loading = Lock()

    def verify(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """Return for each pair of evidence and claim how likely the first supports the second."""
        logits = self._run("verifier", [encode_claim(self._tokens, *pair) for pair in pairs])
        chances = [np.exp(each[0] - each[0].max()) for each in logits]
        return [Verdict(*(float(part) for part in each / each.sum())) for each in chances]

    def choose(self, question: str, windows: Sequence[Window]) -> list[Choice]:
        """Return for each window how likely it answers the question, and with which sentence."""
        encoded = [encode_window(self._tokens, question, window.title, window.sentences) for window in windows]
        logits = self._run("chooser", encoded)
        best = sorted(range(len(logits)), key=lambda place: -logits[place][1:, 1].max(initial=-np.inf))[:READ_TWICE]
        for place, again in zip(best, self._run(SECOND, [encoded[each] for each in best]), strict=True):
            logits[place] = (logits[place] + again) / np.float32(2)
        chosen = []
        for window, each in zip(windows, logits, strict=True):
            chances = 1.0 / (1.0 + np.exp(-each))
            rest = (0.0,) * (len(window.sentences) + 1 - len(each))
            chosen.append(Choice(float(chances[0, 0]), (*map(float, chances[1:, 1]), *rest)))
        return chosen

    def load(self, name: str) -> None:
        """Load a model now, the chooser with the second one. Raises if its file is damaged."""
        for each in (name, SECOND) if name == "chooser" else (name,):
            self._session(each)

    def _run(self, name: str, encoded: Sequence[Encoded]) -> list[Logits]:
        """Return the logits at the marks of each item. One at a time: int8 activations depend on the batch."""
        session = self._session(name)
        return [session.run(None, _inputs(each))[0][0] for each in encoded]

    @cached_property
    def _tokens(self) -> Any:
        with resources.as_file(resources.files("footnotes.embed") / "data" / "bert-uncased-vocab.txt") as path:
            tokenizer = WordPieceTokenizer(path, max_tokens=512)
        return lambda text: tokenizer([text])[0][1:-1]

    def _session(self, name: str) -> Any:
        with self._loading:
            if name not in self._sessions:
                self._sessions[name] = _load(name, self._threads)
            return self._sessions[name]


def _inputs(each: Encoded) -> dict[str, NDArray[np.int64]]:
    ids = np.array([each.ids], dtype=np.int64)
    types = np.zeros_like(ids)
    types[0, each.second :] = 1
    return {"ids": ids, "types": types, "attended": np.ones_like(ids), "read": np.array([each.marks], dtype=np.int64)}


def _load(name: str, threads: int) -> object:
    import onnxruntime

    try:
        weights = (resources.files("footnotes.answer") / "data" / f"{name}.onnx").read_bytes()
    except OSError as error:
        raise ModelDamaged(f"{name}.onnx cannot be read: {error}", remedy="Install Footnotes again.") from error
    if hashlib.sha256(weights).hexdigest() != SHA256[name]:
        raise ModelDamaged(f"{name}.onnx is not the file that came with Footnotes", remedy="Install Footnotes again.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
