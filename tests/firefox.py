"""Firefox over WebDriver BiDi, which it speaks itself: no driver beside it is needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

NAMES = ("firefox", "firefox-esr")
STARTS_WITHIN = 120.0


def found() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """One tab. What a page throws or logs as an error is kept."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._last = connection, 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.send("session.new", capabilities={"alwaysMatch": {}})
        self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self._tab: str = self.send("browsingContext.create", type="tab")["context"]

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        self._connection.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while True:
            answer = json.loads(self._connection.recv(timeout=120))
            if answer.get("id") == self._last:
                assert answer["type"] == "success", (method, answer)
                result: dict[str, Any] = answer["result"]
                return result
            self._happened(answer)

    def _happened(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "log.entryAdded" and params.get("level") == "error":
            self.errors.append(str(params.get("text")))
        if event.get("method") == "network.beforeRequestSent":
            self.requests.append(params["request"]["url"])

    def size(self, width: int, height: int) -> None:
        self.send("browsingContext.setViewport", context=self._tab, viewport={"width": width, "height": height})

    def open(self, address: str) -> None:
        self.send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def run(self, script: str) -> Any:
        """The value of an expression, as JSON has it."""
        wrapped = f"Promise.resolve({script}).then((value) => JSON.stringify(value ?? null))"
        answer = self.send("script.evaluate", expression=wrapped, target={"context": self._tab}, awaitPromise=True)
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def until(self, script: str, seconds: float = 120.0) -> Any:
        deadline = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, f"never became so: {script}"
            time.sleep(0.05)
        return value

    def type(self, *keys: str) -> None:
        pressed = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": pressed}]
        self.send("input.performActions", context=self._tab, actions=actions)

    def picture(self) -> str:
        return str(self.send("browsingContext.captureScreenshot", context=self._tab)["data"])


@contextmanager
def firefox() -> Iterator[Firefox]:
    """A Firefox of its own profile, without a window, gone at the end."""
    program = found()
    assert program is not None
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--profile", profile, "--remote-debugging-port", "0", "--no-remote"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = _port(Path(profile) / "WebDriverBiDiServer.json", process)
            with connect(f"ws://127.0.0.1:{port}/session", proxy=None, max_size=None) as connection:
                yield Firefox(connection)
        finally:
            process.terminate()
            process.wait(30)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        if file.exists() and (text := file.read_text()):
            return int(json.loads(text)["ws_port"])
        time.sleep(0.1)
    raise AssertionError("Firefox did not start")
