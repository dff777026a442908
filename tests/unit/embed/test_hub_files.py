"""Files of models from a hub."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from footnotes.embed.make import make_embedder
from footnotes.errors import ModelDamaged
from footnotes.settings import Settings
from small_models import HUB_NAME, Hub, footnotes, states_of, unit


def test_fetched_models_are_pinned_checked_and_used_offline(hub: Hub, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = footnotes(hub, tmp_path / "home", "models", "fetch", HUB_NAME, "--to", str(kept), "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["revision"] == hub.revision(HUB_NAME) and not (kept / HUB_NAME / "pytorch_model.bin").exists()
    assert sorted(path.name for path in (kept / HUB_NAME).iterdir()) == [
        "1_Pooling", "config.json", "footnotes-model.json", "onnx", "tokenizer.json"
    ]  # fmt: skip
    asked = len(hub.asked)
    embedder = make_embedder(Settings(embedder=f"onnx:{HUB_NAME}", models_dir=str(kept), embedder_threads=1))
    (vector,) = embedder.embed(["cats"], role="query")
    np.testing.assert_allclose(vector, unit(states_of("[CLS]")[0]), atol=1e-6)
    assert len(hub.asked) == asked, "a model that is kept is not asked for"
    weights = kept / HUB_NAME / "onnx" / "model.onnx"
    weights.write_bytes(weights.read_bytes() + b"\0")
    changed = make_embedder(Settings(embedder=f"onnx:{HUB_NAME}", models_dir=str(kept)))
    with pytest.raises(ModelDamaged, match="sha256 differs"):
        changed.embed(["cats"], role="query")
