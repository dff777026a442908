"""Models of a hub: found in a folder, or fetched into one at a pinned revision with checked hashes.

The folder can be copied to a machine without a network. The hub's client reads HF_ENDPOINT, HF_HUB_OFFLINE and
HF_TOKEN itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footnotes.errors import EmbedderUnavailable, MissingExtra, ModelDamaged, NotFound

LOCK = "footnotes-model.json"
"""The file beside a fetched model with its name, its revision, and the sha256 of every file."""
_WEIGHTS = (
    "model.onnx",
    "onnx/model.onnx",
    "model_optimized.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_int8.onnx",
)
_NAME = re.compile(r"^[\w.-]+/[\w.-]+(@[\w./-]+)?$")
_SKIPPED = ("onnx_config.json", "openvino/")


@dataclass(frozen=True, slots=True)
class FetchedModel:
    name: str
    revision: str
    folder: str
    files: int
    bytes: int


def locate_model(model: str, models_dir: str) -> Path:
    """Return the folder of a model, given by path or by name. Fetches a named model that is missing."""
    if (folder := Path(model).expanduser()).is_dir():
        return folder
    name, _, revision = model.partition("@")
    if not _NAME.match(model):
        raise EmbedderUnavailable(f"there is no folder {folder}", remedy="Name the folder of a model.")
    model_folder = Path(models_dir).expanduser() / name
    if not (model_folder / LOCK).is_file():
        fetch_model(name, model_folder, revision=revision)
    locked = json.loads((model_folder / LOCK).read_text(encoding="utf-8"))
    if revision and not str(locked["revision"]).startswith(revision) and revision != locked.get("asked"):
        raise EmbedderUnavailable(
            f"{model_folder} holds revision {locked['revision'][:12]} of {name}, not {revision}",
            remedy=f"footnotes models fetch {model} --to {models_dir}",
        )
    return model_folder


def find_weights(folder: Path) -> Path:
    """Return the ONNX file of a folder: one with a usual name, or the only one."""
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.rglob("*.onnx"))
    if len(found) != 1:
        remedy = "Put the model there as model.onnx."
        raise EmbedderUnavailable(f"{folder} holds {len(found) or 'no'} ONNX files", remedy=remedy)
    return found[0]


def read_pinned_hashes(folder: Path) -> Mapping[str, str]:
    """Return the expected hashes of a fetched model's files; empty for other models."""
    file = folder / LOCK
    return dict(json.loads(file.read_text(encoding="utf-8"))["files"]) if file.is_file() else {}


def fetch_model(
    name: str, folder: Path, *, revision: str = "", file: str = "", on_file: Callable[[str, int], None] | None = None
) -> FetchedModel:
    """Download a model's weights and the files that describe them: either all of them or none."""
    hub = _hub()
    with _translated(hub, name):
        info = hub.HfApi().model_info(name, revision=revision or None, files_metadata=True)
    files = list(_select_files(info.siblings or (), file, name))
    partial = folder.with_name(f"{folder.name}.partial")
    hashes: dict[str, str] = {}
    for one in files:
        if on_file:
            on_file(one.rfilename, one.size or 0)
        with _translated(hub, name):
            hub.hf_hub_download(name, one.rfilename, revision=info.sha, local_dir=partial)
        hashes[one.rfilename] = _check(partial / one.rfilename, one)
    locked = {"name": name, "revision": info.sha, "asked": revision, "files": hashes}
    (partial / LOCK).write_text(json.dumps(locked, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(partial / ".cache", ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    size = sum((folder / one).stat().st_size for one in hashes)
    return FetchedModel(name, str(info.sha), str(folder), len(hashes), size)


def _select_files(siblings: Any, file: str, name: str) -> Iterator[Any]:
    """Select one ONNX file with its continuations, and the small files that describe the model."""
    files = {one.rfilename: one for one in siblings}
    found = [one for one in ([file] if file else _WEIGHTS) if one in files]
    if not found:
        found = [] if file else [one for one in files if one.endswith(".onnx")]
    if not found:
        had = ", ".join(sorted(one for one in files if one.endswith(".onnx"))) or "none"
        raise NotFound(f"{name} has no weights {file or 'in ONNX'}", remedy=f"ONNX files there: {had}.")
    for path, one in files.items():
        described = path.endswith((".json", "vocab.txt")) and path.count("/") <= 1 and not path.startswith(_SKIPPED)
        if path.startswith(found[0]) or (described and not path.endswith(".onnx")):
            yield one


def _check(path: Path, sibling: Any) -> str:
    """Return the sha256 of a file. Raises if the hub lists another: a sha256, or a git hash for small files."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    git = hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
    lfs = getattr(sibling.lfs, "sha256", None) if sibling.lfs else None
    expected, actual = (lfs, found) if lfs else (sibling.blob_id, git)
    if expected and expected != actual:
        path.unlink()
        raise ModelDamaged(f"{sibling.rfilename} is not what the hub says it is", remedy="Fetch it again.")
    return found


def _hub() -> Any:
    try:
        import huggingface_hub
    except ModuleNotFoundError as error:
        remedy = "pip install huggingface_hub, or name a folder with the model."
        raise MissingExtra("models of a hub need the package 'huggingface_hub'", remedy=remedy) from error
    return huggingface_hub


class _translated:  # noqa: N801 - used as a context
    """Translates errors of the hub's client to errors that say what to do."""

    def __init__(self, hub: Any, name: str) -> None:
        self._hub, self._name = hub, name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: object, trace: object) -> None:
        if error is None or not isinstance(error, Exception):
            return
        errors = self._hub.errors
        if isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError | errors.EntryNotFoundError):
            raise NotFound(f"the hub has no {self._name}", remedy="Check the name and the revision.") from error
        raise EmbedderUnavailable(
            f"{self._name} cannot be fetched: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            remedy="Fetch it where there is a network (`footnotes models fetch`) and name that folder as models_dir.",
        ) from error
