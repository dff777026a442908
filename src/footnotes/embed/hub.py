"""Models of a hub: found in a folder, or fetched into one with a pinned revision and checked hashes.

The folder can be carried to a machine without a network. The client of the hub reads HF_ENDPOINT, HF_HUB_OFFLINE and
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
"""Written beside a fetched model: its name, revision, and the sha256 of every file."""
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
    """The folder of a model: the one that is named, or that of a name among the fetched models; else it is fetched."""
    if (folder := Path(model).expanduser()).is_dir():
        return folder
    name, _, revision = model.partition("@")
    if not _NAME.match(model):
        raise EmbedderUnavailable(f"there is no folder {folder}", remedy="Name the folder of a model.")
    kept = Path(models_dir).expanduser() / name
    if not (kept / LOCK).is_file():
        fetch_model(name, kept, revision=revision)
    locked = json.loads((kept / LOCK).read_text(encoding="utf-8"))
    if revision and not str(locked["revision"]).startswith(revision) and revision != locked.get("asked"):
        raise EmbedderUnavailable(
            f"{kept} holds revision {locked['revision'][:12]} of {name}, not {revision}",
            remedy=f"footnotes models fetch {model} --to {models_dir}",
        )
    return kept


def find_weights(folder: Path) -> Path:
    """The ONNX file of a folder: the one of a usual name, or the only one there is."""
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.rglob("*.onnx"))
    if len(found) != 1:
        remedy = "Put the model there as model.onnx."
        raise EmbedderUnavailable(f"{folder} holds {len(found) or 'no'} ONNX files", remedy=remedy)
    return found[0]


def pinned_hashes(folder: Path) -> Mapping[str, str]:
    """What the files of a fetched model must hash to; nothing is known of others."""
    file = folder / LOCK
    return dict(json.loads(file.read_text(encoding="utf-8"))["files"]) if file.is_file() else {}


def fetch_model(
    name: str, folder: Path, *, revision: str = "", file: str = "", on_file: Callable[[str, int], None] | None = None
) -> FetchedModel:
    """Download a model's weights and what describes them. Either all of it is there afterwards, or nothing."""
    hub = _hub()
    with _translated(hub, name):
        info = hub.HfApi().model_info(name, revision=revision or None, files_metadata=True)
    wanted = list(_select_files(info.siblings or (), file, name))
    partial = folder.with_name(f"{folder.name}.partial")
    hashes: dict[str, str] = {}
    for one in wanted:
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


def _select_files(listed: Any, file: str, name: str) -> Iterator[Any]:
    """One ONNX file with what continues it, and the small files that describe the model."""
    files = {one.rfilename: one for one in listed}
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


def _check(path: Path, listed: Any) -> str:
    """The sha256 of a file that is what the hub says it is: by its own sha256, or as git hashes small files."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    git = hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
    lfs = getattr(listed.lfs, "sha256", None) if listed.lfs else None
    expected, given = (lfs, found) if lfs else (listed.blob_id, git)
    if expected and expected != given:
        path.unlink()
        raise ModelDamaged(f"{listed.rfilename} is not what the hub says it is", remedy="Fetch it again.")
    return found


def _hub() -> Any:
    try:
        import huggingface_hub
    except ModuleNotFoundError as error:
        remedy = "pip install huggingface_hub, or name a folder with the model."
        raise MissingExtra("models of a hub need the package 'huggingface_hub'", remedy=remedy) from error
    return huggingface_hub


class _translated:  # noqa: N801 - used as a context
    """Whatever the client of the hub raises, as an error that says what to do."""

    def __init__(self, hub: Any, name: str) -> None:
        self._hub, self._name = hub, name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None or not isinstance(error, Exception):
            return
        known = self._hub.errors
        if isinstance(error, known.RepositoryNotFoundError | known.RevisionNotFoundError | known.EntryNotFoundError):
            raise NotFound(f"the hub has no {self._name}", remedy="Check the name and the revision.") from error
        raise EmbedderUnavailable(
            f"{self._name} cannot be fetched: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            remedy="Fetch it where there is a network (`footnotes models fetch`) and name that folder as models_dir.",
        ) from error
