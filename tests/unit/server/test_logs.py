"""What a server writes to its log."""

from __future__ import annotations

import io
import json
import logging
import time

from footnotes.server.logs import JsonLines
from serving import Running


def test_logs_are_json_with_the_request_and_without_texts(shared: Running) -> None:
    written, logger = io.StringIO(), logging.getLogger("footnotes.server")
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        shared.client.post("/v1/search", json={"query": "canaryword"}, headers={"X-Request-ID": "mine-2"})
        for _ in range(200):  # the line is written after the answer is sent
            if "mine-2" in written.getvalue():
                break
            time.sleep(0.02)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    (line,) = [line for line in lines if line["request_id"] == "mine-2"]
    assert (line["route"], line["status"], line["level"]) == ("/v1/search", 200, "info")
    assert "canaryword" not in written.getvalue()
