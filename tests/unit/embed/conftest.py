from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from small_models import HUB_FILES, HUB_NAME, Hub, loopback_hub, write_model


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with loopback_hub() as running:
        running.repositories[HUB_NAME] = write_model(tmp_path / "hub", HUB_FILES, weights="onnx/model.onnx")
        (tmp_path / "hub" / "pytorch_model.bin").write_bytes(b"large and of no use here")
        yield running
