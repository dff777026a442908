"""What `deploy/` says agrees with the program: commands, ports, probes, settings, users."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from footnotes.cli.main import main
from footnotes.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
SETTINGS = {f"FOOTNOTES_{field.name.upper()}" for field in fields(Settings)}
USER = 10001


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def pods() -> list[dict[str, Any]]:
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    return [one["spec"]["template"]["spec"] for one in documents if one["kind"] in ("Deployment", "Job")]


def options(command: str) -> set[str]:
    found = main.get_command(None, command)  # type: ignore[arg-type]
    assert found is not None, command
    return {name for option in found.params for name in option.opts}


def check_words(words: list[str]) -> None:
    assert {word for word in words[1:] if word.startswith("--")} <= options(words[0]), words


def test_every_variable_is_a_setting() -> None:
    for file in DEPLOY.glob("*"):
        if file.suffix in (".yaml", ".service", "") and file.name != "alerts.yaml":
            named = set(re.findall(r"FOOTNOTES_[A-Z_]+", file.read_text(encoding="utf-8")))
            assert named <= SETTINGS, (file.name, named - SETTINGS)


def test_every_command_is_one() -> None:
    check_words([*re.findall(r'"([^"]+)"', DOCKERFILE.splitlines()[-1])])
    for service in compose()["services"].values():
        if service["image"] == "footnotes":
            check_words(service.get("command", ["serve"]))
    for pod in pods():
        check_words(pod["containers"][0]["args"])
    for unit in DEPLOY.glob("*.service"):
        (line,) = re.findall(r"ExecStart=\S+/footnotes (.*)", unit.read_text(encoding="utf-8"))
        check_words(line.split())


def test_nobody_is_root_and_the_root_is_read_only() -> None:
    assert f"USER {USER}" in DOCKERFILE and f"--uid {USER}" in DOCKERFILE
    for service in compose()["services"].values():
        if service["image"] == "footnotes":
            assert service["read_only"] and service["cap_drop"] == ["ALL"]
    for pod in pods():
        assert pod["securityContext"]["runAsUser"] == USER and pod["securityContext"]["runAsNonRoot"]
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]


def test_probes_ask_what_is_served() -> None:
    served = [pod for pod in pods() if "ports" in pod["containers"][0]]
    assert len(served) == 2
    for pod in served:
        container = pod["containers"][0]
        for name in ("livenessProbe", "readinessProbe"):
            asked = container[name]["httpGet"]
            assert asked["path"] in ("/livez", "/readyz") and asked["port"] == container["ports"][0]["containerPort"]
