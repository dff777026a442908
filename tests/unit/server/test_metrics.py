"""The metrics that alerts and the dashboard ask for."""

from __future__ import annotations

import re
from pathlib import Path

from footnotes.server.metrics import Metrics

ROOT = Path(__file__).parents[3]


_NAME = re.compile(r"footnotes_[a-z_]+")


def test_alerts_and_dashboard_ask_for_metrics_that_are_exported() -> None:
    exported = set()
    for metric in Metrics().registry.collect():
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(metric.type, ("",))
        exported |= {metric.name + ending for ending in endings}
    for name in ("alerts.yaml", "dashboard.json"):
        text = (ROOT / "deploy" / name).read_text(encoding="utf-8")
        asked = set(_NAME.findall(" ".join(re.findall(r'"?expr"?: (.*)', text))))
        assert asked and asked <= exported, (name, asked - exported)
