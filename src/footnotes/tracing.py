"""OpenTelemetry spans of every stage, and the id of the request they belong to.

Until `set_up` is called with an address, this module imports and does nothing; then it sends spans there as OTLP over
HTTP. Spans carry names, counts and times; never texts, questions or keys.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

from footnotes.errors import MissingExtra

T = TypeVar("T")
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the current request or command; empty elsewhere."""
JOB_ID: ContextVar[str] = ContextVar("job_id", default="")
"""The id of the running job; empty outside of one."""
_NOTHING: AbstractContextManager[object] = nullcontext()
_guard = threading.Lock()
_tracer: Any = None
_provider: Any = None


FLUSH_MILLISECONDS = 3_000


def span(name: str, **attributes: object) -> AbstractContextManager[object]:
    """Open a span for a stage of the work. Spans opened inside become its children."""
    if _tracer is None:
        return _NOTHING
    found: AbstractContextManager[object] = _tracer.start_as_current_span(
        name, attributes=_attributes(attributes), record_exception=False
    )
    return found


def stream(name: str, items: Iterator[T], **attributes: object) -> Iterator[T]:
    """Yield the items of an iterator; producing them is one span, in any threads."""
    return items if _tracer is None else _trace_items(name, items, attributes)


def _trace_items(name: str, items: Iterator[T], attributes: dict[str, object]) -> Iterator[T]:
    from opentelemetry import trace

    end = object()
    one = _tracer.start_span(name, attributes=_attributes(attributes), record_exception=False)
    try:
        while True:
            with trace.use_span(one, end_on_exit=False, record_exception=False):
                item: Any = next(items, end)
            if item is end:
                return
            yield item
    finally:
        one.end()
        if callable(close := getattr(items, "close", None)):
            close()


def _attributes(given: dict[str, object]) -> dict[str, object]:
    kept = {name: value for name, value in given.items() if value is not None}
    return {**kept, "request_id": request} if (request := REQUEST_ID.get()) else kept


def headers() -> dict[str, str]:
    """Return headers for calls to other services, so that their logs can be matched with ours."""
    found: dict[str, str] = {}
    if request := REQUEST_ID.get() or JOB_ID.get():
        found["X-Request-ID"] = request
    if _tracer is not None:
        from opentelemetry.propagate import inject

        inject(found)
    return found


def set_up(endpoint: str) -> None:
    """Send spans to a collector from now on, such as `http://localhost:4318`. Call it once per process."""
    global _tracer, _provider
    with _guard:
        if _tracer is not None or not endpoint:
            return
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"tracing needs the package {error.name!r}, which is not installed",
                remedy='pip install "footnotes[otel]"',
            ) from error
        address = endpoint if endpoint.endswith("/v1/traces") else endpoint.rstrip("/") + "/v1/traces"
        _provider = TracerProvider(resource=Resource.create({"service.name": "footnotes"}))
        _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
        _tracer = _provider.get_tracer("footnotes")


def flush() -> None:
    """Send pending spans, so that a server that stops loses none."""
    with _guard:
        if _provider is not None:
            _provider.force_flush(FLUSH_MILLISECONDS)


def shut_down() -> None:
    """Send pending spans, and stop tracing."""
    global _tracer, _provider
    with _guard:
        if _provider is not None:
            _provider.shutdown()
        _tracer = _provider = None
