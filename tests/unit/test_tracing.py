"""Spans reach a collector: every stage, with the id of the request. Without an address nothing is even imported."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from footnotes import tracing
from libraries import HANDBOOK
from provider import ScriptedProvider, says
from serving import serving
from starting import started


class Collector:
    """An OTLP receiver on loopback."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.spans: list[Any] = []

    def names(self) -> set[str]:
        return {span.name for span in self.spans}

    def of_request(self, request_id: str) -> dict[str, Any]:
        return {span.name: span for span in self.spans if attributes(span).get("request_id") == request_id}


def attributes(span: Any) -> dict[str, str]:
    return {one.key: one.value.string_value for one in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in group.scope_spans:
                    collector.spans.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{listening.server_port}")
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_every_stage_is_a_span_of_its_request(tmp_path: Path) -> None:
    with collecting() as collector, ScriptedProvider(says("Three months [1].")) as provider:
        settings = {"model": "openai:fake", "openai_base_url": provider.base_url, "openai_api_key": "sk-canary-key"}
        with serving(tmp_path / "library", otel_endpoint=collector.address, serve_worker=False, **settings) as running:
            running.add("handbook.md", HANDBOOK)
            body = {"question": "How long is the notice period?"}
            answer = running.client.post("/v1/ask", json=body, headers={"X-Request-ID": "trace-1"})
            assert answer.json()["request_id"] == "trace-1"
            running.client.post(
                "/v1/search", json={"query": "notice", "reranker": "llm"}, headers={"X-Request-ID": "trace-2"}
            )
            sent = [{name.lower(): value for name, value in each.headers.items()} for each in provider.requests]
            assert {headers.get("x-request-id") for headers in sent} == {"trace-1", "trace-2"}
            assert all("traceparent" in headers for headers in sent)
        tracing.shut_down()
    assert {"parse", "chunk", "embed", "store", "index", "job"} <= collector.names()
    asked = collector.of_request("trace-1")
    assert {"request", "answer", "retrieve", "retrieve.lexical", "retrieve.dense", "embed", "fuse", "provider"} <= set(
        asked
    )
    assert len({span.trace_id for span in asked.values()}) == 1
    assert asked["retrieve.dense"].parent_span_id == asked["retrieve"].span_id
    assert "rerank" in collector.of_request("trace-2")
    told = str(collector.spans)
    assert "notice" not in told and "sk-canary-key" not in told


def test_the_worker_sends_spans_too(tmp_path: Path) -> None:
    with collecting() as collector, started(tmp_path / "library", otel_endpoint=collector.address) as (process, client):
        sent = client.post("/v1/documents", json={"text": "Cranes dance.", "filename": "cranes.txt"})
        while client.get(f"/v1/jobs/{sent.json()['jobs'][0]['id']}").json()["state"] != "ready":
            pass
        process.terminate()
        process.wait(20)
        assert {"request", "job", "parse", "chunk", "embed", "store", "index"} <= collector.names()


def test_nothing_is_imported_without_an_address(tmp_path: Path) -> None:
    code = (
        "import sys, footnotes\n"
        f"with footnotes.open({str(tmp_path / 'library')!r}, embedder='hashing') as library:\n"
        "    library.add_text('Cranes dance.', filename='a.txt'); library.search('cranes')\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_standard_variable_is_read(tmp_path: Path) -> None:
    from footnotes.settings import load

    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
    assert load(tmp_path, environ=environ).otel_endpoint == "http://collector:4318"
    ours = {**environ, "FOOTNOTES_OTEL_ENDPOINT": "http://ours:4318"}
    assert load(tmp_path, environ=ours).otel_endpoint == "http://ours:4318"
