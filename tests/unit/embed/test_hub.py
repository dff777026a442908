"""Models are fetched from a hub on loopback, checked, pinned, and used without it afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastembed import LateInteractionTextEmbedding, TextEmbedding
from fastembed.rerank.cross_encoder import TextCrossEncoder

from small_models import HUB_NAME, Hub, Kind, footnotes, states_of, unit, write_model


@pytest.mark.parametrize("file", ["onnx/model.onnx", "config.json"])
def test_what_is_not_what_the_hub_lists_is_refused(hub: Hub, tmp_path: Path, file: str) -> None:
    hub.damaged = file
    done = footnotes(hub, tmp_path / "home", "models", "fetch", HUB_NAME, "--to", str(tmp_path / "kept"))
    assert done.returncode != 0 and "not what the hub says" in done.stderr, done.stderr
    assert not (tmp_path / "kept" / HUB_NAME).exists()


def test_offline_and_unknown_names_are_named(hub: Hub, tmp_path: Path) -> None:
    home, to = tmp_path / "home", str(tmp_path / "kept")
    offline = footnotes(hub, home, "models", "fetch", HUB_NAME, "--to", to, HF_HUB_OFFLINE="1")
    assert "cannot be fetched" in offline.stderr and "embedder_unavailable" in offline.stderr and hub.asked == []
    unknown = footnotes(hub, home, "models", "fetch", "people/none", "--to", to)
    assert "the hub has no people/none" in unknown.stderr
    revision = footnotes(hub, home, "models", "fetch", f"{HUB_NAME}@{'0' * 40}", "--to", to)
    assert "the hub has no people/small-model" in revision.stderr


def test_a_library_fetches_what_it_is_set_to(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "cats.txt").write_text("cats purr")
    words = ("add", str(tmp_path / "cats.txt"), "--library", str(tmp_path / "library"))
    chosen = {"FOOTNOTES_EMBEDDER": f"onnx:{HUB_NAME}", "FOOTNOTES_MODELS_DIR": str(tmp_path / "kept")}
    done = footnotes(hub, tmp_path / "home", *words, **chosen)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept" / HUB_NAME / "footnotes-model.json").is_file()


FAST = {
    "config.json": {"pad_token_id": 0},
    "tokenizer_config.json": {"model_max_length": 16, "pad_token": "[PAD]"},
    "special_tokens_map.json": {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "mask")},
}
PROGRAM = """
import dataclasses, sys
import numpy as np
from footnotes.settings import Settings
from footnotes.embed.make import make_embedder
from footnotes.errors import FootnotesError
from footnotes.remote import Deadline
from footnotes.retrieve.rerankers.make import Parts, make_reranker
from footnotes.types import Hit, Scores

settings = Settings(embedder="fastembed:BAAI/bge-small-en-v1.5", models_dir=KEPT, embedder_threads=1)
for make in (lambda name: make_embedder(Settings(embedder=name)), lambda name: make_reranker(name, Parts(settings))):
    try:
        make("fastembed:nobody/none")
        sys.exit("a model nobody has was found")
    except FootnotesError as error:
        assert error.code == "settings_invalid", error
embedder = make_embedder(settings)
assert embedder.dimensions == 384 and embedder.fingerprint == "fastembed:BAAI/bge-small-en-v1.5/384"
np.testing.assert_allclose(embedder.embed(["cats purr", "dogs"], role="passage")[0], EXPECTED, atol=1e-5)
hit = Hit("c", "d", "f", "t", "c", "dogs bark", 0, 9, None, (), 0, {}, 0.0, Scores(None, None, 0.0))
hits = [hit, dataclasses.replace(hit, text="cats cats purr")]
cross = make_reranker("fastembed:Xenova/ms-marco-MiniLM-L-6-v2", Parts(settings))
assert cross.score("cats", hits, deadline=Deadline(60)) == [1.0, 3.0]
late = make_reranker("fastembed:colbert-ir/colbertv2.0", Parts(settings))
first, second = late.score("cats purr", hits, deadline=Deadline(60))
assert second > first, (first, second)
"""


def test_fastembed_takes_its_models_from_the_same_hub(hub: Hub, tmp_path: Path) -> None:
    """fastembed's own names, served by our hub with small models in their place."""
    served: tuple[tuple[Any, str, Kind], ...] = (
        (TextEmbedding, "BAAI/bge-small-en-v1.5", "states"),
        (TextCrossEncoder, "Xenova/ms-marco-MiniLM-L-6-v2", "scores"),
        (LateInteractionTextEmbedding, "colbert-ir/colbertv2.0", "states"),
    )
    for number, (kind, name, gives) in enumerate(served):
        listed = next(one for one in kind.list_supported_models() if one["model"] == name)
        folder = tmp_path / f"fast{number}"
        hub.repositories[listed["sources"]["hf"]] = write_model(folder, FAST, weights=listed["model_file"], kind=gives)
    expected = unit(states_of("[CLS]")[0]).tolist()
    program = f"KEPT = {str(tmp_path / 'kept')!r}\nEXPECTED = {expected!r}\n{PROGRAM}"
    settings = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    command, environment = [sys.executable, "-c", program], {**os.environ, **settings}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
