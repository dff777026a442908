"""Requests that fit and do not fit the description of a server: every answer fits it, and none is a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from torture import Row

STREAMS = ("/v1/jobs/events", "/v1/jobs/{job_id}/events")
CHECKS = {
    "crashed": [not_a_server_error],
    "wrong": [status_code_conformance, content_type_conformance, response_schema_conformance],
}


def schema(name: str, opened: Callable[[], Any], *, examples: int) -> Row:
    """So many generated requests for each operation of a server."""
    row = Row(name)
    with opened() as server:
        api = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
        api.config.base_url = server.address
        for result in api.get_all_operations():
            operation = result.ok()
            if operation.path not in STREAMS:
                _try(operation, examples, row)
    return row


def _try(operation: Any, examples: int, row: Row) -> None:
    @given(case=operation.as_strategy())
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def one(case: Any) -> None:
        row.trials += 1
        try:
            answer = case.call(timeout=60)
        except Exception as error:  # whatever ends a request without an answer
            row.note("stuck" if "imeout" in type(error).__name__ else "crashed", f"{operation.label} {error!r}")
            return
        for kind, checks in CHECKS.items():
            try:
                case.validate_response(answer, checks=checks)
            except BaseException as error:
                row.note(kind, f"{operation.label}: {str(error)[:200]}")

    one()
