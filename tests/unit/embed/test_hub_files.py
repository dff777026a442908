"""Files of models from a hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from footnotes.embed.make import make_embedder
from footnotes.errors import ModelDamaged
from footnotes.settings import Settings
from small_models import Hub, loopback_hub, states_of, unit, write_model

NAME = "people/small-model"


FILES = {"1_Pooling/config.json": {"pooling_mode_cls_token": True}, "config.json": {"pad_token_id": 0}}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with loopback_hub() as running:
        running.repositories[NAME] = write_model(tmp_path / "hub", FILES, weights="onnx/model.onnx")
        (tmp_path / "hub" / "pytorch_model.bin").write_bytes(b"large and of no use here")
        yield running


def footnotes(hub: Hub, home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own: the hub's client reads its variables when it is loaded."""
    settings = {"HF_ENDPOINT": hub.address, "HF_HOME": str(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **environment}
    command = [sys.executable, "-m", "footnotes", *words]
    return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)


def test_fetched_models_are_pinned_checked_and_used_offline(hub: Hub, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = footnotes(hub, tmp_path / "home", "models", "fetch", NAME, "--to", str(kept), "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["revision"] == hub.revision(NAME) and not (kept / NAME / "pytorch_model.bin").exists()
    assert sorted(path.name for path in (kept / NAME).iterdir()) == [
        "1_Pooling", "config.json", "footnotes-model.json", "onnx", "tokenizer.json"
    ]  # fmt: skip
    asked = len(hub.asked)
    embedder = make_embedder(Settings(embedder=f"onnx:{NAME}", models_dir=str(kept), embedder_threads=1))
    (vector,) = embedder.embed(["cats"], role="query")
    np.testing.assert_allclose(vector, unit(states_of("[CLS]")[0]), atol=1e-6)
    assert len(hub.asked) == asked, "a model that is kept is not asked for"
    weights = kept / NAME / "onnx" / "model.onnx"
    weights.write_bytes(weights.read_bytes() + b"\0")
    changed = make_embedder(Settings(embedder=f"onnx:{NAME}", models_dir=str(kept)))
    with pytest.raises(ModelDamaged, match="sha256 differs"):
        changed.embed(["cats"], role="query")
