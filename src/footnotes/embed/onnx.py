"""Any text-embedding model in a folder: ONNX weights, `tokenizer.json`, and files that describe it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footnotes.embed import Matrix
from footnotes.embed.description import ModelDescription, read_description
from footnotes.embed.hub import find_weights, locate_model, read_pinned_hashes
from footnotes.embed.session import POOL, batches, cores, open_session, padded, unit_rows
from footnotes.embed.tokens import WordPieceTokenizer
from footnotes.errors import ConfigError, DimensionMismatch, EmbedderUnavailable, ModelDamaged
from footnotes.settings import Settings
from footnotes.types import Role

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

WHOLE_TEXT = "sentence_embedding"
"""The output of models exported with their pooling."""


class OnnxEmbedder:
    """One model in a folder, run as its own files describe. The first text loads it.

    `dimensions` cuts vectors to one of the lengths the model was trained for (Kusupati et al., "Matryoshka
    Representation Learning", NeurIPS 2022).
    """

    def __init__(self, folder: Path, *, name: str = "", threads: int = 0, dimensions: int = 0) -> None:
        self._folder = folder
        self._name = name or f"onnx:{folder}"
        self._threads = threads or cores()
        self._asked = dimensions
        self._loading = Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> OnnxEmbedder:
        model = name.partition(":")[2]
        if not model:
            raise ConfigError("the model is not named", remedy="Write it as onnx:FOLDER or onnx:ORGANISATION/NAME.")
        folder = locate_model(model, settings.models_dir)
        return cls(folder, name=name, threads=settings.embedder_threads, dimensions=settings.embedder_dimensions)

    @property
    def name(self) -> str:
        return self._name

    @cached_property
    def description(self) -> ModelDescription:
        return read_description(self._folder)

    @property
    def max_tokens(self) -> int:
        return self.description.max_tokens

    @property
    def metric(self) -> str:
        description = self.description
        if description.metric == "dot" and not description.largest_norm:
            raise ConfigError(
                f"{self.name} compares vectors by the dot product, and does not say how long they get",
                remedy='Write {"largest_norm": …} or {"metric": "cosine"} into footnotes.json in its folder.',
            )
        return description.metric

    @property
    def largest_norm(self) -> float:
        return self.description.largest_norm

    @property
    def background(self) -> float | None:
        return self.description.background

    @property
    def least_words(self) -> float:
        return self.description.least_words

    @property
    def languages(self) -> tuple[str, ...]:
        return self.description.languages

    @cached_property
    def fingerprint(self) -> str:
        """The weights and every setting that changes a vector, but not the folder's path."""
        description = self.description
        parts = (
            self._revision,
            description.pooling,
            description.query_prefix,
            description.passage_prefix,
            description.max_tokens,
            description.metric,
        )
        rest = hashlib.sha256(repr(parts).encode()).hexdigest()
        return f"onnx/{self._revision[:12]}/{rest[:8]}/{self.max_tokens}/{self.dimensions}"

    @cached_property
    def dimensions(self) -> int:
        own = self._own_dimensions
        if not self._asked or self._asked == own:
            return own
        sizes = self.description.matryoshka
        if self._asked not in sizes or self._asked > own:
            choices = ", ".join(map(str, sizes)) or "no shorter ones"
            remedy = f"It has {own} and says it can be cut to: {choices}. Set embedder_dimensions to one of them, or 0."
            raise DimensionMismatch(f"{self.name} was not made for {self._asked} dimensions", remedy=remedy)
        return self._asked

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """Return one vector per text, in the given order; of length one unless the metric is the dot product."""
        description = self.description
        prefix = description.query_prefix if role == "query" else description.passage_prefix
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for rows, output, mask in self._runs([prefix + text for text in texts]):
            pooled = output if output.ndim == 2 else POOL[description.pooling](output, mask)
            vectors[rows] = pooled[:, : self.dimensions]
        return vectors if self.metric == "dot" else unit_rows(vectors)

    def count_tokens(self, text: str) -> int:
        """Count a text's tokens in the model's own vocabulary."""
        return self._tokenizer.count(text)

    def _runs(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Matrix, NDArray[np.int64]]]:
        session = self._session
        input_names, output = [each.name for each in session.get_inputs()], self._output
        ids = self._tokenizer(texts)
        for rows in batches([len(each) for each in ids]):
            inputs = padded([ids[row] for row in rows], self.description.pad_id)
            mask = inputs["attention_mask"]
            inputs["position_ids"] = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
            if unknown := [name for name in input_names if name not in inputs]:
                raise ModelDamaged(f"{self._weights} wants inputs that no text has: {', '.join(unknown)}")
            (found,) = session.run([output], {name: inputs[name] for name in input_names})
            yield rows, np.asarray(found, dtype=np.float32), mask

    @cached_property
    def _weights(self) -> Path:
        return find_weights(self._folder)

    @cached_property
    def _revision(self) -> str:
        """The hash of the weights and of the files that continue them."""
        digest, pinned = hashlib.sha256(), read_pinned_hashes(self._folder)
        for file in (self._weights, *_find_continuations(self._weights)):
            content = _hash(file)
            expected = pinned.get(file.relative_to(self._folder).as_posix(), content)
            if content != expected:
                raise ModelDamaged(
                    f"the model file {file} is not the one that was fetched: its sha256 differs",
                    remedy="Fetch the model again with `footnotes models fetch`.",
                )
            digest.update(content.encode())
        return digest.hexdigest()

    @cached_property
    def _tokenizer(self) -> WordPieceTokenizer:
        file = next(
            (self._folder / name for name in ("tokenizer.json", "vocab.txt") if (self._folder / name).is_file()), None
        )
        if file is None:
            raise EmbedderUnavailable(
                f"{self._folder} holds no tokenizer.json", remedy="Put the model's own beside it."
            )
        return WordPieceTokenizer(file, max_tokens=self.max_tokens, characters=self.max_tokens * 64)

    @property
    def _session(self) -> InferenceSession:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> object:
        _ = self._revision  # checks the file before it is loaded
        return open_session(str(self._weights), self._threads, origin=str(self._weights))

    @cached_property
    def _output(self) -> str:
        """The output with vectors of whole texts if the model has one, else the token states."""
        shapes = {each.name: len(each.shape) for each in self._session.get_outputs()}
        if WHOLE_TEXT in shapes:
            return WHOLE_TEXT
        tokens = [name for name in ("last_hidden_state", "token_embeddings") if shapes.get(name) == 3]
        return (tokens or [name for name, rank in shapes.items() if rank == 3] or list(shapes))[0]

    @cached_property
    def _own_dimensions(self) -> int:
        shape = next(each.shape for each in self._session.get_outputs() if each.name == self._output)
        if isinstance(shape[-1], int):
            return shape[-1]
        ((_, output, _),) = self._runs(["dimensions"])
        return int(output.shape[-1])


def _find_continuations(weights: Path) -> list[Path]:
    """Return the files with weights too large for the ONNX file itself."""
    return sorted(file for file in weights.parent.glob(f"{weights.name}*data*") if file.is_file())


def _hash(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(f"the model file {file} cannot be read: {error.strerror}") from error
