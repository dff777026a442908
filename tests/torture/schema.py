"""Requests that fit and do not fit the description of a server: every answer fits it, and none is a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from torture import Budget, Row

EXAMPLES = 3  # requests for one operation in one round
STREAMS = ("/v1/jobs/events", "/v1/jobs/{job_id}/events")
CHECKS = {
    "crashed": [not_a_server_error],
    "wrong": [status_code_conformance, content_type_conformance, response_schema_conformance],
}


def schema(name: str, opened: Callable[[], Any], *, budget: Budget, seed: int = 1) -> Row:
    """Generated requests: a few for each operation of a server, in so many rounds."""
    row = Row(name)
    with opened() as server:
        api = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
        api.config.base_url = server.address
        operations = [result.ok() for result in api.get_all_operations()]
        tried = [operation for operation in operations if operation.path not in STREAMS]
        for number in budget.rounds():
            _try(tried[number % len(tried)], seed * 10_000 + number, row)
    return row


def _try(operation: Any, number: int, row: Row) -> None:
    @seeded(number)
    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
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
