"""Tiny models that onnxruntime runs, built by the test, and a hub on loopback that serves them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

HUB_NAME = "people/small-model"
HUB_FILES = {"1_Pooling/config.json": {"pooling_mode_cls_token": True}, "config.json": {"pad_token_id": 0}}
WORDS = (
    "[PAD]",
    "[CLS]",
    "[SEP]",
    "[UNK]",
    "query",
    "passage",
    "cats",
    "dogs",
    "purr",
    "bark",
    "loudly",
    ":",
    "[MASK]",
)
DIMENSIONS = 8
Kind = Literal["states", "pooled", "scores"]
"""What a model gives: states of tokens, a vector of the text beside them, or a score of a pair."""


def table() -> NDArray[np.float32]:
    """The state of each word: what the model gives for it wherever it stands."""
    return np.random.default_rng(7).normal(size=(len(WORDS), DIMENSIONS)).astype(np.float32)


def write_model(folder: Path, files: Mapping[str, Any], *, weights: str = "model.onnx", kind: Kind = "states") -> Path:
    """A folder with a model whose token states are rows of `table`, its tokenizer, and files that describe it."""
    path = folder / weights
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(_graph(kind), str(path))
    _tokenizer().save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    return folder


def _graph(kind: Kind) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "t"]) for n in ("input_ids", "attention_mask")]
    constants = [numpy_helper.from_array(table(), "table"), numpy_helper.from_array(np.array([1]), "axes")]
    states = "last_hidden_state" if kind == "states" else "token_embeddings"
    nodes = [helper.make_node("Gather", ["table", "input_ids"], [states])]
    outputs = [helper.make_tensor_value_info(states, TensorProto.FLOAT, ["b", "t", DIMENSIONS])]
    if kind == "states":
        constants = constants[:1]
    elif kind == "pooled":  # the largest of each column, so that no other pooling gives the same
        nodes.append(helper.make_node("ReduceMax", [states, "axes"], ["sentence_embedding"], keepdims=0))
        outputs.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["b", DIMENSIONS]))
    else:  # how often the pair speaks of cats
        cats = np.array([[float(word == "cats")] for word in WORDS], dtype=np.float32)
        constants = [numpy_helper.from_array(cats, "cats"), numpy_helper.from_array(np.array([1]), "axes")]
        nodes = [helper.make_node("Gather", ["cats", "input_ids"], ["counted"])]
        nodes.append(helper.make_node("ReduceSum", ["counted", "axes"], ["logits"], keepdims=0))
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", 1])]
    graph = helper.make_graph(nodes, "small", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def states_of(*words: str) -> NDArray[np.float32]:
    return table()[[WORDS.index(word) for word in words]]


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.linalg.norm(vector)


class Hub:
    """What a hub knows: repositories with one revision each. `damaged` names a file that is sent changed."""

    def __init__(self) -> None:
        self.repositories: dict[str, Path] = {}
        self.asked: list[str] = []
        self.damaged = ""
        self.address = ""

    def revision(self, name: str) -> str:
        return hashlib.sha1(name.encode()).hexdigest()

    def files(self, name: str) -> list[dict[str, Any]]:
        folder = self.repositories[name]
        return [self._file(path, folder) for path in sorted(folder.rglob("*")) if path.is_file()]

    @staticmethod
    def _file(path: Path, folder: Path) -> dict[str, Any]:
        content = path.read_bytes()
        blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
        listed = {"rfilename": path.relative_to(folder).as_posix(), "size": len(content), "blobId": blob}
        if path.suffix == ".onnx":
            listed["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return listed


@contextmanager
def loopback_hub() -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            return None

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(path)
            parts = path.strip("/").split("/")
            if parts[:2] == ["api", "models"]:
                self._described("/".join(parts[2:4]), parts[4:], with_body)
            elif len(parts) > 4 and parts[2] == "resolve":
                self._file("/".join(parts[:2]), "/".join(parts[4:]), with_body)
            else:
                self._send(404, b"{}", {}, with_body)

        def _described(self, name: str, rest: list[str], with_body: bool) -> None:
            if name not in hub.repositories:
                self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, with_body)
                return
            files: Any = hub.files(name)
            if rest[:1] == ["tree"]:
                shown: Any = [
                    {"type": "file", "path": one["rfilename"], "size": one["size"], "oid": one["blobId"]}
                    | ({"lfs": {**one["lfs"], "oid": one["lfs"]["sha256"]}} if "lfs" in one else {})
                    for one in files
                ]
            else:
                revision = hub.revision(name)
                if rest[:1] == ["revision"] and rest[1] not in (revision, "main"):
                    self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, with_body)
                    return
                shown = {"id": name, "modelId": name, "sha": revision, "siblings": files, "private": False, "tags": []}
            self._send(200, json.dumps(shown).encode(), {"Content-Type": "application/json"}, with_body)

        def _file(self, name: str, file: str, with_body: bool) -> None:
            listed = {one["rfilename"]: one for one in hub.files(name)} if name in hub.repositories else {}
            if file not in listed:
                self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, with_body)
                return
            one, content = listed[file], (hub.repositories[name] / file).read_bytes()
            if hub.damaged == file:
                content = content[:-1] + bytes([content[-1] ^ 1])
            etag = one["lfs"]["sha256"] if "lfs" in one else one["blobId"]
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": hub.revision(name), "Accept-Ranges": "bytes"}
            self._send(200, content, headers, with_body)

        def _send(self, status: int, content: bytes, headers: Mapping[str, str], with_body: bool) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if with_body:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def footnotes(hub: Hub, home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own: the hub's client reads its variables when it is loaded."""
    settings = {"HF_ENDPOINT": hub.address, "HF_HOME": str(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **environment}
    command = [sys.executable, "-m", "footnotes", *words]
    return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
